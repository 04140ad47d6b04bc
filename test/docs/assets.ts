/** The look of the site, and its search: a list of headings and keys that is filtered where it is shown. */

export const STYLE = `:root{color-scheme:light dark;--back:#fff;--text:#1c2024;--weak:#5c6670;--line:#d9dee3;--code:#f3f5f7;--link:#0b57d0;--mark:#e8f0fe}
@media(prefers-color-scheme:dark){:root{--back:#14171a;--text:#e4e7ea;--weak:#9aa5af;--line:#30363d;--code:#1e2328;--link:#8ab4f8;--mark:#1f2c44}}
*{box-sizing:border-box}
html{scroll-padding-top:1rem}
body{margin:0;background:var(--back);color:var(--text);font:16px/1.6 system-ui,sans-serif;display:grid;grid-template-columns:17rem minmax(0,1fr);min-height:100vh}
a{color:var(--link)}
a:focus-visible,input:focus-visible,pre:focus-visible,summary:focus-visible,.table:focus-visible{outline:2px solid var(--link);outline-offset:2px}
nav{border-right:1px solid var(--line);padding:1.25rem 1rem;font-size:.925rem}
nav ul{list-style:none;margin:.25rem 0 1rem;padding:0}
nav li a{display:block;padding:.2rem .5rem;border-radius:.3rem;text-decoration:none;color:var(--text)}
nav li a:hover{background:var(--code)}
nav li a[aria-current]{background:var(--mark);font-weight:600}
nav p{margin:.75rem .5rem 0;color:var(--weak);font-size:.8rem;text-transform:uppercase;letter-spacing:.05em}
nav .name{font-weight:700;font-size:1.1rem;margin:0 .5rem 1rem;text-transform:none;letter-spacing:0}
nav .name a{color:var(--text);text-decoration:none}
main{padding:1.5rem clamp(1rem,4vw,3rem) 4rem;max-width:68rem}
h1,h2,h3,h4{line-height:1.25;margin:2rem 0 .75rem}
h1{margin-top:0}
h2{border-bottom:1px solid var(--line);padding-bottom:.3rem}
p,ul,ol,pre,.table,details,dl{margin:0 0 1rem}
code{font:.85em/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--code);padding:.1em .3em;border-radius:.25em;overflow-wrap:anywhere}
pre{background:var(--code);padding:.85rem 1rem;border-radius:.5rem;overflow-x:auto}
pre code{padding:0;background:none;overflow-wrap:normal}
.table{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.925rem}
th,td{text-align:left;vertical-align:top;padding:.4rem .6rem;border-bottom:1px solid var(--line);min-width:6rem}
img{max-width:100%;height:auto}
summary{cursor:pointer;font-weight:600}
blockquote{margin:0 0 1rem;padding:.1rem 1rem;border-left:3px solid var(--line);color:var(--weak)}
.key{border-left:2px solid var(--line);padding-left:.9rem;margin:0 0 1rem}
.key h3,.key h4{margin:.25rem 0;font-size:1rem;overflow-wrap:anywhere}
.key p{margin:.15rem 0}
.facts{color:var(--weak);font-size:.875rem}
.toc{font-size:.925rem;columns:16rem}
.toc ul{margin:0;padding-left:1.1rem}
#search{width:100%;font:inherit;padding:.4rem .6rem;border:1px solid var(--line);border-radius:.4rem;background:var(--back);color:var(--text)}
#found{list-style:none;padding:0;margin:.4rem 0 0}
#found small{color:var(--weak);display:block}
.skip{position:absolute;left:-99rem}
.skip:focus{left:1rem;top:1rem;background:var(--back);padding:.5rem;z-index:1}
.menu{display:none}
.pages{columns:14rem}
.pages h2{font-size:1rem;margin:0 0 .25rem;border:0}
.pages ul{padding-left:1.1rem}
.pages section{break-inside:avoid}
@media(max-width:52rem){body{display:flex;flex-direction:column}.menu{display:block;padding:.6rem 1rem;border-bottom:1px solid var(--line);font-weight:600}nav{order:2;border-right:0;border-top:1px solid var(--line)}nav details summary{padding:.2rem .5rem}main{width:100%;padding-top:1rem;padding-bottom:2rem}h1{font-size:1.6rem}table{font-size:.8rem}th,td{padding:.3rem .35rem;min-width:0}td:first-child{min-width:4rem}td:last-child{min-width:6.5rem}}
@media print{nav{display:none}body{display:block}}
`;

/** Shows itself only where scripts run; `INDEX` holds [title, page, address] of each place. */
export const SEARCH = `"use strict";
(() => {
  const box = document.getElementById("search");
  const list = document.getElementById("found");
  if (!box || !list || typeof INDEX === "undefined") return;
  box.hidden = false;
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\\s+/).filter(Boolean);
    const found = words.length === 0 ? [] : INDEX.filter(([title, page]) => words.every((word) => (title + " " + page).toLowerCase().includes(word)));
    found.sort((a, b) => a[0].length - b[0].length);
    list.replaceChildren(...found.slice(0, 30).map(([title, page, address]) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = address;
      link.textContent = title;
      const where = document.createElement("small");
      where.textContent = page;
      link.append(where);
      item.append(link);
      return item;
    }));
    if (words.length > 0 && found.length === 0) list.textContent = "Nothing found.";
  });
})();
`;

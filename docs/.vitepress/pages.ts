/**
 * Pages of the site: which Markdown file of the repository is at which address, and the sidebar. Both follow from the folders of
 * `docs/`. Pages of a folder are in the order of the front matter (`order`), then in the order in which `docs/README.md` links to
 * them, then by title.
 */

export interface SourcePage {
  /** Path in the repository, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

export interface SidebarItem {
  readonly text: string;
  readonly link?: string;
  readonly items?: readonly SidebarItem[];
  readonly collapsed?: boolean;
}

/** Markdown files outside of `docs/` that are pages too. */
const PROJECT: Readonly<Record<string, string>> = {
  "README.md": "project/readme.md",
  "CONTRIBUTING.md": "project/contributing.md",
  "SECURITY.md": "project/security.md",
  "CHANGELOG.md": "project/changelog.md",
};

/** Returns the path of a page on the site, such as `guides/tls.md`; `undefined` for a file that is no page. */
export function sitePathOf(path: string): string | undefined {
  const known = PROJECT[path];
  if (known !== undefined) return known;
  const folder = /^(examples|packs)\/(.+)\/README\.md$/.exec(path);
  if (folder !== null) return `${folder[1]}/${(folder[2] ?? "").replaceAll("/", "-")}.md`;
  const own = /^docs\/(?!\.|node_modules\/)(.*\.md)$/.exec(path)?.[1];
  return own?.replace(/(^|\/)README\.md$/, "$1index.md");
}

/** Folders in the order of the sidebar; others follow by name. */
const SECTIONS = [
  "tutorial",
  "guides",
  "concepts",
  "operate",
  "reference",
  "contributing",
  "project",
  "examples",
  "packs",
];

const TITLES: Readonly<Record<string, string>> = {
  cli: "Command line",
  "": "More",
};

const capitalized = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1).replaceAll("-", " ");

export function titleOf({ path, text }: SourcePage): string {
  const stated = /^---\n(?:.*\n)*?title: *"?(.*?)"? *\n(?:.*\n)*?---\n/.exec(text)?.[1];
  const heading = /^# +(.*)$/m.exec(text)?.[1]?.replaceAll("`", "");
  return stated ?? heading ?? capitalized((path.split("/").at(-1) ?? "").replace(/\.md$/, ""));
}

const LAST = 1_000;

/** Page whose links give the order of the others. */
const HOME = "docs/README.md";

/** Returns the pages that the home page links to, in their order. */
function linkedFromHome(pages: readonly SourcePage[]): readonly string[] {
  const home = pages.find(({ path }) => path === HOME)?.text ?? "";
  return [...home.matchAll(/\]\(([\w./-]+\.md)/g)].map(([, target = ""]) => `docs/${target}`);
}

function orderOf({ path, text }: SourcePage, linked: readonly string[]): number {
  const stated = /^---\n(?:.*\n)*?order: *(\d+) *\n(?:.*\n)*?---\n/.exec(text)?.[1];
  if (stated !== undefined) return Number(stated);
  // Its tables of what to read first come before the lists.
  const at = linked.lastIndexOf(path);
  return at === -1 ? LAST : at;
}

interface Placed {
  /** Path on the site without the extension. */
  readonly at: string;
  readonly title: string;
  readonly order: number;
}

const isIndex = ({ at }: Placed): boolean => at === "index" || at.endsWith("/index");

const linkOf = (at: string): string => `/${at.replace(/(^|\/)index$/, "$1")}`;

function folderItems(folder: string, placed: readonly Placed[]): readonly SidebarItem[] {
  const prefix = folder === "" ? "" : `${folder}/`;
  const inside = placed.filter(({ at }) => at.startsWith(prefix) && !isIndex({ at } as Placed) && at !== folder);
  const own = inside.filter(({ at }) => !at.slice(prefix.length).includes("/"));
  const folders = new Set(inside.flatMap(({ at }) => /^([^/]+)\//.exec(at.slice(prefix.length))?.[1] ?? []));
  const items = own.map(({ at, title, order }) => ({ order, title, item: { text: title, link: linkOf(at) } }));
  const nested = [...folders].map((name) => {
    const index = placed.find(({ at }) => at === `${prefix}${name}/index`);
    const title = index?.title ?? TITLES[name] ?? capitalized(name);
    const item = {
      text: title,
      ...(index !== undefined && { link: linkOf(index.at) }),
      items: folderItems(`${prefix}${name}`, placed),
      collapsed: true,
    };
    return { order: index?.order ?? LAST, title, item };
  });
  return [...items, ...nested]
    .sort((a, b) => a.order - b.order || (a.title < b.title ? -1 : 1))
    .map(({ item }) => item);
}

export function sidebarOf(pages: readonly SourcePage[]): readonly SidebarItem[] {
  const linked = linkedFromHome(pages);
  const placed = pages.flatMap((page): readonly Placed[] => {
    const path = sitePathOf(page.path);
    const at = path?.replace(/\.md$/, "");
    return at === undefined ? [] : [{ at, title: titleOf(page), order: orderOf(page, linked) }];
  });
  const folders = [...new Set(placed.flatMap(({ at }) => /^([^/]+)\//.exec(at)?.[1] ?? []))];
  const known = SECTIONS.filter((name) => folders.includes(name));
  const others = folders.filter((name) => !SECTIONS.includes(name)).sort();
  const sections = [...known, ...others].map((name) => {
    const index = placed.find(({ at }) => at === `${name}/index`);
    return {
      text: index?.title ?? TITLES[name] ?? capitalized(name),
      ...(index !== undefined && { link: linkOf(index.at) }),
      items: folderItems(name, placed),
      collapsed: SECTIONS.indexOf(name) > SECTIONS.indexOf("operate") || !SECTIONS.includes(name),
    };
  });
  const loose = placed
    .filter((page) => !page.at.includes("/") && !isIndex(page))
    .sort((a, b) => a.order - b.order || (a.title < b.title ? -1 : 1))
    .map(({ at, title }) => ({ text: title, link: linkOf(at) }));
  return loose.length === 0 ? sections : [...sections, { text: TITLES[""] ?? "", items: loose, collapsed: false }];
}

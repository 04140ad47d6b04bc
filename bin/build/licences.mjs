/** Text of dist/LICENCES.txt: the license of each bundled package. A license that is not listed here fails the build. */

/** Licenses that allow code in a program under any license, if their text is included. */
const PERMISSIVE = new Set([
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "BlueOak-1.0.0",
  "ISC",
  "MIT",
  "Unlicense",
]);

const RULE = "=".repeat(80);

export function licencesText(packages) {
  const refused = packages.filter(({ license }) => !isPermissive(license));
  if (refused.length > 0) {
    const words = refused.map(({ name, version, license }) => `${name}@${version} (${license})`).join(", ");
    throw new Error(`packages whose license is not in the list of bin/build/licences.mjs: ${words}`);
  }
  const head = `dist/ contains code of ${packages.length} packages, each under the license that follows its name.\n`;
  return [head, ...packages.map(section)].join(`\n${RULE}\n`);
}

/** Returns whether a license expression is permissive: one part of an alternative (`OR`), all parts of a conjunction (`AND`). */
function isPermissive(license) {
  if (typeof license !== "string") return false;
  const words = license.replace(/[()]/g, "");
  const parts = (by) => words.split(by).map((it) => it.trim());
  if (words.includes(" AND ")) return !words.includes(" OR ") && parts(" AND ").every((it) => PERMISSIVE.has(it));
  return parts(" OR ").some((it) => PERMISSIVE.has(it));
}

function section({ name, version, license, texts }) {
  const bodies =
    texts.length === 0
      ? ["(The package has no file with the text of its license.)"]
      : texts.map(([file, text]) => `--- ${file}\n\n${text.replaceAll("\r\n", "\n").trim()}`);
  return `${name} ${version}: ${license}\n\n${bodies.join("\n\n")}\n`;
}

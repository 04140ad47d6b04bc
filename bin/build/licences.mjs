/** dist/LICENCES.txt: what each bundled package asks to be handed on with it. A licence that is not known here ends the build. */

/** All let their code be part of a program under any licence, for the text being handed on. */
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
    throw new Error(`may not be bundled, or its licence is unknown to bin/build/licences.mjs: ${words}`);
  }
  const head = `What dist/ holds of others: ${packages.length} packages, each under the licence that follows it.\n`;
  return [head, ...packages.map(section)].join(`\n${RULE}\n`);
}

/** One of several suffices; all of several are needed. */
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
      ? ["(The package has no file with the text of its licence.)"]
      : texts.map(([file, text]) => `--- ${file}\n\n${text.replaceAll("\r\n", "\n").trim()}`);
  return `${name} ${version}: ${license}\n\n${bodies.join("\n\n")}\n`;
}

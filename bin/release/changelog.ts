/** Reads the section of a version in CHANGELOG.md. Format: Keep a Changelog 1.1.0. */

export type Notes =
  | { readonly kind: "notes"; readonly text: string }
  | { readonly kind: "problem"; readonly text: string };

/** Returns the section of the version, or the problem that makes it unusable. */
export function releaseNotes(changelog: string, version: string): Notes {
  const problem = (text: string): Notes => ({ kind: "problem", text });
  const text = sectionOf(changelog, version);
  if (text === undefined) return problem(`CHANGELOG.md has no section \`## ${version}\`: write what it contains.`);
  if (text === "") return problem(`The section \`## ${version}\` of CHANGELOG.md is empty.`);
  if ((sectionOf(changelog, "Unreleased") ?? "") !== "") {
    return problem(`CHANGELOG.md has text under \`## Unreleased\`: move it to \`## ${version}\`.`);
  }
  return { kind: "notes", text: `${text}\n` };
}

/**
 * Returns the text below the heading `## NAME`, up to the next heading of that level. In the heading, the name may be
 * in brackets, and a date may follow it.
 */
function sectionOf(changelog: string, name: string): string | undefined {
  const sections = changelog.split(/^## /m).slice(1);
  const found = sections.find((section) => /^\[?([^\]\s]+)/.exec(section)?.[1] === name);
  return found?.slice(found.indexOf("\n") + 1).trim();
}

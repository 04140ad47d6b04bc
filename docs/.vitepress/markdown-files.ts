/** Lists the Markdown files of the repository that are pages of the site. */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { sitePathOf } from "./pages.ts";

/** Folders that hold pages. */
const FOLDERS = ["docs", "examples", "packs"];

/** Returns paths in the repository, with forward slashes. */
export function markdownFiles(root: string): readonly string[] {
  const top = readdirSync(root).filter((name) => name.endsWith(".md"));
  const below = FOLDERS.flatMap((folder) => filesBelow(root, folder));
  return [...top, ...below].filter((path) => path.endsWith(".md") && sitePathOf(path) !== undefined).sort();
}

/** Returns the folders of the repository that hold no pages. */
export const otherFolders = (root: string): readonly string[] =>
  readdirSync(root, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() && !FOLDERS.includes(entry.name) ? [entry.name] : [],
  );

function filesBelow(root: string, folder: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.name === "node_modules" || entry.name.startsWith(".")) return [];
    return entry.isDirectory() ? filesBelow(root, path) : [path];
  });
}

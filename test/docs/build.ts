/**
 * `npm run docs`: builds the site in `site/` from README, `docs/`, examples, schemas and the program's own tables. Pages are files
 * that open without a server, and are whole without scripts.
 */

import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { SEARCH, STYLE } from "./assets.ts";
import { siteOf } from "./site.ts";

const ROOT = resolve(fileURLToPath(import.meta.url), "../../..");

/** Replaces the folder. */
export async function buildSite(to: string): Promise<number> {
  const { pages, copied } = siteOf(ROOT);
  await rm(to, { recursive: true, force: true });
  await mkdir(to, { recursive: true });
  for (const [name, text] of [...pages, ["style.css", STYLE] as const, ["search.js", SEARCH] as const])
    await writeFile(join(to, name), text);
  for (const path of copied) {
    await mkdir(dirname(join(to, path)), { recursive: true });
    await cp(join(ROOT, path), join(to, path));
  }
  return pages.size;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const to = join(ROOT, "site");
  process.stdout.write(`${await buildSite(to)} pages in ${to}\n`);
}

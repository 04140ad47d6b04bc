/** `npm run generate:docs`: writes `docs/reference/` from the tables of the program. Nothing else writes there. */

import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { referenceFiles } from "./reference/pages.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const FOLDER = join(ROOT, "docs/reference");

const files = referenceFiles(ROOT);
await rm(FOLDER, { recursive: true, force: true });
for (const [path, text] of files) {
  await mkdir(dirname(join(FOLDER, path)), { recursive: true });
  await writeFile(join(FOLDER, path), text);
}
process.stdout.write(`wrote ${files.size} files in docs/reference\n`);

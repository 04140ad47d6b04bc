/** Packs that are shipped with the program. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PACK_FILES, readPackText } from "../../core/packs/index.ts";

declare const GATEWAY_IS_BUILT: true | undefined;

/** Directory of the built-in packs, beside `src` and `dist`. */
export const BUILT_IN_PACKS = fileURLToPath(
  new URL(typeof GATEWAY_IS_BUILT === "undefined" ? "../../../../packs/" : "../packs/", import.meta.url),
);

/** Returns the ids of the packs, sorted. */
export async function builtInPackIds(): Promise<readonly string[]> {
  const entries = await readdir(BUILT_IN_PACKS, { withFileTypes: true });
  return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
}

/** Returns the ids of the packs that cite each control, sorted. */
export async function citingPacks(): Promise<ReadonlyMap<string, readonly string[]>> {
  const citing = new Map<string, string[]>();
  for (const id of await builtInPackIds()) {
    const name = join(id, PACK_FILES.pack);
    const text = await readFile(join(BUILT_IN_PACKS, name), "utf8");
    for (const control of readPackText({ name, text })?.controls ?? []) {
      citing.set(control.id, [...(citing.get(control.id) ?? []), id]);
    }
  }
  return citing;
}

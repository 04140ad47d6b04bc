/** Finds the suites at a path: one file, or the `*.yaml` and `*.yml` files of a directory, sorted by name. */

import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { MAX_DOCUMENT_BYTES } from "../../server/core/config/index.ts";

const MAX_FILES = 1_000;
/** Maximum size of all files together. */
const MAX_BYTES = 16 << 20;

type Found =
  | { readonly kind: "suites"; readonly sources: readonly { readonly name: string; readonly text: string }[] }
  /** `message` begins with the path concerned. */
  | { readonly kind: "problem"; readonly message: string };

/** Finds and reads the suites. `path` is absolute; `name` is used in messages. */
export async function findSuites(path: string, name: string, signal: AbortSignal): Promise<Found> {
  let current = name;
  try {
    const files = (await stat(path)).isDirectory() ? await suitesIn(path) : [""];
    if (files.length === 0) return problem(name, "contains no file named *.yaml");
    if (files.length > MAX_FILES) return problem(name, `contains more than ${MAX_FILES} suites`);
    const sources: { readonly name: string; readonly text: string }[] = [];
    let bytes = 0;
    for (const file of files) {
      // A single file is named as the operator wrote it.
      current = file === "" ? name : join(name, file);
      const whole = join(path, file);
      const { size, isFile } = await readEntry(whole);
      if (!isFile) return problem(current, "is not a file");
      if (size > MAX_DOCUMENT_BYTES) return problem(current, `is over ${MAX_DOCUMENT_BYTES} bytes`);
      bytes += size;
      if (bytes > MAX_BYTES) return problem(name, `contains suites of more than ${MAX_BYTES} bytes together`);
      const text = new TextDecoder("utf-8", { fatal: true }).decode(await readFile(whole, { signal }));
      sources.push({ name: current, text });
    }
    return { kind: "suites", sources };
  } catch (error) {
    signal.throwIfAborted();
    return problem(current, reasonOf(error));
  }
}

async function suitesIn(path: string): Promise<readonly string[]> {
  const names = await readdir(path);
  return names.filter((file) => /^[^.].*\.ya?ml$/.test(file)).sort();
}

async function readEntry(path: string): Promise<{ readonly size: number; readonly isFile: boolean }> {
  const stats = await stat(path);
  return { size: stats.size, isFile: stats.isFile() };
}

const problem = (name: string, reason: string): Found => ({ kind: "problem", message: `${name} ${reason}` });

function reasonOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return "does not exist";
  if (code === "EACCES") return "cannot be read: permission denied";
  if (error instanceof TypeError) return "is not valid UTF-8";
  return `cannot be read: ${code ?? String(error)}`;
}

/** Reads the files of a configuration: the node file, the deployment document, catalog overlay files. */
import { readFileSync, type Stats, statSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { dirname, isAbsolute, join, resolve, sep } from "node:path";

/** Maximum size of a file, in bytes; the parser itself has a lower limit. */
const MAX_FILE_BYTES = 16 << 20;
/** Maximum number of files that overlay patterns may match together. */
const MAX_OVERLAY_FILES = 1_000;

export type FileText =
  | { readonly kind: "text"; readonly name: string; readonly text: string }
  | { readonly kind: "problem"; readonly message: string };

/** Reads a text file. `name`: name of the file in errors. */
async function readText(path: string, name: string): Promise<FileText> {
  try {
    const found = await stat(path);
    if (mayBlock(found)) return { kind: "problem", message: `${name}: no regular file` };
    const { size } = found;
    if (size > MAX_FILE_BYTES) return { kind: "problem", message: `${name}: larger than ${MAX_FILE_BYTES} bytes` };
    const bytes = await readFile(path);
    return { kind: "text", name, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch (error) {
    return { kind: "problem", message: `${name}: ${reason(error)}` };
  }
}

/** Returns whether reading may never end: opening a pipe blocks until a writer opens it, and a device may have no end. */
const mayBlock = (found: Stats): boolean => found.isFIFO() || found.isSocket() || found.isCharacterDevice();

/** Reads one small file synchronously, for an answer that cannot wait. */
export function readTextSync(path: string): FileText {
  try {
    const found = statSync(path);
    if (mayBlock(found)) return { kind: "problem", message: `${path}: no regular file` };
    if (found.size > MAX_FILE_BYTES) {
      return { kind: "problem", message: `${path}: larger than ${MAX_FILE_BYTES} bytes` };
    }
    const text = new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(path));
    return { kind: "text", name: path, text };
  } catch (error) {
    return { kind: "problem", message: `${path}: ${reason(error)}` };
  }
}

/** Files of one configuration: each is read once, so that a later compile sees the same documents. */
export interface Disk {
  readText(path: string): Promise<FileText>;
  expandPattern(pattern: string): Promise<Expansion>;
}

export function openDisk(): Disk {
  return { readText: memoized((path) => readText(path, path)), expandPattern: memoized(expandPattern) };
}

function memoized<Result>(look: (key: string) => Promise<Result>): (key: string) => Promise<Result> {
  const known = new Map<string, Promise<Result>>();
  return (key) => {
    const found = known.get(key) ?? look(key);
    known.set(key, found);
    return found;
  };
}

export function resolveBeside(file: string, path: string): string {
  return isAbsolute(path) ? path : resolve(dirname(file), path);
}

type Expansion =
  | { readonly kind: "files"; readonly paths: readonly string[] }
  | { readonly kind: "problem"; readonly message: string };

/**
 * Expands a path, or a pattern whose segments may contain `*` and `?`; sorted, so that overlays apply in the same order
 * everywhere.
 */
async function expandPattern(pattern: string): Promise<Expansion> {
  if (!/[*?]/.test(pattern)) return { kind: "files", paths: [pattern] };
  let found: string[] = [pattern.startsWith(sep) ? sep : ""];
  try {
    for (const segment of pattern.split(sep).filter((part) => part !== "")) {
      found = /[*?]/.test(segment) ? await matchSegment(found, segment) : found.map((path) => join(path, segment));
      if (found.length > MAX_OVERLAY_FILES) {
        return { kind: "problem", message: `${pattern}: matches more than ${MAX_OVERLAY_FILES} files` };
      }
    }
  } catch (error) {
    return { kind: "problem", message: `${pattern}: ${reason(error)}` };
  }
  return { kind: "files", paths: found.sort() };
}

async function matchSegment(parents: readonly string[], segment: string): Promise<string[]> {
  const pattern = new RegExp(
    `^${segment
      .replace(/[.+^${}()|[\]\\]/g, "\\$&")
      .replaceAll("*", ".*")
      .replaceAll("?", ".")}$`,
  );
  const paths: string[] = [];
  for (const parent of parents) {
    const names = await readdir(parent === "" ? "." : parent);
    paths.push(
      ...names.filter((name) => !name.startsWith(".") && pattern.test(name)).map((name) => join(parent, name)),
    );
  }
  return paths;
}

function reason(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === "ENOENT") return "no such file";
  if (code === "EACCES") return "permission denied";
  if (code === "EISDIR") return "is a directory";
  if (error instanceof TypeError) return "not valid UTF-8";
  return code ?? "cannot be read";
}

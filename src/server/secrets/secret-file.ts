/**
 * Reads one file of `secrets_dir`.
 *
 * Source: specification document 2, loading rules 3 and 4: the value is the file's content with trailing newlines removed; NAME
 * is one file name, never a path. Links are followed, since orchestrators mount secrets as links; their target must be a regular
 * file. Problems name the file and contain nothing of its content.
 */

import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from "node:fs";
import { join } from "node:path";

export type SecretFile =
  /** `digest`: SHA-256 of the content on disk, to notice a change without keeping the value. */
  | { readonly kind: "value"; readonly value: string; readonly digest: string }
  /** `missing`: the file does not exist, so another place may be tried; other problems are final. */
  | { readonly kind: "problem"; readonly message: string; readonly missing: boolean };

/** Maximum length of a file name on common file systems, in bytes. */
const MAX_NAME_BYTES = 255;

interface SecretFileOptions {
  readonly dir: string;
  readonly name: string;
  readonly maxBytes: number;
}

export function readSecretFile({ dir, name, maxBytes }: SecretFileOptions): SecretFile {
  if (!isFileName(name)) return problem(`${shownName(name)} is not a file name; a path is not allowed here`);
  const where = `the file ${JSON.stringify(name)} in secrets_dir ${dir}`;
  let content: Buffer | string;
  try {
    content = readRegularFile(join(dir, name), maxBytes);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT")
      return { ...problem(`there is no file ${JSON.stringify(name)} in secrets_dir ${dir}`), missing: true };
    return problem(`${where} ${unreadableReason(code)}`);
  }
  if (typeof content === "string") return problem(`${where} ${content}`);
  const end = endWithoutNewlines(content);
  try {
    // ignoreBOM keeps a byte order mark: the value is the content, and a mark left out would be a hidden change.
    const value = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content.subarray(0, end));
    return { kind: "value", value, digest: createHash("sha256").update(content).digest("hex") };
  } catch {
    return problem(`${where} is not UTF-8 text`);
  }
}

/** Describes why the file system refuses to read a file, from the code of its error. */
export const unreadableReason = (code: string | undefined): string =>
  code === "EACCES" || code === "EPERM"
    ? `is not readable for the user that the gateway runs as (${code})`
    : `cannot be read (${code ?? "unknown error"})`;

/** Returns the content, or the reason for refusing it; `refuse` may add a reason. Throws errors of the file system. */
export function readRegularFile(
  path: string,
  maxBytes: number,
  refuse: (stats: Stats) => string | undefined = () => undefined,
): Buffer | string {
  // Without O_NONBLOCK, opening a named pipe would wait for a writer, and the whole process with it.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) return "is not a regular file";
    const refusal = refuse(stats);
    if (refusal !== undefined) return refusal;
    // Reads one byte more than allowed, to detect a larger file whatever its size was a moment ago.
    const buffer = Buffer.alloc(maxBytes + 1);
    let length = 0;
    while (length < buffer.length) {
      const count = readSync(file, buffer, length, buffer.length - length, null);
      if (count === 0) return Buffer.from(buffer.subarray(0, length));
      length += count;
    }
    return `is larger than ${maxBytes} bytes`;
  } finally {
    closeSync(file);
  }
}

function endWithoutNewlines(content: Buffer): number {
  let end = content.length;
  while (end > 0 && content[end - 1] === 0x0a) end -= end > 1 && content[end - 2] === 0x0d ? 2 : 1;
  return end;
}

function isFileName(name: string): boolean {
  const isPath = name === "" || name === "." || name === ".." || /[/\\\u0000-\u001f\u007f]/.test(name);
  return !isPath && Buffer.byteLength(name) <= MAX_NAME_BYTES;
}

function shownName(name: string): string {
  return JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);
}

function problem(message: string): { readonly kind: "problem"; readonly message: string; readonly missing: boolean } {
  return { kind: "problem", message, missing: false };
}

/** Deployment document that packs are added to. It is written back with its mode and owner. */

import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { MAX_DOCUMENT_BYTES, type Source } from "../../server/core/config/index.ts";
import { readRegular, whyUnreadable } from "../file-input.ts";
import { clipArgument, UsageError } from "../parse-flags.ts";
import { type Io, resolvePath } from "../process-io.ts";
import { type FileAttributes, type FileTarget, fileTarget, writeWhole } from "../write-atomically.ts";

export interface DeploymentFile {
  /** Text without a byte order mark; empty if the file does not exist. */
  readonly source: Source;
  /** Returns a text with the byte order mark that the file had. */
  readonly withByteOrderMark: (text: string) => string;
  /** Replaces or creates the file. Throws `UsageError` if it changed since it was read, or cannot be written. */
  readonly write: (text: string) => Promise<void>;
}

const BYTE_ORDER_MARK = "\ufeff";

export async function openDeployment(path: string, writes: boolean, io: Io): Promise<DeploymentFile> {
  const shown = clipArgument(path);
  const target = writes ? await fileTarget(resolvePath(io, path)) : undefined;
  if (target?.kind === "special")
    throw new UsageError(`'${shown}' is not a regular file, which '-write' could replace`);
  const before = await bytesOf(resolvePath(io, path), shown);
  const attributes = target && before && (await attributesOf(target, shown));
  const text = decoded(before ?? Buffer.alloc(0), shown);
  const byteOrderMark = text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : "";
  const withByteOrderMark = (it: string): string => byteOrderMark + it;
  return {
    source: { name: path, text: text.slice(byteOrderMark.length) },
    withByteOrderMark,
    async write(it) {
      if (target === undefined) throw new Error("the document was opened to be read");
      const now = await bytesOf(target.path, shown);
      if ((now === undefined) !== (before === undefined) || (now !== undefined && before?.equals(now) === false)) {
        throw new UsageError(`'${shown}' was changed meanwhile; nothing was written`);
      }
      try {
        await writeWhole(target, once(withByteOrderMark(it)), attributes);
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        throw new UsageError(`'${shown}' cannot be written and is unchanged: ${code ?? String(error)}`);
      }
    },
  };
}

async function bytesOf(path: string, shown: string): Promise<Buffer | undefined> {
  try {
    return await readRegular(path, shown, MAX_DOCUMENT_BYTES);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new UsageError(`'${shown}' cannot be read: ${whyUnreadable(error)}`);
  }
}

/**
 * Returns mode and owner of the file. Throws if the file itself is not writable, even if its directory would allow
 * replacing it.
 */
async function attributesOf({ path }: FileTarget, shown: string): Promise<FileAttributes> {
  const refuse = (reason: string): never => {
    throw new UsageError(`'${shown}' cannot be written: ${reason}`);
  };
  await access(path, constants.W_OK).catch((error: unknown) => refuse(whyUnreadable(error)));
  const { mode, uid, gid } = await stat(path);
  if ((mode & 0o222) === 0) refuse("it is read-only for everybody");
  return { mode: mode & 0o7777, uid, gid };
}

function decoded(bytes: Buffer, shown: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UsageError(`'${shown}' is not valid UTF-8`);
  }
}

async function* once(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text);
}

/**
 * Stored sign-ins of this user on this machine: one file per gateway, `sign-in-<hash of its URL>.json`, in
 * `$XDG_STATE_HOME/gateway` or `~/.local/state/gateway`.
 *
 * A file contains tokens, so the directory has mode 0700 and a file 0600. A file that others can read, or that another
 * user owns, is not used. A file is replaced atomically (temporary file, fsync, rename), so a reader sees the old or
 * the new version. Writing and removing require the gateway's lock (`sign-in-lock.ts`).
 *
 * Every call to a gateway reads its file, so this needs only a few system calls and loads only Node's own modules.
 */

import { createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import type { Io } from "../process-io.ts";
import { stateHome } from "../state-home.ts";
import { formatEntry, parseEntry, type SignIn } from "./sign-in-entry.ts";
import { codeOf, SignInError } from "./sign-in-errors.ts";

/** Maximum size of a file. Two tokens with many group claims have about 20 KB. */
const MAX_FILE_BYTES = 256 << 10;
/** Matches the file name of a sign-in, and of the temporary file that an interrupted write leaves. */
const ENTRY_NAME = /^(sign-in-[0-9a-f]{32}\.json)(?:\.[0-9a-f]+\.tmp)?$/;

export type StoredSignIn =
  | { readonly kind: "sign-in"; readonly signIn: SignIn }
  | { readonly kind: "none" }
  /** The file exists but is not usable: damaged, or from another version of this program. */
  | { readonly kind: "unreadable"; readonly path: string; readonly reason: string }
  /** The file exists, but another user may have read or written it. */
  | { readonly kind: "unsafe"; readonly path: string; readonly reason: string };

export interface ListedSignIn {
  readonly path: string;
  readonly stored: StoredSignIn;
}

export interface SignInStore {
  readonly directory: string;
  read(url: string): StoredSignIn;
  /** Stores the sign-in. Creates the directory if it is missing. */
  write(signIn: SignIn): void;
  entryPath(url: string): string;
  /** Removes the sign-in and the remains of interrupted writes. Returns whether it existed. */
  remove(entryPath: string): boolean;
  /** Returns all files named like a sign-in, readable or not, sorted by URL. */
  list(): readonly ListedSignIn[];
  lockPath(entryPath: string): string;
  /** Creates the directory if it is missing. Throws if others can write to it. */
  ensureDirectory(): void;
}

export function openSignInStore(io: Io): SignInStore {
  const home = stateHome(io);
  if (home === undefined) {
    throw new SignInError("there is no directory for sign-ins: set HOME or XDG_STATE_HOME");
  }
  const directory = join(home, "gateway");
  const entryPath = (url: string) => join(directory, `sign-in-${fingerprint(url)}.json`);

  return {
    directory,
    entryPath,
    lockPath: (path) => path.replace(/\.json$/, ".lock"),
    ensureDirectory: () => prepareDirectory(directory),
    read(url) {
      const stored = readEntry(entryPath(url));
      // Somebody copied the file: its tokens belong to another gateway.
      if (stored.kind !== "sign-in" || stored.signIn.url === url) return stored;
      return { kind: "unreadable", path: entryPath(url), reason: "it belongs to another gateway" };
    },
    write(signIn) {
      prepareDirectory(directory);
      const path = entryPath(signIn.url);
      removeLeftovers(path);
      replace(directory, path, formatEntry(signIn));
    },
    remove(path) {
      removeLeftovers(path);
      return removeFile(path);
    },
    list() {
      const paths = new Set(names(directory).flatMap((name) => ENTRY_NAME.exec(name)?.[1] ?? []));
      const found = [...paths].map((name) => ({
        path: join(directory, name),
        stored: readEntry(join(directory, name)),
      }));
      return found.sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
    },
  };
}

function fingerprint(url: string): string {
  return createHash("sha256").update(url).digest("hex").slice(0, 32);
}

function sortKey({ path, stored }: ListedSignIn): string {
  return stored.kind === "sign-in" ? stored.signIn.url : `\u{10ffff}${path}`;
}

function names(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw new SignInError(`${directory} cannot be read: ${codeOf(error)}`, { cause: error });
  }
}

function readEntry(path: string): StoredSignIn {
  let fd: number;
  try {
    // Does not follow symbolic links, and does not block if the file was replaced by a pipe.
    fd = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT") return { kind: "none" };
    if (code === "ELOOP") return { kind: "unsafe", path, reason: "it is a symbolic link" };
    return { kind: "unreadable", path, reason: `it cannot be opened: ${code}` };
  }
  try {
    const stats = fstatSync(fd);
    const unsafe = unsafeReason(stats);
    if (unsafe !== undefined) return { kind: "unsafe", path, reason: unsafe };
    if (stats.size > MAX_FILE_BYTES) return { kind: "unreadable", path, reason: "it is too large" };
    const buffer = Buffer.alloc(stats.size);
    const length = readSync(fd, buffer, 0, buffer.length, 0);
    const parsed = parseEntry(buffer.toString("utf8", 0, length));
    return parsed.kind === "sign-in" ? parsed : { kind: "unreadable", path, reason: parsed.reason };
  } finally {
    closeSync(fd);
  }
}

/**
 * Returns why the file is not safe; `undefined` if it is. On Windows, which has no such owners and modes, the user's
 * profile directory protects it.
 */
function unsafeReason(stats: Stats): string | undefined {
  if (!stats.isFile()) return "it is not a regular file";
  const user = process.geteuid?.();
  if (user === undefined) return undefined;
  if (stats.uid !== user) return `it belongs to user ${stats.uid}, and you are user ${user}`;
  const mode = stats.mode & 0o777;
  return (mode & 0o077) === 0 ? undefined : `other users have access to it (mode ${mode.toString(8)})`;
}

function prepareDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new SignInError(`${directory} cannot be created: ${codeOf(error)}`, { cause: error });
  }
  const stats = lstatSync(directory);
  if (!stats.isDirectory()) throw new SignInError(`${directory} is not a directory`);
  const user = process.geteuid?.();
  if (user === undefined) return;
  if (stats.uid !== user) {
    throw new SignInError(
      `${directory} belongs to user ${stats.uid}, and you are user ${user}: no token is kept there`,
    );
  }
  if ((stats.mode & 0o022) !== 0) {
    throw new SignInError(`other users can write to ${directory}: no token is kept there; run chmod 700 on it`);
  }
}

function replace(directory: string, path: string, text: string): void {
  const temporary = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    const fd = openSync(temporary, "wx", 0o600);
    try {
      writeFileSync(fd, text);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw new SignInError(`the sign-in cannot be kept in ${directory}: ${codeOf(error)}`, { cause: error });
  }
  syncDirectory(directory);
}

/** Makes the rename durable. Not every platform and file system supports this; then only the content was flushed. */
function syncDirectory(directory: string): void {
  try {
    const fd = openSync(directory, "r");
    try {
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  } catch {}
}

/** Removes files that a process left when it was killed while writing: they contain tokens. Call it only with the lock held. */
function removeLeftovers(path: string): void {
  const directory = dirname(path);
  const firstByte = `${basename(path)}.`;
  for (const name of names(directory)) {
    if (name.startsWith(firstByte) && name.endsWith(".tmp")) rmSync(join(directory, name), { force: true });
  }
}

function removeFile(path: string): boolean {
  try {
    rmSync(path);
    return true;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw new SignInError(`${path} cannot be removed: ${codeOf(error)}`, { cause: error });
  }
}

/**
 * A Unix socket that only its owner can open, from the moment it exists, and that replaces one left by a crash.
 *
 * The socket is bound in a new directory of mode 0700 beside its place, made 0600, and renamed: another user can never connect,
 * and the process's umask, with which other threads create files, is not changed. Two processes that start at the same moment
 * are separated by the lock of their data directory, not here. Source: specification document 1, Authentication.
 */

import { chmod, lstat, mkdtemp, rename, rm, unlink } from "node:fs/promises";
import { connect } from "node:net";
import { dirname, join, sep } from "node:path";

/** Maximum length in bytes: `sun_path` without its NUL has 108 on Linux, 104 on macOS and the BSDs. */
const MAX_PATH_BYTES = process.platform === "linux" ? 107 : 103;
const PROBE_LIMIT_MS = 2_000;

/** Error for a socket that cannot be placed. Its message names the key and the path. */
class SocketPathError extends Error {
  override readonly name = "SocketPathError";
}

export interface PlacedSocket {
  /** Removes the socket if it is still the one that was placed. */
  remove(): Promise<void>;
}

/** Places a socket at `path`. `bind`: makes a server listen on a path. Rejects with a message for the operator. */
export async function placeSocket(path: string, bind: (path: string) => Promise<unknown>): Promise<PlacedSocket> {
  // The temporary path `.XXXXXX/s` in the same directory may be longer than the final one.
  const longest = Math.max(Buffer.byteLength(path), Buffer.byteLength(join(dirname(path), ".XXXXXX", "s")));
  if (longest > MAX_PATH_BYTES) {
    throw new SocketPathError(
      `admin.local_socket: ${path} is too long: the system allows ${MAX_PATH_BYTES} bytes, and this path needs ${longest}`,
    );
  }
  await refuseIfInUse(path);
  const directory = await mkdtemp(`${dirname(path)}${sep}.`).catch((cause: NodeJS.ErrnoException) => {
    throw new SocketPathError(`admin.local_socket: cannot create ${path}: ${reason(cause)}`, { cause });
  });
  try {
    const bound = join(directory, "s");
    await bind(bound);
    await chmod(bound, 0o600);
    await rename(bound, path);
  } catch (cause) {
    throw new SocketPathError(`admin.local_socket: cannot listen on ${path}: ${reason(cause)}`, { cause });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
  const { ino, dev } = await lstat(path);
  return {
    async remove() {
      const found = await lstat(path).catch(() => undefined);
      if (found?.ino === ino && found.dev === dev) await unlink(path);
    },
  };
}

/** Throws if the path is in use: it may only be a socket that nothing listens on. Other files are not removed. */
async function refuseIfInUse(path: string): Promise<void> {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new SocketPathError(`admin.local_socket: cannot look at ${path}: ${reason(error)}`, { cause: error });
  });
  if (found === undefined) return;
  if (!found.isSocket())
    throw new SocketPathError(`admin.local_socket: ${path} is not a socket; remove it, or name another path`);
  if (await isInUse(path)) {
    const message = `admin.local_socket: another process listens on ${path}; stop it, or name another path`;
    throw Object.assign(new SocketPathError(message), { code: "EADDRINUSE" });
  }
}

function isInUse(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const settle = (live: boolean) => () => {
      socket.destroy();
      resolve(live);
    };
    socket.once("connect", settle(true));
    // Only a refused connection shows that nothing listens; a full queue, or a missing permission, shows that something does.
    socket.once("error", (error: NodeJS.ErrnoException) =>
      settle(error.code !== "ECONNREFUSED" && error.code !== "ENOENT")(),
    );
    socket.setTimeout(PROBE_LIMIT_MS, settle(true));
  });
}

function reason(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return "its directory does not exist";
  if (code === "EACCES" || code === "EPERM" || code === "EROFS") return "its directory is not writable";
  return error instanceof Error ? error.message : String(error);
}

/** A small file system in memory, if this process may mount one. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmdirSync } from "node:fs";
import { open, readdir, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atEnd, type Owner } from "../../support/wait.ts";

export interface Tmpfs {
  readonly path: string;
  /** Writes a file until there is no room left. */
  fill(): Promise<void>;
  /** Leaves this many bytes free. */
  fillTo(free: number): Promise<void>;
  /** Removes that file. */
  free(): Promise<void>;
  /** Removes everything. */
  empty(): Promise<void>;
}

const PIECE = Buffer.alloc(1024 * 1024);
const FILLER = "filler";

/** Returns `undefined` if mounting is not permitted. */
export function mountTmpfs(owner: Owner, bytes: number): Tmpfs | undefined {
  if (process.platform !== "linux") return undefined;
  const path = mkdtempSync(join(tmpdir(), "gateway-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${bytes},mode=0700`, "none", path], { stdio: "ignore" });
  } catch {
    rmdirSync(path);
    return undefined;
  }
  const unmount = (): void => {
    execFileSync("umount", ["-l", path]);
    rmdirSync(path);
  };
  process.once("exit", unmount);
  atEnd(owner, () => {
    process.off("exit", unmount);
    unmount();
  });
  return {
    path,
    async fill() {
      const file = await open(join(path, FILLER), "a");
      try {
        for (let size = PIECE.length; size >= 1; ) {
          const isWritten = await file.write(PIECE, 0, size).then(
            ({ bytesWritten }) => bytesWritten === size,
            () => false,
          );
          if (!isWritten) size >>= 1;
        }
      } finally {
        await file.close();
      }
    },
    async fillTo(free) {
      const file = await open(join(path, FILLER), "a");
      try {
        for (;;) {
          const { bavail, bsize } = await statfs(path);
          if (bavail * bsize <= free) return;
          await file.write(PIECE);
        }
      } finally {
        await file.close();
      }
    },
    async free() {
      await rm(join(path, FILLER), { force: true });
    },
    async empty() {
      for (const name of await readdir(path)) await rm(join(path, name), { recursive: true, force: true });
    },
  };
}

/** Directory for files that are synced repeatedly: in memory if possible, since the tests are about the order. */

import { accessSync, constants, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MEMORY = "/dev/shm";

export function quickFolder(prefix: string): string {
  return mkdtempSync(join(isWritable(MEMORY) ? MEMORY : tmpdir(), prefix));
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

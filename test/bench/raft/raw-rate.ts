/** R: how often per second one writer can append 1 KB to a file durably. Figures are relative to it. */

import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";

const BLOCK = Buffer.alloc(1_024, "r");
const MILLISECONDS = 400;

/** Measured in `folder`, which must be on the file system of the data directories; blocks this thread meanwhile. */
export function measureRawRate(folder: string): number {
  const path = join(folder, "raw-rate");
  const file = openSync(path, "w");
  try {
    let count = 0;
    const startedAt = performance.now();
    while (performance.now() - startedAt < MILLISECONDS) {
      writeSync(file, BLOCK);
      fdatasyncSync(file);
      count += 1;
    }
    return (count * 1_000) / (performance.now() - startedAt);
  } finally {
    closeSync(file);
    rmSync(path, { force: true });
  }
}

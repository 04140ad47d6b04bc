/**
 * The file-changing system calls of the trail, with a hook before each. It replaces Node's own functions, so the
 * program itself is unchanged.
 */

import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const NAMES = ["fsyncSync", "fdatasyncSync", "renameSync", "mkdirSync", "ftruncateSync", "rmSync"] as const;

/** `before` may throw, or end the process; `writePart` writes the first half of the pending bytes. */
export function interceptFiles(before: (writePart: () => void) => void): () => void {
  const { writeSync } = fs;
  const real = NAMES.map((name) => [name, fs[name]] as const);
  Object.assign(fs, {
    writeSync(fd: number, bytes: Buffer | string, ...rest: number[]) {
      const whole = typeof bytes === "string" ? Buffer.from(bytes) : bytes.subarray(rest[0] ?? 0);
      before(() => writeSync(fd, whole, 0, Math.floor(whole.length / 2)));
      return typeof bytes === "string" ? writeSync(fd, bytes) : writeSync(fd, bytes, ...rest);
    },
  });
  for (const [name, call] of real) {
    const called: (...args: never[]) => unknown = call;
    Object.assign(fs, {
      [name](...args: never[]) {
        before(() => undefined);
        return called(...args);
      },
    });
  }
  syncBuiltinESMExports();
  return () => {
    Object.assign(fs, { writeSync, ...Object.fromEntries(real) });
    syncBuiltinESMExports();
  };
}

/**
 * Loaded before a child: kills the process at the N-th system call that changes a file, in the thread of the trail.
 * `CRASH_AT=N` before the call; `CRASH_AT=N:half` after half of what it would have written.
 */

import { isMainThread } from "node:worker_threads";
import { interceptFiles } from "../../../server/audit/support/intercept-files.ts";

const [at, mode] = (process.env["CRASH_AT"] ?? "").split(":");
const crashAt = Number(at);

if (!isMainThread && crashAt > 0) {
  let calls = 0;
  interceptFiles((writePart) => {
    calls += 1;
    if (calls !== crashAt) return;
    if (mode === "half") writePart();
    process.kill(process.pid, "SIGKILL");
    // The signal may take a moment to arrive; nothing more is done until it has.
    for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
  });
}

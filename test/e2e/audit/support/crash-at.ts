/**
 * Loaded before a child: kills the process at the N-th file-changing system call in the trail's thread. `CRASH_AT=N`
 * kills before the call, `CRASH_AT=N:half` after half of its bytes.
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
    // The signal may take a moment to arrive; no more work is done until then.
    for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
  });
}

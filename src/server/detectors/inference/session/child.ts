/** Process for a session whose graph is in memory. A crash of the runtime, which is native code, ends only this process. */

import { runSession } from "./run-session.ts";
import type { SessionSpec, ToSession } from "./session-protocol.ts";

// Signals reach the whole process group. This process ignores them, because the parent decides when it ends.
for (const name of ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2"] as const) {
  process.on(name, () => undefined);
}
process.title = "gateway model";
// SIGKILL ends this process together with its parent, even during a run of the graph.
process.once("disconnect", () => process.kill(process.pid, "SIGKILL"));
process.once("message", (spec: SessionSpec) =>
  runSession(spec, {
    post: (message) => void process.send?.(message, () => undefined),
    onMessage: (listener) => void process.on("message", (message) => listener(message as ToSession)),
    close: () => process.disconnect(),
  }),
);

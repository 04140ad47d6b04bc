/** The process of a session whose graph is in memory: a crash of the runtime, which is native code, ends this process alone. */
import type { SessionSpec, ToSession } from "./protocol.ts";
import { runSession } from "./run-session.ts";

// They come to the whole group of processes; who asks says when this one ends.
for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(name, () => undefined);
process.title = "gateway model";
// With who asks, however that ended, and also within a run of the graph.
process.once("disconnect", () => process.kill(process.pid, "SIGKILL"));
process.once("message", (spec: SessionSpec) =>
  runSession(spec, {
    postMessage: (message) => void process.send?.(message, () => undefined),
    onMessage: (listener) => void process.on("message", (message) => listener(message as ToSession)),
    close: () => process.disconnect(),
  }),
);

/** Program of a worker process, started by its node process; it ends when that ends. */
import { Socket } from "node:net";
import { createLogger, parseLogLevel } from "../../../base/index.ts";
import { openChannel, sendLog } from "../../workers/index.ts";
import { runWorker } from "./open-worker.ts";

declare const GATEWAY_BUILD: { readonly version: string } | undefined;

// Signals reach the whole process group. A worker ignores them, because the node process decides when it ends.
for (const name of ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2"] as const) {
  process.on(name, () => undefined);
}
process.stderr.on("error", () => undefined);

const { env } = process;
const level = parseLogLevel(env["GATEWAY_LOG"] ?? "info") ?? "info";
/** Log for messages that cannot reach the node. */
const own = createLogger({ stream: process.stderr, isTerminal: process.stderr.isTTY === true, level, now: Date.now });
const exit = (): void => process.exit(0);
const socket = new Socket({ fd: 3, readable: true, writable: true });
const channel = openChannel(socket, (error) => own.error("the channel to the node process is broken", { error }));
// Without the node nothing can be recorded or revoked: the worker exits without serving further requests or waiting for unsent
// reports.
socket.once("end", exit);
void channel.closed.then(exit);
runWorker({ channel, env, log: sendLog(channel, level, Date.now) }, exit);
channel.send("hello", {
  pid: process.pid,
  version: typeof GATEWAY_BUILD === "undefined" ? "0.0.0" : GATEWAY_BUILD.version,
});

/** Thread of a session whose graph is on a server. */
import { parentPort, workerData } from "node:worker_threads";
import type { SessionSpec } from "./protocol.ts";
import { runSession } from "./run-session.ts";

const port = parentPort;
if (port === null) throw new Error("this is a module of a thread");

runSession(workerData as SessionSpec, {
  postMessage: (message, transfer) => port.postMessage(message, transfer),
  onMessage: (listener) => void port.on("message", listener),
  close: () => port.close(),
});

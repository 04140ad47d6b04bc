/** Thread of a session whose graph is on a server. */
import { workerData } from "node:worker_threads";
import { threadCaller } from "../../../../base/index.ts";
import { runSession } from "./run-session.ts";
import type { SessionSpec } from "./session-protocol.ts";

runSession(workerData as SessionSpec, threadCaller());

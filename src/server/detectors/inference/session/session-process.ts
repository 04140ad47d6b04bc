/** Process of a session, with the interface of a thread. */
import { type ChildProcess, fork } from "node:child_process";
import { EventEmitter } from "node:events";
import { fileURLToPath } from "node:url";
import { programUrl } from "../../../../base/index.ts";
import type { SessionSpec, SessionWorker, ToSession } from "./session-protocol.ts";

/** Heap limit in MiB, which applies to objects and not to tensors and weights. */
const MAX_HEAP = 512;
/**
 * Time after which a process that was asked to end is killed, in milliseconds, since a run of its graph cannot be
 * stopped otherwise.
 */
const END_MS = 1_000;
/** Environment variables that are passed on. Others may contain secrets. */
const PASSED = ["PATH", "LD_LIBRARY_PATH", "TMPDIR"];

const PROGRAM = {
  source: new URL("./child.ts", import.meta.url),
  built: new URL("./server/detectors/inference/session/child.js", import.meta.url),
};

const running = new Set<ChildProcess>();
let isWatched = false;

/** Kills a process when this one ends, even if it hangs in its graph. */
function watch(child: ChildProcess): void {
  running.add(child);
  child.once("exit", () => running.delete(child));
  if (isWatched) return;
  isWatched = true;
  process.once("exit", () => {
    for (const one of running) one.kill("SIGKILL");
  });
}

export function startSessionProcess(spec: SessionSpec): SessionWorker {
  const env = Object.fromEntries(PASSED.map((name) => [name, process.env[name]]));
  const child = fork(fileURLToPath(programUrl(PROGRAM)), {
    env,
    execArgv: ["--enable-source-maps", `--max-old-space-size=${MAX_HEAP}`],
    serialization: "advanced",
    // stdout and stderr are not inherited, because Node makes them blocking for all processes that share them.
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  watch(child);
  const events = new EventEmitter();
  let hasEnded = false;
  const endOnce = (error: Error): void => {
    if (hasEnded) return;
    hasEnded = true;
    events.emit("error", error);
    events.emit("exit");
  };
  child.once("exit", (status, signal) => endOnce(new Error(`the process ended (${signal ?? `status ${status}`})`)));
  // Without a pid, the process could not be started, and no `exit` event follows.
  child.on("error", (error) => child.pid === undefined && endOnce(error));
  child.on("message", (message) => events.emit("message", message));
  // Without a free descriptor, the process has no channel either.
  if (child.connected) child.send(spec, () => undefined);
  return {
    pid: child.pid,
    on: (event, listener) => void events.on(event, listener),
    postMessage(message: ToSession) {
      if (!child.connected) return;
      child.send(message, () => undefined);
      if (message.kind === "end") setTimeout(() => child.kill("SIGKILL"), END_MS).unref();
    },
    ref() {
      child.ref();
      child.channel?.ref();
    },
    unref() {
      child.unref();
      child.channel?.unref();
    },
  };
}

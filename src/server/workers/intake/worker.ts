/**
 * Runs the intake thread of a node process: receives the audit records of workers and passes them to the thread that writes them.
 *
 * The main thread compiles configurations and answers operators, which may take seconds. Records must not wait for it, because a
 * worker refuses requests when its records are not acknowledged for one second.
 */
import { createServer, type Server, type Socket } from "node:net";
import { workerData } from "node:worker_threads";
import { threadCaller } from "../../../base/index.ts";
import { openQueue } from "../../audit/index.ts";
import { openChannel } from "../channel/index.ts";
import type { FromIntake, IntakeOptions } from "./intake-protocol.ts";
import { receiveRecords } from "./receive-records.ts";

/** Time to read the data that a dead worker left in its socket, in milliseconds. */
const CLOSE_MS = 1_000;

const options = workerData as IntakeOptions;
const { paths, token, workers, port } = options;
const queue = openQueue(options.queue);
const { onMessage, post, close: closeThread } = threadCaller<"close", FromIntake>();
const open = new Set<Promise<void>>();
const sockets = new Set<Socket>();

function accept(socket: Socket): void {
  sockets.add(socket);
  const channel = openChannel(socket, () => undefined);
  let end: (() => void) | undefined;
  channel.on("hello", (helloToken) => {
    if (helloToken !== token) socket.destroy();
    else
      end ??= receiveRecords(channel, {
        queue,
        workers,
        onRecords(records, summaries) {
          port.postMessage(records);
          post({ kind: "recorded", records: summaries });
        },
      });
  });
  const closed = channel.closed.then(() => {
    end?.();
    sockets.delete(socket);
    open.delete(closed);
  });
  open.add(closed);
}

/** Listens at `path`. Resolves to `undefined` if that works, otherwise to the reason why it does not. */
function listen(server: Server, path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const onError = (error: Error): void => resolve(error.message);
    server.once("error", onError);
    server.listen(path, () => {
      server.off("error", onError);
      resolve(undefined);
    });
  });
}

async function close(server: Server): Promise<void> {
  server.close();
  const limit = setTimeout(() => {
    for (const socket of sockets) socket.destroy();
  }, CLOSE_MS);
  await Promise.all(open);
  clearTimeout(limit);
  post({ kind: "closed" });
  port.close();
  closeThread();
}

async function begin(): Promise<void> {
  const problems: string[] = [];
  for (const path of paths) {
    const server = createServer(accept);
    const problem = await listen(server, path);
    if (problem !== undefined) {
      problems.push(problem);
      continue;
    }
    // Accepting fails, for example, when no descriptor is free; the server accepts again later.
    server.on("error", () => undefined);
    onMessage(() => void close(server));
    post({ kind: "listening", path });
    return;
  }
  post({ kind: "refused", problems });
  closeThread();
}

void begin();

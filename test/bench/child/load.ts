/**
 * The load generator, a process of its own: a closed loop over raw keep-alive sockets. Each connection sends prebuilt
 * bytes, waits for the whole answer, and repeats up to the count. It runs one job at a time, requested over the
 * channel, and returns rates and latencies (microseconds, whole answers). Any answer but a 2xx is a failure.
 */

import type { Socket } from "node:net";
import { percentile } from "../statistics.ts";
import { endWithParent } from "./channel.ts";
import { isGood, openSocket, type Target } from "./connections.ts";
import { createRequests, type RequestShape, type TextShape } from "./requests.ts";
import { createResponseReader } from "./response-reader.ts";

export interface LoadJob extends Target {
  readonly shape: RequestShape | TextShape;
  readonly connections: number;
  readonly requests: number;
  /** Port of a second equal server: each gets half of the connections. */
  readonly otherPort?: number;
  /**
   * Writes each request in this many pieces, one timer tick apart, timing its answer from the last of them; at once if
   * omitted.
   */
  readonly pieces?: number;
}

export type LoadResult =
  | {
      readonly kind: "done";
      readonly seconds: number;
      readonly failures: number;
      /** Status of the last failure; 0 for none. */
      readonly failedWith: number;
      readonly perSecond: number;
      readonly p50Us: number;
      readonly p99Us: number;
      /** Time to the head of an answer, which a proxy sends with the first event of a stream. */
      readonly firstP50Us: number;
    }
  | { readonly kind: "broken"; readonly reason: string };

/** A longer job is stuck: the largest of the bench needs a tenth of it. */
const JOB_TIMEOUT_MS = 180_000;

endWithParent();
process.on("message", (job: LoadJob) => {
  void run(job).then((result) => process.send?.(result));
});

async function run(job: LoadJob): Promise<LoadResult> {
  const sockets = new Set<Socket>();
  const timer = setTimeout(() => closeAll(new Error("the load did not finish in time")), JOB_TIMEOUT_MS);
  const closeAll = (reason?: Error): void => {
    for (const socket of sockets) socket.destroy(reason);
  };
  try {
    return await drive(job, sockets);
  } catch (error) {
    return { kind: "broken", reason: error instanceof Error ? error.message : String(error) };
  } finally {
    clearTimeout(timer);
    closeAll();
  }
}

async function drive(job: LoadJob, sockets: Set<Socket>): Promise<LoadResult> {
  const nextRequest = createRequests(job.shape, job.port);
  const other = { ...job, port: job.otherPort ?? job.port };
  const latenciesUs = new Float64Array(job.requests);
  const firstUs = new Float64Array(job.requests);
  let begun = 0;
  let sent = 0;
  let done = 0;
  let failures = 0;
  let failedWith = 0;
  await Promise.all(
    Array.from({ length: job.connections }, (_, at) => openSocket(at % 2 === 0 ? job : other, sockets)),
  );
  const startedAt = performance.now();

  await Promise.all(
    [...sockets].map(
      (socket) =>
        new Promise<void>((resolve, reject) => {
          let sentAt = 0;
          const send = (): void => {
            if (sent >= job.requests) {
              resolve();
              return;
            }
            const bytes = nextRequest();
            sent += 1;
            writePieces(socket, bytes, job.pieces ?? 1, () => {
              sentAt = performance.now();
            });
          };
          const ended = (status: number): void => {
            latenciesUs[done] = (performance.now() - sentAt) * 1e3;
            done += 1;
            if (!isGood(status)) {
              failures += 1;
              failedWith = status;
            }
            send();
          };
          const reader = createResponseReader(ended, () => {
            firstUs[begun] = (performance.now() - sentAt) * 1e3;
            begun += 1;
          });
          socket.on("data", (piece: Buffer) => {
            try {
              reader.push(piece);
            } catch (error) {
              reject(error);
            }
          });
          socket.on("error", reject);
          socket.on("close", () => reject(new Error("the server closed a connection that was in use")));
          send();
        }),
    ),
  );

  const seconds = (performance.now() - startedAt) / 1e3;
  const perSecond = job.requests / seconds;
  const p50Us = percentile(latenciesUs, 0.5);
  const firstP50Us = percentile(firstUs, 0.5);
  const p99Us = percentile(latenciesUs, 0.99);
  return { kind: "done", seconds, failures, failedWith, perSecond, p50Us, p99Us, firstP50Us };
}

/** `onLast` is called before the last piece is written. */
function writePieces(socket: Socket, bytes: Buffer, pieces: number, onLast: () => void): void {
  if (pieces <= 1) {
    onLast();
    socket.write(bytes);
    return;
  }
  const length = Math.ceil(bytes.length / pieces);
  socket.write(bytes.subarray(0, length));
  setTimeout(() => writePieces(socket, bytes.subarray(length), pieces - 1, onLast), 1);
}

/**
 * The load generator that does not wait for answers, a process of its own: requests at a rate, on many more keep-alive
 * sockets than are ever in use. A request without a free socket waits for one, which counts as latency; the delay of
 * the generator's own clock does not. Latencies are microseconds, to the end of the answer.
 */

import { once } from "node:events";
import type { Socket } from "node:net";
import { dirname, join } from "node:path";
import { Worker } from "node:worker_threads";
import { percentile } from "../statistics.ts";
import { endWithParent } from "./channel.ts";
import { isGood, openSocket, type Target } from "./connections.ts";
import type { Pace } from "./pacer.ts";
import { createRequests, type RequestShape } from "./requests.ts";
import { createResponseReader } from "./response-reader.ts";

export interface SteadyJob extends Target {
  readonly shape: RequestShape;
  readonly perSecond: number;
  readonly seconds: number;
  readonly connections: number;
}

export type SteadyResult =
  | {
      readonly kind: "done";
      readonly answered: number;
      readonly failures: number;
      readonly p50Us: number;
      readonly p99Us: number;
      readonly longestUs: number;
    }
  | { readonly kind: "broken"; readonly reason: string };

/** Beside this file once both are compiled. */
const PACER = join(dirname(process.argv[1] ?? ""), "pacer.cjs");
/** Faster ticks cost more than they gain. */
const MIN_TICK_MS = 0.1;
/** Limit for the answer to the last request. */
const END_LIMIT_MS = 30_000;

interface Client {
  send(dueAt: number): void;
}

endWithParent();
process.on("message", (job: SteadyJob) => {
  void run(job).then((result) => process.send?.(result));
});

async function run(job: SteadyJob): Promise<SteadyResult> {
  const sockets = new Set<Socket>();
  const pace: Pace = {
    intervalMs: Math.max(MIN_TICK_MS, 1e3 / job.perSecond),
    end: new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)),
  };
  const pacer = new Worker(PACER, { workerData: pace });
  try {
    await once(pacer, "online");
    return await drive(job, sockets, pacer);
  } catch (error) {
    return { kind: "broken", reason: error instanceof Error ? error.message : String(error) };
  } finally {
    Atomics.store(pace.end, 0, 1);
    Atomics.notify(pace.end, 0);
    for (const socket of sockets) socket.destroy();
  }
}

async function drive(job: SteadyJob, sockets: Set<Socket>, pacer: Worker): Promise<SteadyResult> {
  const nextRequest = createRequests(job.shape, job.port);
  const total = Math.round(job.perSecond * job.seconds);
  const latenciesUs: number[] = [];
  let failures = 0;
  const idle: Client[] = [];
  const waiting: number[] = [];

  const opened = await Promise.all(Array.from({ length: job.connections }, () => openSocket(job, sockets)));
  return await new Promise((resolve, reject) => {
    let due = 0;
    const startedAt = performance.now();
    const end = (): void => {
      resolve({
        kind: "done",
        answered: latenciesUs.length,
        failures,
        p50Us: percentile(latenciesUs, 0.5),
        p99Us: percentile(latenciesUs, 0.99),
        longestUs: percentile(latenciesUs, 1),
      });
    };
    const open = (socket: Socket): Client => {
      let dueAt = 0;
      const client: Client = {
        send(at) {
          dueAt = at;
          socket.write(nextRequest());
        },
      };
      const reader = createResponseReader((status) => {
        latenciesUs.push((performance.now() - dueAt) * 1e3);
        if (!isGood(status)) failures += 1;
        const next = waiting.shift();
        if (next === undefined) idle.push(client);
        else client.send(next);
        if (latenciesUs.length === total) end();
      });
      socket.on("data", (piece: Buffer) => {
        try {
          reader.push(piece);
        } catch (error) {
          reject(error);
        }
      });
      socket.on("error", reject);
      socket.on("close", () => reject(new Error("the server closed a connection")));
      return client;
    };
    idle.push(...opened.map(open));
    pacer.on("error", reject);
    pacer.on("message", () => {
      const now = performance.now();
      if (now - startedAt > job.seconds * 1e3 + END_LIMIT_MS) {
        reject(new Error(`${total - latenciesUs.length} of ${total} requests had no answer in time`));
        return;
      }
      const wanted = Math.min(total, Math.floor(((now - startedAt) * job.perSecond) / 1e3));
      for (; due < wanted; due += 1) {
        // The longest idle one, since a server closes a connection without traffic.
        const client = idle.shift();
        if (client === undefined) waiting.push(now);
        else client.send(now);
      }
    });
  });
}

/**
 * One node of a cluster, a process of its own: opens it and processes requests over the channel, one at a time. Its
 * clients write like the admin server, by `cluster.write` on the main thread. Times are in milliseconds, memory in
 * bytes. A failure is answered as `failed` with the reason.
 */

import { createReadStream, createWriteStream } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { pipeline } from "node:stream/promises";
import { type Cluster, type ClusterStatus, openCluster } from "../../../src/server/cluster/index.ts";
import type { OpenNode } from "../raft/nodes.ts";
import { endWithParent } from "./channel.ts";
import { keepBusy } from "./raft-busy.ts";
import { firstWrite, type LoadShape, runLoad, type WriteFigures } from "./raft-load.ts";

export type NodeQuestion =
  | { readonly kind: "open"; readonly options: OpenNode }
  | { readonly kind: "status" }
  /** Writes until `count` are done or `seconds` have passed, whichever is first. */
  | { readonly kind: "load"; readonly shape: LoadShape }
  /** Retries until a write is accepted. */
  | { readonly kind: "first-write" }
  | { readonly kind: "barrier" }
  | { readonly kind: "save"; readonly path: string }
  | { readonly kind: "restore"; readonly path: string }
  /** Simulates the data plane: a server, and jobs that keep the thread pool busy. Answers with the port; 0 ends it. */
  | { readonly kind: "busy"; readonly poolJobs: number }
  | { readonly kind: "memory" }
  | { readonly kind: "close" };

export type NodeAnswer =
  /** `ms` is the duration in the process; `longestTurnMs` the longest time the main thread was blocked meanwhile. */
  | { readonly kind: "done"; readonly ms: number; readonly longestTurnMs: number; readonly value: NodeValue }
  | { readonly kind: "failed"; readonly reason: string };

interface NodeValue {
  readonly status?: ClusterStatus;
  readonly figures?: WriteFigures;
  readonly rows?: number;
  readonly port?: number;
  readonly bytes?: number;
  readonly heapBytes?: number;
  readonly externalBytes?: number;
}

const TIMEOUT_MS = 30_000;
const BY = { iss: "local", sub: "bench" } as const;
const NOTHING = { debug() {}, info() {}, warn() {}, error() {} };

let cluster: Cluster | undefined;
const busy = keepBusy();

endWithParent();
// Exits itself and not by the signal, so that a profile is written.
process.on("SIGTERM", () => process.exit(0));
process.on("message", (question: NodeQuestion) => {
  void answer(question).then((it) => process.send?.(it));
});

async function answer(question: NodeQuestion): Promise<NodeAnswer> {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const startedAt = performance.now();
  try {
    const value = await perform(question);
    const ms = performance.now() - startedAt;
    delay.disable();
    return { kind: "done", ms, longestTurnMs: delay.max / 1e6, value };
  } catch (error) {
    return { kind: "failed", reason: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

async function perform(question: NodeQuestion): Promise<NodeValue> {
  switch (question.kind) {
    case "open":
      cluster = await openCluster({ ...question.options, log: NOTHING });
      return { status: cluster.status() };
    case "busy":
      return { port: await busy(question.poolJobs) };
    case "memory": {
      globalThis.gc?.();
      const { heapUsed, external } = process.memoryUsage();
      return { heapBytes: heapUsed, externalBytes: external };
    }
    default:
      break;
  }
  if (cluster === undefined) throw new Error("the node is not open");
  switch (question.kind) {
    case "status":
      return { status: cluster.status(), rows: [...cluster.view.scan("key/")].length };
    case "load":
      return { figures: await runLoad(cluster, question.shape) };
    case "first-write":
      await firstWrite(cluster);
      return {};
    case "barrier":
      await cluster.readBarrier({ timeoutMs: TIMEOUT_MS });
      return {};
    case "save": {
      const saved = await cluster.saveSnapshot({ stale: true, signal: AbortSignal.timeout(TIMEOUT_MS) });
      const file = createWriteStream(question.path);
      await pipeline(saved.archive, file);
      return { bytes: file.bytesWritten };
    }
    case "restore": {
      const restored = await cluster.restore(createReadStream(question.path), { by: BY, timeoutMs: 60_000 });
      return { bytes: restored.size };
    }
    case "close":
      await cluster.close();
      cluster = undefined;
      return {};
    default:
      return question satisfies never;
  }
}

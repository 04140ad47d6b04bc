/** Clients of a node: each writes, waits for the answer and writes again. Latencies in milliseconds. */

import { hash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "../../../src/server/cluster/index.ts";
import { percentile } from "../statistics.ts";

export interface LoadShape {
  /** `suspension` rewrites rows of about 1 KB each; `key` adds a key with each write. */
  readonly what: "suspension" | "key";
  readonly clients: number;
  readonly seconds: number;
  readonly count: number;
}

export interface WriteFigures {
  readonly writes: number;
  readonly seconds: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly longestMs: number;
}

interface Command {
  readonly t: string;
  readonly p: unknown;
}

const BY = { iss: "local", sub: "bench" } as const;
const TIMEOUT_MS = 30_000;
const RETRY_TIMEOUT_MS = 1_000;

const REASON = "r".repeat(900);
/** With its digest, name and two rows such a key takes some 670 bytes: 100,000 of them are 64 MiB. */
const METADATA_BYTES = 330;

const suspension = (number: number): Command => ({
  t: "suspension.put",
  p: { kind: "provider", name: `provider-${number % 64}`, reason: REASON, duration_ms: null },
});

const key = (number: number): Command => {
  const digits = String(number).padStart(8, "0");
  // Hex of digests, so that it compresses no better than human text.
  const hex = Array.from({ length: 6 }, (_, part) => hash("sha256", `${number} ${part}`, "hex"));
  const metadata = { purpose: hex.join("").slice(0, METADATA_BYTES) };
  const id = `k${digits}`;
  const digest = hash("sha256", id, "hex");
  return {
    t: "key.create",
    p: { id, name: `key-${digits}`, profile: null, metadata, digest, expires_in_ms: null },
  };
};

export async function runLoad(cluster: Cluster, { what, clients, seconds, count }: LoadShape): Promise<WriteFigures> {
  const make = what === "key" ? key : suspension;
  const latencies: number[] = [];
  let begun = 0;
  const startedAt = performance.now();
  const until = startedAt + seconds * 1_000;
  const client = async (): Promise<void> => {
    while (begun < count) {
      const command = make(begun);
      begun += 1;
      const sentAt = performance.now();
      if (sentAt >= until) return;
      const result = await cluster.write(command, { by: BY, timeoutMs: TIMEOUT_MS });
      if (result.kind === "refused") throw new Error(`a write was refused: ${result.message}`);
      latencies.push(performance.now() - sentAt);
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  const passed = (performance.now() - startedAt) / 1_000;
  return {
    writes: latencies.length,
    seconds: passed,
    perSecond: latencies.length / passed,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    longestMs: percentile(latencies, 1),
  };
}

/** Retries at every refusal, like a persistent client. */
export async function firstWrite(cluster: Cluster): Promise<void> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  for (;;) {
    signal.throwIfAborted();
    try {
      await cluster.write(suspension(0), { by: BY, timeoutMs: RETRY_TIMEOUT_MS, signal });
      return;
    } catch (error) {
      if (signal.aborted) throw error;
      await sleep(5);
    }
  }
}

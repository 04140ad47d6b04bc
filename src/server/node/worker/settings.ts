/** What a worker is told once, and the bounds that it gets its share of. */
import { availableParallelism } from "node:os";
import type { NodeFile } from "../../core/config/index.ts";
import type { BuildInfo } from "../../telemetry/index.ts";
import { ConfigurationRefused } from "../refused.ts";
import type { DataPlaneBounds } from "../start.ts";

/** As JSON. Holds keys of the deployment: never to be logged. */
export interface WorkerSettings {
  readonly number: number;
  readonly nodeFile: NodeFile;
  /** Of the node file. */
  readonly path: string;
  readonly build: BuildInfo;
  readonly version: string;
  readonly nodeId: string;
  /** Undefined: the deployment has no secret. Keys in base64. */
  readonly keys: readonly { readonly id: string; readonly key: string }[] | undefined;
  readonly current: string | undefined;
  readonly hasDoor: boolean;
  readonly bounds: DataPlaneBounds;
  readonly metricsAddress: string | undefined;
  /** Where the node accepts for the data plane: `host:port`, and the port. */
  readonly address: string;
  readonly port: number;
  /** `host:port` of the node's other listeners. */
  readonly otherListeners: readonly string[];
}

export const MAX_WORKERS = 64;

/** Of `auto`: what more gain is not worth the memory of. */
const MAX_AUTO = 8;

/** Processes of the data plane; 1: it is served by the node's own. Throws `ConfigurationRefused`. */
export function workersIn(env: Readonly<Record<string, string | undefined>>): number {
  const text = env["GATEWAY_WORKERS"] ?? "";
  if (text === "") return 1;
  if (text === "auto") return Math.min(availableParallelism(), MAX_AUTO);
  if (/^[1-9]\d?$/.test(text) && Number(text) <= MAX_WORKERS) return Number(text);
  throw new ConfigurationRefused([
    `GATEWAY_WORKERS: expected a number of processes from 1 to ${MAX_WORKERS}, or auto, found ${JSON.stringify(text)}`,
  ]);
}

/** Bounds are those of the node: each gets its share, rounded up. */
export function shareOf(bounds: DataPlaneBounds & DefaultBounds, count: number): DataPlaneBounds {
  const { maxInFlight, maxBufferedBytes, responsesMemory } = bounds;
  const share = (total: number): number => Math.ceil(total / count);
  return {
    drainMs: bounds.drainMs,
    usageEveryMs: bounds.usageEveryMs,
    nameServers: bounds.nameServers,
    maxInFlight: share(maxInFlight),
    maxBufferedBytes: share(maxBufferedBytes),
    responsesMemory: share(responsesMemory),
  };
}

interface DefaultBounds {
  readonly maxInFlight: number;
  readonly maxBufferedBytes: number;
  readonly responsesMemory: number;
}

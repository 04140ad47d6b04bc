/** Settings that a worker receives once, and the number of workers. */
import { allottedCores, allottedMemoryBytes } from "../../../base/index.ts";
import type { NodeFile } from "../../core/config/index.ts";
import { DEFAULT_MEMORY_BYTES } from "../../dataplane/index.ts";
import { DEFAULT_ADMISSION, maxUnusedBytesOf } from "../../memory/index.ts";
import type { BuildInfo } from "../../telemetry/index.ts";
import type { IntakeAddress } from "../../workers/index.ts";
import { ConfigurationRefused, readCount } from "../configuration/environment-settings.ts";
import type { DataPlaneBounds } from "../start.ts";

/** Settings in the form in which they are sent, as JSON. They contain keys of the deployment and must never be logged. */
export interface WorkerSettings {
  readonly number: number;
  readonly nodeFile: NodeFile;
  /** Path of the node file. */
  readonly path: string;
  readonly build: BuildInfo;
  readonly version: string;
  readonly nodeId: string;
  /** Keys in base64; `undefined` if the deployment has no secret. */
  readonly keys: readonly { readonly id: string; readonly key: string }[] | undefined;
  readonly current: string | undefined;
  readonly hasTls: boolean;
  readonly bounds: DataPlaneBounds;
  /** Number of detector threads for long texts. */
  readonly scanThreads: number;
  readonly metricsAddress: string | undefined;
  /** Address that audit records are sent to. */
  readonly intake: IntakeAddress;
  /** Address at which the node accepts for the data plane: `host:port`, and the port. */
  readonly address: string;
  readonly port: number;
  /** `host:port` of the node's other listeners. */
  readonly otherListeners: readonly string[];
}

const MAX_WORKERS = 64;

/** Maximum of `auto`: further workers gain too little for their memory. */
const MAX_AUTO_WORKERS = 8;
/**
 * Memory in bytes of the program beside what requests hold, with detector threads that read long texts full of findings; and of
 * each further data plane process.
 */
const PROGRAM_MEMORY_BYTES = 320 * 2 ** 20;
const WORKER_MEMORY_BYTES = 128 * 2 ** 20;

/** Returns the number of data plane processes; 1 means that the node process serves itself. Throws `ConfigurationRefused`. */
export function readWorkerCount(
  env: Readonly<Record<string, string | undefined>>,
  { cores = allottedCores(), memory = allottedMemoryBytes() } = {},
): number {
  const text = env["GATEWAY_WORKERS"] ?? "";
  // Memory limits the number, so that the kernel does not kill a small container.
  if (text === "" || text === "auto") {
    const room = Math.floor((memory - requiredMemoryBytes(env, 1)) / WORKER_MEMORY_BYTES);
    return Math.max(1, Math.min(cores, MAX_AUTO_WORKERS, room));
  }
  if (/^[1-9]\d?$/.test(text) && Number(text) <= MAX_WORKERS) return Number(text);
  throw new ConfigurationRefused([
    `GATEWAY_WORKERS: expected a number of processes from 1 to ${MAX_WORKERS}, or auto, found ${JSON.stringify(text)}`,
  ]);
}

/** Returns the memory in bytes that a node with this many processes needs, including buffers of requests. */
export function requiredMemoryBytes(env: Readonly<Record<string, string | undefined>>, workers: number): number {
  const held = readCount(env, "GATEWAY_MAX_BUFFERED_BYTES") ?? DEFAULT_ADMISSION.maxBufferedBytes;
  return programBytes(workers) + held + maxUnusedBytesOf(held);
}

/** Returns the memory in bytes that a node with this many processes needs beside what it holds for requests. */
export const programBytes = (workers: number): number =>
  PROGRAM_MEMORY_BYTES + (workers === 1 ? 0 : workers * WORKER_MEMORY_BYTES);

/** Minimum number of scanning threads: one for long texts, one for shorter ones. */
const MIN_SCAN_THREADS = 2;
const SCAN_THREADS = 4;

export const scanThreadsOf = (count: number): number => Math.max(MIN_SCAN_THREADS, Math.ceil(SCAN_THREADS / count));

/**
 * Returns the limits of one of `count` processes. The memory for responses is divided, rounded up; requests in progress share
 * one limit (`sendReservations`).
 */
export const boundsOf = (bounds: DataPlaneBounds, count: number): DataPlaneBounds => ({
  drainMs: bounds.drainMs,
  usageEveryMs: bounds.usageEveryMs,
  heartbeatMs: bounds.heartbeatMs,
  nameServers: bounds.nameServers,
  corsOrigins: bounds.corsOrigins,
  maxInFlight: bounds.maxInFlight,
  maxBufferedBytes: bounds.maxBufferedBytes,
  processes: count,
  rehearsalMemory: bounds.rehearsalMemory,
  responsesMemory: Math.ceil((bounds.responsesMemory ?? DEFAULT_MEMORY_BYTES) / count),
});

import type { Socket } from "node:net";
import type { Instruments, Log } from "../../../base/index.ts";
import type { Channel } from "../channel/index.ts";

/** Process of the data plane, as the node process sees it. */
export interface Worker {
  /** Number of the worker, from 1. A replacement keeps the number. */
  readonly number: number;
  readonly pid: number;
  readonly channel: Channel;
  /** Returns the last heartbeat, which is sent each second. */
  lastHeartbeat(): Heartbeat | undefined;
  /** Hands over a connection from which no byte was read. */
  handOver(connection: Socket): Promise<Handover>;
  /** Asks a worker that does not acknowledge its last connection to report whether it has arrived. */
  probeHandover(): void;
  /** Must be called when the worker serves. From then on it sends a heartbeat each second. */
  markServing(): void;
  /** Kills the process immediately. Another one replaces it. */
  kill(reason: string): void;
  /** Resolves once the process has ended and all its output was read, with its signal or exit status. */
  readonly ended: Promise<string>;
}

/**
 * Outcome of handing over a connection. `lost`: the process had no descriptor for it. `gone`: the process ended without having
 * taken it.
 */
export type Handover = "taken" | "lost" | "gone";

/** Heartbeat of a worker, sent each second. The totals only grow, and count from the worker's start. */
export interface Heartbeat {
  readonly connections: number;
  readonly requests: number;
  readonly inFlight: number;
  /** Servers of the pools by provider. */
  readonly members: Readonly<Record<string, unknown>>;
}

export interface SupervisorOptions {
  /** URL of the worker's program. */
  readonly program: URL;
  readonly count: number;
  /** Version of the gateway. A worker with another version is refused. */
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Prepares a worker to serve. If it rejects, the worker is killed and replaced. */
  prepare(worker: Worker, signal: AbortSignal): Promise<void>;
  /** Called for a worker for which `prepare` was called, once all its output was read. */
  onEnd(worker: Worker): void;
  /** Returns the time in milliseconds since 1970. */
  readonly now: () => number;
  readonly instruments: Instruments;
  readonly log: Log;
  /** Reasons why the node is not ready. */
  readonly reasons: Set<string>;
}

/** Status of the data plane's processes. */
export interface WorkersStatus {
  /** Configured number of workers. */
  readonly wanted: number;
  readonly serving: number;
  /** Number of replacements since the node process began. */
  readonly restarts: number;
  /** Number of workers that ended unexpectedly in the last 15 minutes. */
  readonly recentEnds: number;
  /**
   * Last worker that ended unexpectedly; `undefined` if none has. `at`: milliseconds since 1970. `by`: signal, exit status or
   * reason.
   */
  readonly lastEnd: { readonly at: number; readonly by: string } | undefined;
}

export interface Supervisor {
  status(): WorkersStatus;
  /** Returns the workers that serve. */
  serving(): readonly Worker[];
  /** Stops replacing workers. */
  stopReplacing(): void;
  /** Kills the remaining workers. */
  close(): Promise<void>;
}

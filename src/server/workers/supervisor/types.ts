import type { Socket } from "node:net";
import type { Instruments, Log } from "../../../base/index.ts";
import type { Channel } from "../channel/index.ts";

/** A process of the data plane, as seen by its node process. */
export interface Worker {
  /** Number from 1; a replacement keeps the number. */
  readonly number: number;
  readonly pid: number;
  readonly channel: Channel;
  /** Returns its last heartbeat, sent each second. */
  beat(): Beat | undefined;
  /** Hands over a connection of which no byte was read. */
  take(connection: Socket): Promise<Handover>;
  /** Makes a process that does not acknowledge its last connection report whether that has arrived. */
  wonder(): void;
  /** Called when it serves: from here on it sends a heartbeat each second. */
  serves(): void;
  /** Kills the process immediately; another replaces it. */
  kill(why: string): void;
  /** Resolves once the process has ended and all its output was read, with its signal or exit status. */
  readonly gone: Promise<string>;
}

/** `lost` means that the process had no descriptor for the connection, `gone` that it ended without having taken it. */
export type Handover = "taken" | "lost" | "gone";

/** Heartbeat of a worker, sent each second. Totals since its start only grow. */
export interface Beat {
  readonly connections: number;
  readonly requests: number;
  readonly inFlight: number;
  /** Servers of the pools, by provider. */
  readonly members: Readonly<Record<string, unknown>>;
}

export interface SupervisorOptions {
  /** Program of a worker. */
  readonly program: URL;
  readonly count: number;
  /** Version of the gateway: a worker of another is refused. */
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Prepares a worker to serve. If it rejects, the worker is killed and replaced. */
  begin(worker: Worker, signal: AbortSignal): Promise<void>;
  /** Called for a worker that was begun, once all its output was read. */
  onGone(worker: Worker): void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly instruments: Instruments;
  readonly log: Log;
  /** Readiness reasons. */
  readonly reasons: Set<string>;
}

/** Status of the data plane's processes. */
export interface Standing {
  /** Configured number of workers. */
  readonly wanted: number;
  readonly serving: number;
  /** Number of replacements since the node process began. */
  readonly restarts: number;
  /**
   * Last worker that ended without being asked to; `undefined` if none has. `at` is in milliseconds since 1970; `by` is a
   * signal, an exit status or a reason.
   */
  readonly lastEnd: { readonly at: number; readonly by: string } | undefined;
}

export interface Supervisor {
  standing(): Standing;
  /** Returns the workers that serve. */
  serving(): readonly Worker[];
  /** Stops replacing workers. */
  stopping(): void;
  /** Kills the remaining workers. */
  close(): Promise<void>;
}

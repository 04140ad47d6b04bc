import type { Socket } from "node:net";
import type { Instruments, Log } from "../../../base/index.ts";
import type { Channel } from "../channel/index.ts";

/** A process of the data plane, as its node process has it. */
export interface Worker {
  /** 1 and up; one that takes the place of another has its number. */
  readonly number: number;
  readonly pid: number;
  readonly channel: Channel;
  /** Returns its last heartbeat, sent each second. */
  beat(): Beat | undefined;
  /** A connection of which no byte was read. */
  take(connection: Socket): Promise<Handover>;
  /** Makes a process that does not acknowledge its last connection report whether that has arrived. */
  wonder(): void;
  /** Called when it serves: from here on it sends a heartbeat each second. */
  serves(): void;
  /** Kills the process immediately; another replaces it. */
  kill(why: string): void;
  /** Resolves once the process has ended and all that it wrote was taken: with the signal or the status that it ended by. */
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
  /** Brings one to where it serves. Rejects: it is ended, and another is tried. */
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
  /** How many there are to be. */
  readonly wanted: number;
  readonly serving: number;
  /** Times that one was to take the place of another, since the node process began. */
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
  /** Ends what is left. */
  close(): Promise<void>;
}

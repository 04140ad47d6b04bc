import type { Socket } from "node:net";
import type { Instruments, Log } from "../../../base/index.ts";
import type { Channel } from "../channel/index.ts";

/** A process of the data plane, as its node process has it. */
export interface Worker {
  /** 1 and up; one that takes the place of another has its number. */
  readonly number: number;
  readonly pid: number;
  readonly channel: Channel;
  /** What it said of itself last, each second. */
  beat(): Beat | undefined;
  /** A connection of which no byte was read. */
  take(connection: Socket): Promise<Handover>;
  /** Has a process that says nothing of what it was handed last tell whether that has come. */
  wonder(): void;
  /** It was brought to serve: from here on it gives a sign of life each second. */
  serves(): void;
  /** At once; another takes its place. */
  kill(why: string): void;
  /** Resolves once the process has ended and all that it wrote was taken: with the signal or the status that it ended by. */
  readonly gone: Promise<string>;
}

/** `lost`: the process had no descriptor for it, and `gone`: it ended, without having taken it. */
export type Handover = "taken" | "lost" | "gone";

/** What a worker tells each second. Numbers since its start only grow. */
export interface Beat {
  readonly connections: number;
  readonly requests: number;
  readonly inFlight: number;
  /** Servers of the pools, by provider. */
  readonly members: Readonly<Record<string, unknown>>;
}

export interface SupervisorOptions {
  /** What a worker runs. */
  readonly program: URL;
  readonly count: number;
  /** Of the gateway: a worker of another is refused. */
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Brings one to where it serves. Rejects: it is ended, and another is tried. */
  begin(worker: Worker, signal: AbortSignal): Promise<void>;
  /** Of one that was begun, once all that it wrote was taken. */
  onGone(worker: Worker): void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly instruments: Instruments;
  readonly log: Log;
  /** Of readiness. */
  readonly reasons: Set<string>;
}

/** How the processes of the data plane stand. */
export interface Standing {
  /** How many there are to be. */
  readonly wanted: number;
  readonly serving: number;
  /** Times that one was to take the place of another, since the node process began. */
  readonly restarts: number;
  /** Of one that ended by itself; undefined: none has. `at`: milliseconds since 1970; `by`: a signal, a status or why. */
  readonly lastEnd: { readonly at: number; readonly by: string } | undefined;
}

export interface Supervisor {
  standing(): Standing;
  /** Those that serve. */
  serving(): readonly Worker[];
  /** From here on none is replaced. */
  stopping(): void;
  /** Ends what is left. */
  close(): Promise<void>;
}

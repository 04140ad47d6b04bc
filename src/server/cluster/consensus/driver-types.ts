/**
 * The driver between the consensus core and the world: it orders what a `Ready` asks for (persist, then send, then
 * apply), keeps one write in flight and gathers what comes meanwhile into the next, and answers proposals and reads.
 * Synchronous; it learns of ended writes by callbacks. The same code runs over a real disk and in the simulator.
 */

import type {
  ConfChange,
  Configuration,
  Entry,
  Message,
  RaftOptions,
  RaftStatus,
  SnapshotMeta,
} from "../../core/raft/index.ts";
import type { CommandResult } from "../../core/state/index.ts";
import type { LogWrite } from "../storage/types.ts";

/** How a proposal ended. `unknown`: it may or may not be applied, now or later; ask again under the same sequence. */
export type WriteOutcome =
  | { readonly kind: "applied"; readonly index: number; readonly result: CommandResult | undefined }
  | { readonly kind: "not-leader"; readonly lead: string | undefined }
  | { readonly kind: "refused"; readonly code: "busy" | "no_leader" | "disk_low" | "change_pending" | "invalid" }
  | { readonly kind: "unknown" };

export type ReadOutcome =
  | { readonly kind: "readable"; readonly index: number }
  /** The leader is unknown, changed or silent: ask again. */
  | { readonly kind: "unknown" };

export interface DriverPorts {
  /** Starts one write; `done` once durable. Never called again before. A failed write ends the process instead. */
  write(write: LogWrite, done: () => void): void;
  /**
   * Begins to install a received snapshot as state and log; calls `done` once it is durable and loaded. A write and an
   * installation never overlap.
   */
  install(
    snapshot: SnapshotMeta,
    hardState: { readonly term: number; readonly vote: string | undefined; readonly commit: number },
    done: () => void,
  ): void;
  send(message: Message): void;
  /** A MsgSnap is a transfer: the port sends the file and reports by `reportSnapshot`. */
  sendSnapshot(message: Message): void;
  /** Applies one committed entry; for a change of configuration with the configuration that it made. */
  apply(
    entry: Entry,
    change: { readonly change: ConfChange; readonly configuration: Configuration } | undefined,
  ): CommandResult | undefined;
  /** Returns false while the state's disk is too far behind; call `resume()` afterwards. */
  mayApply(): boolean;
  /** Role, leader or term changed. */
  onStatus(status: RaftStatus): void;
}

export interface DriverOptions extends Omit<RaftOptions, "id"> {
  readonly id: string;
  /** Maximum size of one write. */
  readonly maxBatchEntries: number;
  readonly maxBatchBytes: number;
}

export interface Driver {
  receive(message: Message): void;
  tick(): void;
  /** `done` is called once, maybe at once. `data` is an encoded proposal. */
  propose(data: Uint8Array, done: (outcome: WriteOutcome) => void): void;
  /**
   * Proposes a configuration change. `applied` is reported once it is applied, or for an automatic joint change once it was
   * left.
   */
  proposeConf(change: ConfChange, done: (outcome: WriteOutcome) => void): void;
  read(done: (outcome: ReadOutcome) => void): void;
  transferLeader(to: string): void;
  campaign(): void;
  /** See `Raft.setReluctant`. */
  setReluctant(isReluctant: boolean): void;
  reportUnreachable(id: string): void;
  reportSnapshot(id: string, isInstalled: boolean): void;
  /** Several inputs at once: what they ask for is done once, at the end. */
  batch(run: () => void): void;
  /** A compaction or a snapshot happened, or `mayApply` became true. */
  resume(): void;
  status(): RaftStatus;
  /** Ends all waiting requests as `unknown`. Nothing is called afterwards. */
  stop(): void;
}

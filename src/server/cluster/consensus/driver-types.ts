/**
 * Driver of the consensus core: carries out a `Ready` in order (persist, then send, then apply), keeps one write in flight and
 * combines later ones into the next, and answers proposals and reads. It is synchronous; callbacks report ended writes. The same
 * code runs over a real disk and in the simulator.
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

/** Outcome of a proposal. `unknown`: it may be applied now, later or never; repeat it with the same sequence number. */
export type WriteOutcome =
  | { readonly kind: "applied"; readonly index: number; readonly result: CommandResult | undefined }
  | { readonly kind: "not-leader"; readonly lead: string | undefined }
  | { readonly kind: "refused"; readonly code: "busy" | "no_leader" | "disk_low" | "change_pending" | "invalid" }
  | { readonly kind: "unknown" };

export type ReadOutcome =
  | { readonly kind: "readable"; readonly index: number }
  /** The leader is unknown, changed or silent; repeat the read. */
  | { readonly kind: "unknown" };

export interface DriverPorts {
  /**
   * Starts one write and calls `done` once it is durable. Not called again before that. A failed write ends the process instead.
   */
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
  /** Starts the transfer of a MsgSnap: sends the file, and reports by `reportSnapshot`. */
  sendSnapshot(message: Message): void;
  /**
   * Applies one committed entry; `change`: a change of configuration and the configuration after it, which has no result.
   * `preparing`: the entry takes long and is not applied yet. Call `resume()` once it is prepared; the entry is then passed again.
   */
  apply(
    entry: Entry,
    change: { readonly change: ConfChange; readonly configuration: Configuration } | undefined,
  ): CommandResult | undefined | "preparing";
  /**
   * Returns whether entries may be applied: false while the state's disk is too far behind. Call `resume()` when that has
   * changed.
   */
  mayApply(): boolean;
  /** Called when role, leader or term changed. */
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
  /** Proposes an encoded entry. `done` is called once, possibly at once. */
  propose(data: Uint8Array, done: (outcome: WriteOutcome) => void): void;
  /**
   * Proposes a configuration change. Reports `applied` once it is applied; for an automatic joint change, once the joint
   * configuration was left.
   */
  proposeConf(change: ConfChange, done: (outcome: WriteOutcome) => void): void;
  read(done: (outcome: ReadOutcome) => void): void;
  transferLeader(to: string): void;
  campaign(): void;
  /** See `Raft.setReluctant`. */
  setReluctant(isReluctant: boolean): void;
  reportUnreachable(id: string): void;
  reportSnapshot(id: string, isInstalled: boolean): void;
  /** Runs several inputs and carries out what they require once, at the end. */
  batch(run: () => void): void;
  /** Continues after a compaction or a snapshot, after `mayApply` became true, or after an entry was prepared. */
  resume(): void;
  status(): RaftStatus;
  /** Ends all waiting requests as `unknown`. Nothing is called afterwards. */
  stop(): void;
}

/**
 * Interface of the replicated state machine: rows of text under text keys, changed only by commands of the log.
 *
 * Every replica applies the same entries in the same order and has the same bytes. The code reads no clock, draws no random
 * number, does not await, and iterates only in key order. Source: cluster reference, section 6.
 */

import type { Steps } from "./steps.ts";

/** Change of a row. Keys are ASCII, at most 512 bytes, compared by code unit. A value is one schema character, then JSON. */
export interface Mutation {
  readonly key: string;
  /** New value; `undefined` removes the row. */
  readonly value: string | undefined;
}

/** Position of the state machine. `now` is the highest time stamped so far, in milliseconds since 1970. */
export interface Applied {
  readonly index: number;
  readonly term: number;
  readonly now: number;
}

/** Result of a command: part of the state, equal on every replica. `error` is a stable code, `message` a fixed text. */
export type CommandResult =
  | { readonly kind: "ok"; readonly value: unknown }
  | { readonly kind: "refused"; readonly code: string; readonly message: string };

/** Committed entry of the log, without fields that only consensus needs. */
export interface CommittedEntry {
  readonly index: number;
  readonly term: number;
  /** Result of `encodeProposal`; empty in a leader's first entry. */
  readonly data: Uint8Array;
}

export interface ApplyOutcome {
  /** Result of the command; `undefined` for an entry without one. */
  readonly result: CommandResult | undefined;
  /** Changed rows in key order, at most one per key. */
  readonly mutations: readonly Mutation[];
  /** All rows that replaced the earlier ones (a restore), in key order and before `mutations`; `undefined` for other commands. */
  readonly replacement: readonly (readonly [key: string, value: string])[] | undefined;
}

/** Originator, for audit records: `{"iss":"local","sub":"unix:0"}`. */
export interface Actor {
  readonly iss: string;
  readonly sub: string;
}

/**
 * Command, encoded once by its proposer: `t` is its name, `p` its fields, `v` its version. `c` and `s` make it exactly-once: a
 * process draws `c` at its start and counts `s` up from 1. `k` is the idempotency key of an admin caller, `<principal>/<key>`,
 * and `kd` the digest of the request, so that another request under the key is refused.
 */
export interface Command {
  readonly v: number;
  readonly t: string;
  readonly id: string;
  readonly c: string;
  readonly s: number;
  readonly by: Actor;
  readonly k?: string;
  readonly kd?: string;
  readonly p: unknown;
}

/** Feature levels that this build supports; see `feat/level`. */
export interface FeatureRange {
  readonly min: number;
  readonly max: number;
}

/** State machine with one owner; methods are synchronous. */
export interface State {
  readonly applied: Applied;
  /**
   * 32 hex digits: XOR over all rows of the first 16 bytes of SHA-256(key 0x00 value). Equal on all replicas at the same index.
   */
  readonly digest: string;
  /** Time at which the last entry was decided; behind `applied.now` if the log is ahead of the members' clocks. */
  readonly decidedAt: number;
  readonly rowCount: number;
  /** Sum of the lengths of keys and values, in UTF-16 units. */
  readonly byteLength: number;
  get(key: string): string | undefined;
  /** Returns the rows whose key begins with `prefix`, in key order; only those after the key `after`, if given. */
  scan(prefix: string, after?: string): Iterable<readonly [key: string, value: string]>;
  /**
   * Applies an entry. Entries must follow each other without gaps; otherwise a `RangeError` is thrown. Throws `UpgradeRequired`
   * for a command, version, format or feature level that this build does not know, since continuing would fork the state. After
   * an error the state is unchanged.
   */
  apply(entry: CommittedEntry): ApplyOutcome;
  /**
   * Applies an entry like `apply`, but returns the steps of a long one (a restore). They prepare the new state beside the current
   * one, and their result is the function that puts it in place. No other entry may be applied before that.
   */
  applyOrPrepare(entry: CommittedEntry): ApplyOutcome | Steps<() => ApplyOutcome>;
  /** Applies an entry that changed the configuration. `context` is the context of the change, a JSON object with the list `added`. */
  applyConfiguration(entry: CommittedEntry, context: Uint8Array, memberIds: readonly string[]): ApplyOutcome;
}

/** Member as the cluster knows it, row `member/<id>`. */
export interface Member {
  readonly id: string;
  /** Identity of its data directory, 32 hex digits; empty until the member first reported it. */
  readonly storage: string;
  readonly raft_addr: string;
  readonly forward_addr: string;
  readonly version: string;
  readonly proto: readonly [min: number, max: number];
  readonly feature: readonly [min: number, max: number];
  /** Number that grows at every start of its process. */
  readonly incarnation: number;
}

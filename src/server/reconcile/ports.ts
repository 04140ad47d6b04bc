/** Ports that reconciliation needs from the node; `node/` provides them. */
import type { GuardedAnswer, GuardedRequest } from "../credentials/index.ts";
import type { MeteredUsage, Verdict } from "./judge/judge-usage.ts";
import type { Fields } from "./judge/ledger-entry.ts";

/** Row of the replicated ledger. */
export interface LedgerRow {
  /** Day, such as `2026-11-20`, or `round`. */
  readonly day: string;
  /** Name of the provider. */
  readonly id: string;
  readonly fields: Fields;
  readonly rev: number;
  /** Time of writing, in milliseconds since 1970. */
  readonly at: number;
}

/** Row to write. `seen`: revision of the row to replace; 0 if there must be none. */
export interface LedgerPut extends Pick<LedgerRow, "day" | "id" | "fields"> {
  readonly seen: number;
}

/** Rows of the ledger. Writes reject like those of the cluster. */
export interface LedgerRows {
  all(): Iterable<LedgerRow>;
  keyOf(day: string, provider: string): string;
  /** Registers a listener; `changes` is `undefined` if any row may have changed. Returns a function that removes it. */
  onChange(listener: (changes: readonly LedgerChange[] | undefined) => void): () => void;
  /**
   * Writes up to `MAX_PUT_ROWS` rows. Returns the indices of rows that were not written, since their stored revision was not
   * `seen`.
   */
  put(rows: readonly LedgerPut[], signal: AbortSignal): Promise<readonly number[]>;
  /** Deletes days before `before`. Returns whether there are more. */
  deleteDaysBefore(before: string, signal: AbortSignal): Promise<boolean>;
  /** Deletes the entry of a provider's last round. */
  deleteRound(provider: string, signal: AbortSignal): Promise<void>;
}

export interface LedgerChange {
  /** Result of `keyOf`. */
  readonly key: string;
  /** New row; `undefined` if it was removed. */
  readonly row: LedgerRow | undefined;
}

export const MAX_PUT_ROWS = 100;

export interface Leadership {
  /** Returns whether this node leads, and every node supports what it would write. */
  isLeader(): boolean;
  onChange(listener: () => void): () => void;
}

export interface Breach extends Verdict {
  readonly provider: string;
  readonly day: string;
  readonly scope: "organisation" | "keys";
  readonly unmeasured: number;
}

export interface ReconcilePorts {
  /** Id of this node. */
  readonly node: string;
  readonly rows: LedgerRows;
  readonly leadership: Leadership;
  /** Returns the usage metered on a UTC day; `undefined` if it is not known. */
  metered(provider: string, day: string): MeteredUsage | undefined;
  send(asked: GuardedRequest): Promise<GuardedAnswer>;
  /** Records a breach in the audit trail. Throws if that is not possible now. */
  record(breach: Breach): void;
}

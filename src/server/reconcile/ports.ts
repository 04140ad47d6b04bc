/** Ports that reconciliation needs from the node; `node/` provides them. */
import type { GuardedAnswer, GuardedRequest } from "../credentials/index.ts";
import type { Fields } from "./judge/entry.ts";
import type { Metered, Verdict } from "./judge/judge-usage.ts";

/** A row of the replicated ledger. */
export interface LedgerRow {
  /** `2026-11-20`, or `round`. */
  readonly day: string;
  /** Name of the provider. */
  readonly id: string;
  readonly fields: Fields;
  readonly rev: number;
  /** Time of writing, in milliseconds since 1970. */
  readonly at: number;
}

/** `seen`: revision of the row to replace; 0 if there must be none. */
export interface LedgerPut extends Pick<LedgerRow, "day" | "id" | "fields"> {
  readonly seen: number;
}

/** Writes reject as those of the cluster do. */
export interface LedgerRows {
  all(): Iterable<LedgerRow>;
  keyOf(day: string, provider: string): string;
  /** `undefined` changes: everything may be another. Returns the way to end it. */
  onChange(listener: (changes: readonly LedgerChange[] | undefined) => void): () => void;
  /** Answers the places of rows that were left as they are, since another was there than was seen. At most `MAX_PUT`. */
  put(rows: readonly LedgerPut[], signal: AbortSignal): Promise<readonly number[]>;
  /** Drops the days before. Answers whether there are more. */
  drop(before: string, signal: AbortSignal): Promise<boolean>;
  /** Drops what the last round of a provider came to. */
  forget(provider: string, signal: AbortSignal): Promise<void>;
}

export interface LedgerChange {
  /** Result of `keyOf`. */
  readonly key: string;
  /** `undefined` if it was removed. */
  readonly row: LedgerRow | undefined;
}

export const MAX_PUT = 100;

export interface Leading {
  /** Whether this node leads, and everybody could apply what it would write. */
  leads(): boolean;
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
  readonly leading: Leading;
  /** Usage metered on a UTC day; `undefined` if it is not known. */
  metered(provider: string, day: string): Metered | undefined;
  send(asked: GuardedRequest): Promise<GuardedAnswer>;
  /** Puts it on record. Throws where that cannot be done now. */
  record(breach: Breach): void;
}

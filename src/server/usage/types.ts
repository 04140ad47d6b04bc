/** Defines the functions of the cluster that the ledger needs. */

/** Fields of the command `used.add`, without the reporting process. */
export interface Report {
  readonly names: readonly string[];
  readonly rows: string;
  readonly metered: string;
}

/** Outcome of a report. `last`: number of the last report that was added. */
export type AddOutcome =
  | { readonly kind: "added" }
  | { readonly kind: "known"; readonly last: number }
  | { readonly kind: "refused"; readonly code: string };

/** Functions of the cluster that the ledger needs. */
export interface LedgerReports {
  /** Adds a report. Rejects if the outcome is unknown; the report may still be added later. */
  add(inc: number, seq: number, report: Report, signal: AbortSignal): Promise<AddOutcome>;
  /** Returns the incarnation: the number that the cluster gave this start of the process; 0 before it has one. */
  incarnation(): number;
  /** Registers a listener for changes of the incarnation. Returns a function that removes it. */
  onIncarnation(listener: () => void): () => void;
  /** Returns whether every member of the cluster supports the ledger (feature level 3). */
  takesReports(): boolean;
  /** Returns whether a leader is known. Without one, the final report may get no answer. */
  hasLeader(): boolean;
  /** Returns whether this node leads and the ledger has hours or days that are older than the retention period. */
  mustRollUp(): boolean;
}

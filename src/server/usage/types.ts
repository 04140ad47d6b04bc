/** Functions of the cluster that the ledger needs. */

/** Fields of the command `used.add` but for who reports. */
export interface Report {
  readonly names: readonly string[];
  readonly rows: string;
  readonly metered: string;
}

/** `last`: number of the report that was added last. */
export type AddOutcome =
  | { readonly kind: "added" }
  | { readonly kind: "known"; readonly last: number }
  | { readonly kind: "refused"; readonly code: string };

/** The cluster, as far as the ledger needs it. */
export interface LedgerReports {
  /** Rejects when what came of it is not known; it may yet be added then. */
  add(inc: number, seq: number, report: Report, signal: AbortSignal): Promise<AddOutcome>;
  /** Number of start of this process in the cluster; 0 while it has none. */
  incarnation(): number;
  /** Calls back when the number may be another. Gives the way to end it. */
  onIncarnation(listener: () => void): () => void;
  /** Every member of the cluster knows the ledger (feature level 3). */
  takesReports(): boolean;
  /** False: no leader is known, and a last report may wait for nobody. */
  hasLeader(): boolean;
  /** This node leads, and hours or days of the ledger are older than they are kept. */
  owesRolling(): boolean;
}

/** What the data plane tells of what was used, and what the ledger needs of the cluster. */
import type { Hop, MeteredKind } from "../core/state/index.ts";

/** Tokens; cached and newly cached ones are parts of the input, reasoning is a part of the output. */
export interface UsedTokens {
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheCreationInputTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

/** Names are as their owners wrote them: whatever they hold, and however long they are. */
export interface Use {
  readonly hop: Hop;
  /** Empty: nobody was recognised. */
  readonly caller: string;
  readonly profile: string;
  /** Provider, server or agent. */
  readonly provider: string;
  readonly model: string;
  readonly kind: MeteredKind;
  /** 1, or 0 of a part of a request. */
  readonly requests: number;
  readonly failed: number;
  /** Undefined: none was told. */
  readonly tokens: UsedTokens | undefined;
  /** Streams that ended before they had told all that they used. */
  readonly unmeasured: number;
  /** Cost units that a budget was charged. */
  readonly units: number;
}

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

/**
 * Budgets as requests use them: an allowance of this node is reserved before a request and charged as its usage becomes
 * known. Source: specification document 3 (`budgets[]`); cluster reference, section 7; design decisions, sections 6, 8.
 */
import type {
  BucketQuestion,
  BudgetRow,
  BudgetRule,
  GivenBack,
  PricedAt,
  Report,
  ReportAnswer,
  ShareName,
  TokenBounds,
  Usage,
} from "../../core/budgets/index.ts";

export interface Spending {
  readonly rule: BudgetRule;
  /** `bucketName(rule.name, rule.isShared, caller.principal)`. */
  readonly bucket: string;
  /** Requests that are likely to cost the same: profile, route, label of the model, size. Bounded by the configuration. */
  readonly like: string;
  /** The first provider that the request is to be sent to. */
  readonly at: PricedAt;
  /** `flat`: units that are known beforehand. `atLeast`: nobody can tell, and the answer may say nothing. */
  readonly demand:
    | { readonly kind: "tokens"; readonly bounds: TokenBounds }
    | { readonly kind: "flat"; readonly units: number }
    | { readonly kind: "atLeast"; readonly units: number };
}

/**
 * What one request holds of its bucket. Ended exactly once, by `settle`, `abort` or `release`; later calls do nothing.
 * Usage whose price cannot be told counts as usage that nobody told. A `flat` demand costs its units, whatever was used.
 */
export interface Charge {
  /** Units charged so far. */
  readonly spent: number;
  /** Units that were held at its admission. */
  readonly reserved: number;
  /** Units that it needed at its admission: at least, and by the bound of its cost. */
  readonly needed: { readonly least: number; readonly most: number };
  /** The attempt under way used this much so far, at the provider and model of the last `attempt`. */
  spend(usage: Usage): void;
  /** The next attempt begins, or the first; what the one before used stays charged. */
  attempt(at: PricedAt): void;
  /** The answer is complete. `undefined`: it told no usage although it should have; what was reserved is charged. */
  settle(usage: Usage | undefined): void;
  /** The answer is complete, and told of no usage where it need not: nothing is charged, and that is learned. */
  unused(): void;
  /** It told usage that cannot be: no less than what was reserved is charged, or `usage` where that costs more. */
  doubt(usage: Usage | undefined): void;
  /**
   * It broke off, or the client left: what is known is charged, else what was reserved, or `atLeast` where that costs more:
   * what was reserved may be an average, and a long answer is not to be had at its price.
   */
  abort(usage: Usage | undefined, atLeast?: Usage): void;
  /** The gateway's own timeout ended it before any byte of an answer: what its input was estimated at is charged. */
  timedOut(): void;
  /** No more was used than is charged. */
  release(): void;
}

/** A WebSocket session: a flat cost at its start, and beside it what its answers report. */
export interface SessionCharge {
  readonly spent: number;
  /** Units that its start costs. */
  readonly needed: Charge["needed"];
  /**
   * One more answer used this much; one whose price cannot be told costs as much as the session's start, and one whose
   * usage cannot be (`isDoubtful`) no less. `onBroken` follows, at most once, when the bucket has no more to give.
   */
  spend(usage: Usage, isDoubtful?: boolean): void;
  /** The session came to be and is over: its flat cost is charged too. */
  settle(): void;
  /** It never came to be. */
  release(): void;
}

export interface Budgets {
  /**
   * Answers at once while this node's allowance lasts; otherwise waits for the leader, at most 250 ms. Throws, or rejects
   * with, `budget_exhausted` (with seconds to the window's end) or `budget_unavailable`. Who has waited for one and does
   * not need it any more releases it.
   */
  reserve(spending: Spending): Charge | Promise<Charge>;
  /** `onBroken`: called when the budget breaks within the session. */
  reserveSession(spending: Spending, onBroken: () => void): SessionCharge | Promise<SessionCharge>;
}

/** Budgets that were opened, as the node has them. */
export interface OpenBudgets extends Budgets {
  /** A row of the admin list, from what is replicated and what only this node knows. */
  row(question: BucketQuestion): BudgetRow;
  /** Names of the buckets that this node's ledger holds. */
  buckets(): Iterable<string>;
  /** Milliseconds since 1970, as the ledger takes it: windows are those that requests are charged in. */
  now(): number;
  /** Another process of this node borrows from here on; see `lend.ts`. */
  lendTo(recall: Recall): BorrowingProcess;
  /** Of a process that borrows: what nothing here may come to need of a share goes back at once. */
  giveBack(name: ShareName): GivenBack | undefined;
  /** Sends what was spent and is not yet told, in place of at its time; resolves once that was answered, or given up. */
  tell(): Promise<void>;
  /** Nothing is reserved from here on. Gives back what is not used and reports what was spent, for two seconds at most. */
  close(): Promise<void>;
}

export type UsageReport = Pick<Report, "inc" | "rows">;

export type ReportOutcome =
  | { readonly kind: "answered"; readonly rows: readonly ReportAnswer[] }
  /** By the state machine; `code` is stable. */
  | { readonly kind: "refused"; readonly code: string };

/** The cluster, as far as budgets need it. */
export interface UsageReports {
  /**
   * Carries the command `usage.report`, again and again under one sequence until its outcome is known or `signal` is
   * aborted. Rejects when it is not known; the command may yet be applied then.
   */
  report(report: UsageReport, signal: AbortSignal): Promise<ReportOutcome>;
  /** Number of start of this process in the cluster; 0 while it has none. */
  incarnation(): number;
  /** Calls back when the number may be another. Gives the way to end it. */
  onIncarnation(listener: () => void): () => void;
  /** Time of the cluster's log as far as this node has applied it, in milliseconds since 1970; 0: nothing. */
  logNow(): number;
  /** Every member of the cluster knows pledges (feature level 2). */
  takesPledges(): boolean;
  /** False: no leader is known, and a last report may wait for nobody. */
  hasLeader(): boolean;
}

/** Asks a process for what it does not use. Rejects when it does not answer in time. */
export type Recall = (name: ShareName, signal: AbortSignal) => Promise<GivenBack | undefined>;

/** One other process of this node. */
export interface BorrowingProcess {
  /** As `UsageReports` has it. Waits a second at most. */
  report(report: UsageReport, signal: AbortSignal): Promise<ReportOutcome>;
  /** It holds nothing of these any more. */
  forget(names: readonly ShareName[]): void;
  /** It is gone, and all that it sent was read: what it may have spent is charged. */
  end(): void;
}

/**
 * Interface of budgets for requests: units of this node's allowance are reserved before a request and charged as its usage
 * becomes known. Source: specification document 3 (`budgets[]`); cluster reference, section 7; design decisions, sections 6, 8.
 */
import type {
  BucketRowInput,
  BudgetRow,
  BudgetRule,
  PriceTarget,
  Report,
  ReportAnswer,
  ReturnedShare,
  ShareName,
  TokenBounds,
  Usage,
} from "../../core/budgets/index.ts";

export interface Spending {
  readonly rule: BudgetRule;
  /** Name of the bucket: `bucketName(rule.name, rule.isShared, caller.principal)`. */
  readonly bucket: string;
  /**
   * Key of requests that are likely to cost the same: profile, route, label of the model and size class. The configuration
   * bounds the number of keys.
   */
  readonly averageKey: string;
  /** First provider and model that the request is sent to. */
  readonly at: PriceTarget;
  /**
   * Demand in tokens or units. `flat`: the cost is known beforehand. `atLeast`: the cost is unknown, and the answer may not
   * report it.
   */
  readonly demand:
    | { readonly kind: "tokens"; readonly bounds: TokenBounds }
    | { readonly kind: "flat"; readonly units: number }
    | { readonly kind: "atLeast"; readonly units: number };
}

/**
 * Reservation of one request in its bucket. It is ended exactly once, by `settle`, `abort` or `release`; later calls have no
 * effect. Usage without a known price counts as usage that was not reported. A `flat` demand costs its units, whatever was
 * used.
 */
export interface Charge {
  /** Units charged so far. */
  readonly spent: number;
  /** Units that were reserved at admission. */
  readonly reserved: number;
  /** Units that were needed at admission: the minimum, and the upper bound of the cost. */
  readonly needed: { readonly least: number; readonly most: number };
  /** Charges the current attempt's usage so far, at the provider and model of the last call of `attempt`. */
  spend(usage: Usage): void;
  /** Begins an attempt. Charges of earlier attempts stay. */
  attempt(at: PriceTarget): void;
  /** Charges a complete answer. If it reported no usage although it should have (`undefined`), the reservation is charged. */
  settle(usage: Usage | undefined): void;
  /**
   * Ends the charge of a complete answer that reported no usage where reporting is optional: nothing is charged, and the
   * estimate for similar requests is adjusted.
   */
  settleUnused(): void;
  /** Charges an answer with impossible usage: at least the reservation, or `usage` if that costs more. */
  settleDoubtful(usage: Usage | undefined): void;
  /**
   * Charges an answer that broke off or whose client left: the known usage, otherwise the reservation or `atLeast`, whichever
   * costs more. The reservation may be an average, which would be too little for a long answer.
   */
  abort(usage: Usage | undefined, atLeast?: Usage): void;
  /**
   * Charges the estimated input of an attempt that the gateway's own timeout ended before any byte of an answer; nothing if the
   * demand has no token bounds.
   */
  settleTimedOut(): void;
  /** Ends the charge without charging more. */
  release(): void;
}

/** Charge of a WebSocket session: a flat cost for its start, plus the usage that its answers report. */
export interface SessionCharge {
  readonly spent: number;
  /** Units that the start of the session costs. */
  readonly needed: Charge["needed"];
  /**
   * Charges one more answer. An answer without a known price costs as much as the start of the session, and one with impossible
   * usage (`isDoubtful`) at least as much. When the bucket is used up, `onExhausted` is called once.
   */
  spend(usage: Usage, isDoubtful?: boolean): void;
  /** Ends a session that was opened, and charges its flat cost if that has not happened yet. */
  settle(): void;
  /** Ends a session that was never opened. */
  release(): void;
}

export interface Budgets {
  /**
   * Reserves units. Returns immediately while this node's allowance lasts, otherwise waits at most 250 ms for the leader.
   * Throws, or rejects with, `budget_exhausted` (with the seconds until the window ends) or `budget_unavailable`. A caller that
   * no longer needs the result must release it.
   */
  reserve(spending: Spending): Charge | Promise<Charge>;
  /** Reserves for a session. `onExhausted`: called when the budget is exhausted during the session. */
  reserveSession(spending: Spending, onExhausted: () => void): SessionCharge | Promise<SessionCharge>;
}

/** Interface of budgets for the node. */
export interface OpenBudgets extends Budgets {
  /** Returns a row of the admin list, built from replicated state and this node's own data. */
  row(question: BucketRowInput): BudgetRow;
  /** Returns the names of the buckets in this node's ledger. */
  buckets(): Iterable<string>;
  /** Returns the ledger's time, in milliseconds since 1970, which determines the windows in which requests are charged. */
  now(): number;
  /** Opens a loan account for another process of this node; see `lend.ts`. */
  lendTo(recall: Recall): BorrowingProcess;
  /** Returns the unused part of a share at once. Only used in a process that borrows. */
  giveBack(name: ShareName): ReturnedShare | undefined;
  /** Sends unreported charges immediately. Resolves once each report was answered or given up. */
  reportNow(): Promise<void>;
  /** Stops reserving, returns unused units and reports charges. Takes at most two seconds, or one without a leader. */
  close(): Promise<void>;
}

export type UsageReport = Pick<Report, "inc" | "rows">;

export type ReportOutcome =
  | { readonly kind: "answered"; readonly rows: readonly ReportAnswer[] }
  /** The state machine refused the report; `code` is stable. */
  | { readonly kind: "refused"; readonly code: string };

/** Functions of the cluster that budgets need. */
export interface UsageReports {
  /**
   * Sends the command `usage.report`. Repeats it under one sequence number until its outcome is known or `signal` is aborted.
   * Rejects if the outcome is unknown; the command may still be applied later.
   */
  report(report: UsageReport, signal: AbortSignal): Promise<ReportOutcome>;
  /** Returns the incarnation: the number that the cluster gave this start of the process; 0 before it has one. */
  incarnation(): number;
  /** Registers a listener for changes of the incarnation. Returns a function that removes it. */
  onIncarnation(listener: () => void): () => void;
  /** Returns the time of the cluster's log as applied by this node, in milliseconds since 1970; 0 if nothing was applied. */
  logNow(): number;
  /** Returns whether every member of the cluster supports pledges (feature level 2). */
  takesPledges(): boolean;
  /** Returns whether a leader is known. Without one, the final reports may get no answer. */
  hasLeader(): boolean;
}

/** Asks a process to return its unused units. Rejects if it does not answer in time. */
export type Recall = (name: ShareName, signal: AbortSignal) => Promise<ReturnedShare | undefined>;

/** Loan account of another process of this node. */
export interface BorrowingProcess {
  /** Applies a report as `UsageReports` does. Waits at most a second. */
  report(report: UsageReport, signal: AbortSignal): Promise<ReportOutcome>;
  /** Must be called when the process holds no more units of these shares. */
  forget(names: readonly ShareName[]): void;
  /** Must be called when the process has ended and everything that it sent was read. Charges the units that it may have spent. */
  end(): void;
}

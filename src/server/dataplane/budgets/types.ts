/**
 * Budgets as requests use them: an allowance of this node is reserved before a request and charged as its usage becomes
 * known. Source: specification document 3 (`budgets[]`); cluster reference, section 7; design decisions, sections 6, 8.
 */
import type { BudgetRule, PricedAt, TokenBounds, Usage } from "../../core/budgets/index.ts";

export interface Spending {
  readonly rule: BudgetRule;
  /** `bucketName(rule.name, rule.isShared, caller.principal)`. */
  readonly bucket: string;
  /** Requests that are likely to cost the same: profile and label of the model. Bounded by the configuration. */
  readonly like: string;
  /** The first provider that the request is to be sent to. */
  readonly at: PricedAt;
  /** `flat`: units that are known beforehand. `atLeast`: nobody can tell, and the answer may say nothing. */
  readonly demand:
    | { readonly kind: "tokens"; readonly bounds: TokenBounds }
    | { readonly kind: "flat"; readonly units: number }
    | { readonly kind: "atLeast"; readonly units: number };
}

/** What one request holds of its bucket. Ended exactly once, by `settle`, `abort` or `release`; later calls do nothing. */
export interface Charge {
  /** Units charged so far. */
  readonly spent: number;
  /** Units that were held at its admission. */
  readonly reserved: number;
  /** The attempt under way used this much so far, at the provider and model of the last `attempt`. */
  spend(usage: Usage): void;
  /** The next attempt begins; what the one before used stays charged. */
  attempt(at: PricedAt): void;
  /** The answer is complete. `undefined`: it told no usage although it should have; what was reserved is charged. */
  settle(usage: Usage | undefined): void;
  /** It broke off, or the client left: what is known is charged, else what was reserved. */
  abort(usage: Usage | undefined): void;
  /** Nothing was used. */
  release(): void;
}

/** A WebSocket session: a flat cost at its start, and what its answers report in it. */
export interface SessionCharge {
  readonly spent: number;
  /** One more answer used this much. `onBroken` follows, at most once, when the bucket has no more to give. */
  spend(usage: Usage): void;
  /** The session came to be and is over: its flat cost stays charged. */
  settle(): void;
  /** It never came to be. */
  release(): void;
}

export interface Budgets {
  /**
   * Answers at once while this node's allowance lasts; otherwise waits for the leader, at most 250 ms. Throws, or rejects
   * with, `budget_exhausted` (with seconds to the window's end) or `budget_unavailable`. `signal`: the client left.
   */
  reserve(spending: Spending, signal: AbortSignal): Charge | Promise<Charge>;
  /** `onBroken`: to be called with the refusal when the budget breaks within the session. */
  reserveSession(spending: Spending, onBroken: () => void, signal: AbortSignal): SessionCharge | Promise<SessionCharge>;
}

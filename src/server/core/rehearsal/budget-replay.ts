/**
 * Budgets under a proposed configuration: requests are charged again, in the order in which they came, to the windows that
 * the proposal has. What is used is known between two bounds, since requests overlap and some costs are not recorded; a
 * request is refused or admitted only where both bounds say the same.
 */
import type { Unknown } from "./judge.ts";

/** Terms of a budget that apply to one bucket. */
export interface BudgetTerms {
  readonly budget: string;
  readonly bucket: string;
  readonly limit: number;
  readonly windowMs: number;
}

export interface ReplayedRequest {
  readonly at: number;
  readonly totalMs: number;
  /** Cost units under the proposal; undefined: not known. */
  readonly units: number | undefined;
  /** Needed when it came; undefined: not known. */
  readonly least: number | undefined;
  readonly most: number | undefined;
  /** Units that the bucket was charged for the request when it was served. */
  readonly charged: number;
}

/** Units of a bucket in a window before the first record of it. */
export type UsedBefore = (terms: BudgetTerms, windowStart: number) => { readonly least: number; readonly most: number };

type Fits = "fits" | "exhausted" | Unknown;

interface Running {
  readonly endsAt: number;
  readonly units: number | undefined;
  readonly most: number | undefined;
}

interface Window {
  least: number;
  most: number;
  /** Requests that may still be under way when the next one comes. */
  running: Running[];
  /** Most units that one request cost or was expected to. */
  largest: number;
  /** Less, or more, is used than when the requests were served. Both may be true if that is unknown. */
  hasLess: boolean;
  hasMore: boolean;
}

export class BudgetReplay {
  readonly #windows = new Map<string, Window>();
  readonly #usedBefore: UsedBefore;

  constructor(usedBefore: UsedBefore) {
    this.#usedBefore = usedBefore;
  }

  /** Returns whether the replay charges a bucket less or more than was charged; an unknown amount counts as more. */
  driftOf(terms: BudgetTerms, at: number): { readonly hasLess: boolean; readonly hasMore: boolean } {
    return this.#windowOf(terms, at);
  }

  fits(terms: BudgetTerms, { at, least, most }: ReplayedRequest): Fits {
    const window = this.#windowOf(terms, at);
    settle(window, at);
    const { limit, budget } = terms;
    let underWay = 0;
    for (const { units, most: bound } of window.running) underWay += mostOf(units, bound);
    const isBounded = least !== undefined && least === most;
    // The need of a request without a bound is learned from earlier requests, which the proposal may refuse.
    if ((isBounded ? least : 1) > limit - window.least) return "exhausted";
    const needed = isBounded || underWay > 0 || least === undefined ? most : Math.max(least, window.largest);
    if (needed !== undefined && window.most + underWay + needed <= limit) return "fits";
    return { kind: "unknown", reason: `what is left of budget \`${budget}\` is unknown` };
  }

  /** The request is admitted and charged, under the proposal; `isSure`: it may also be refused. */
  charge(terms: BudgetTerms, request: ReplayedRequest, isSure: boolean): void {
    const window = this.#windowOf(terms, request.at);
    const { at, totalMs, units, most, charged } = request;
    // One that may be refused may cost nothing.
    window.largest = Math.max(window.largest, units ?? 0, request.least ?? 0);
    const running = isSure ? { units, most } : { units: undefined, most: units ?? most };
    window.running.push({ endsAt: at + totalMs, ...running });
    if (!isSure) {
      window.hasLess = true;
      if (units === undefined || units > charged) window.hasMore = true;
      return;
    }
    if (units === undefined) {
      window.hasLess = true;
      window.hasMore = true;
    } else if (units > charged) window.hasMore = true;
    else if (units < charged) window.hasLess = true;
  }

  /** The request is not charged under the proposal. */
  skip(terms: BudgetTerms, request: ReplayedRequest): void {
    if (request.charged > 0) this.#windowOf(terms, request.at).hasLess = true;
  }

  #windowOf(terms: BudgetTerms, at: number): Window {
    const start = Math.floor(at / terms.windowMs) * terms.windowMs;
    const key = `${terms.bucket}\n${terms.windowMs}\n${start}`;
    const known = this.#windows.get(key);
    if (known !== undefined) return known;
    const before = this.#usedBefore(terms, start);
    const made: Window = { ...before, running: [], largest: 0, hasLess: false, hasMore: false };
    this.#windows.set(key, made);
    return made;
  }
}

const mostOf = (units: number | undefined, bound: number | undefined): number =>
  units === undefined ? (bound ?? Number.POSITIVE_INFINITY) : Math.max(units, bound ?? 0);

/** Requests that had ended by then are used for good. */
function settle(window: Window, at: number): void {
  if (window.running.length === 0) return;
  const left: Running[] = [];
  for (const request of window.running) {
    if (request.endsAt >= at) {
      left.push(request);
      continue;
    }
    window.least += request.units ?? 0;
    window.most += request.units ?? request.most ?? Number.POSITIVE_INFINITY;
  }
  window.running = left;
}

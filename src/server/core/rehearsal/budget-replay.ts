/**
 * Replays budgets under a proposed configuration: requests are charged in their original order to the windows of the proposal.
 * Usage is known only between two bounds, since requests overlap and some costs are not recorded. A request is refused or
 * admitted only if both bounds agree.
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
  /** Cost units under the proposal; `undefined` if not known. */
  readonly units: number | undefined;
  /** Minimum cost units that the request needed on arrival; `undefined` if not known. */
  readonly least: number | undefined;
  readonly most: number | undefined;
  /** Units that the bucket was charged when the request was served. */
  readonly charged: number;
}

/** Returns bounds for the units that a bucket used in a window before the first record. */
type UsedBefore = (terms: BudgetTerms, windowStart: number) => { readonly least: number; readonly most: number };

type Fits = "fits" | "exhausted" | Unknown;

interface Running {
  readonly endsAt: number;
  readonly units: number | undefined;
  readonly most: number | undefined;
}

interface Window {
  least: number;
  most: number;
  /** Requests that may still be running when the next one arrives. */
  running: Running[];
  /** Maximum units that one request cost or was expected to cost. */
  largest: number;
  /** True if less (or more) is used than when the requests were served. Both may be true if that is unknown. */
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
    // For a request without a bound, the need is estimated from earlier requests, which the proposal may refuse.
    if ((isBounded ? least : 1) > limit - window.least) return "exhausted";
    const needed = isBounded || underWay > 0 || least === undefined ? most : Math.max(least, window.largest);
    if (needed !== undefined && window.most + underWay + needed <= limit) return "fits";
    return { kind: "unknown", reason: `the remaining amount of budget \`${budget}\` is unknown` };
  }

  /** Charges a request that the proposal admits. If `isSure` is false, it may also be refused. */
  charge(terms: BudgetTerms, request: ReplayedRequest, isSure: boolean): void {
    const window = this.#windowOf(terms, request.at);
    const { at, totalMs, units, most, charged } = request;
    // A request that may be refused may cost nothing.
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

  /** Notes that a request is not charged under the proposal. */
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

/** Adds to the window's usage the requests that had ended by the time `at`. */
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

/** Replays budgets over recorded requests: each is charged as it was, to the buckets and windows of the proposal. */

import type { Caller } from "../auth/index.ts";
import { type BudgetRule, bucketName } from "../core/budgets/index.ts";
import { routeOfKey } from "../core/dialects/index.ts";
import {
  type Admission,
  BudgetReplay,
  type BudgetTerms,
  endOf,
  FACT,
  type Guarding,
  type RecordedRequest,
  type ReplayedRequest,
  type Resolve,
  type Step,
} from "../core/rehearsal/index.ts";
import { canonicalText } from "./canonical-text.ts";
import type { ConfigurationSide, CurrentBucket } from "./types.ts";

const PASSED = { kind: "passed" } as const;

export interface BudgetSides {
  readonly inForce: ConfigurationSide;
  readonly proposed: ConfigurationSide;
  /** Requests in the order of their time. */
  readonly requests: readonly RecordedRequest[];
  /** Time since which all requests of all nodes are included. */
  readonly since: number;
  readonly buckets: readonly CurrentBucket[];
  /** Time at which `buckets` were read, in milliseconds since 1970. */
  readonly now: number;
  readonly callerOf: (side: ConfigurationSide, request: RecordedRequest) => Caller | undefined;
  readonly isUntouched: (request: RecordedRequest, parts: readonly string[]) => boolean;
}

type BudgetStage = (request: RecordedRequest, admission: Admission, guarding: () => Guarding, resolve: Resolve) => Step;

export function budgetStage(sides: BudgetSides): BudgetStage {
  const { inForce, proposed, isUntouched } = sides;
  const replay = new BudgetReplay(createUsageBefore(sides));
  return (request, admission, guarding, resolve) => {
    const spent = spendingOf(sides, proposed, request);
    if (spent === undefined) return PASSED;
    const { rule, terms } = spent;
    const before = spendingOf(sides, inForce, request);
    const isPricedAlike = before !== undefined && priceOf(inForce, before.rule) === priceOf(proposed, rule);
    const replayed = toReplayed(request, {
      isPricedAlike,
      isElsewhere: admission.to !== request.to,
      fixedCost: spent.fixedCost ?? rule.constantCost,
    });
    if (admission.step.kind === "refused") {
      replay.skip(terms, replayed);
      return PASSED;
    }
    const charge = (isSure: boolean): void => {
      const { step } = guarding();
      if (step.kind === "refused") replay.skip(terms, replayed);
      else replay.charge(terms, replayed, isSure && step.kind === "passed");
    };
    if (admission.step.kind === "unknown") {
      charge(false);
      return PASSED;
    }
    const isSame = before !== undefined && isSameBudget(before.terms, terms) && isPricedAlike;
    const step = isSame ? recordedStep(request, resolve) : undefined;
    const { hasLess, hasMore } = replay.driftOf(terms, request.at);
    if (step?.kind === "passed" && !hasMore && isUntouched(request, ["budgets"])) {
      charge(true);
      return PASSED;
    }
    if (step?.kind === "refused" && !hasLess && !hasMore) {
      replay.skip(terms, replayed);
      return step;
    }
    const outcome = replay.fits(terms, replayed);
    if (outcome === "exhausted") {
      replay.skip(terms, replayed);
      return { kind: "refused", code: "budget_exhausted", by: `budget ${rule.name}` };
    }
    charge(outcome === "fits");
    return outcome === "fits" ? PASSED : outcome;
  };
}

/** Returns the recorded decision if the budget is the same. */
const recordedStep = (_request: RecordedRequest, resolve: Resolve): Step =>
  resolve("budget", { kind: "unknown", reason: "", decidedBy: ["budgets"] });

interface Spending {
  readonly rule: BudgetRule;
  readonly terms: BudgetTerms;
  /** Cost units of a call whose cost is configured; `undefined` if its usage decides. */
  readonly fixedCost: number | undefined;
}

/** Returns what the request spends; `undefined` if it spends nothing. */
function spendingOf(
  { callerOf }: BudgetSides,
  side: ConfigurationSide,
  request: RecordedRequest,
): Spending | undefined {
  const { snapshot } = side;
  const caller = callerOf(side, request);
  const rule = caller && snapshot.governance.profile(caller.profile)?.budget;
  if (caller === undefined || rule === undefined) return undefined;
  const { traffic, facts, to } = request;
  let fixedCost: number | undefined;
  if (traffic === "mcp" || traffic === "a2a") {
    fixedCost = snapshot.fronted.all.find(({ kind, name }) => kind === traffic && name === to)?.costPerCall ?? 0;
    if (fixedCost === 0 || (facts & FACT.isNotification) !== 0) return undefined;
  } else if (traffic === "none" || routeOfKey(request.route)?.usage === "none") return undefined;
  const { name: budget, isShared, limit, windowMs } = rule;
  const bucket = bucketName(budget, isShared, caller.principal);
  return { rule, terms: { budget, bucket, limit, windowMs }, fixedCost };
}

const isSameBudget = (one: BudgetTerms, other: BudgetTerms): boolean =>
  one.bucket === other.bucket && one.limit === other.limit && one.windowMs === other.windowMs;

const priceOf = ({ document }: ConfigurationSide, { name }: BudgetRule): string =>
  canonicalText(document.budgets?.find((budget) => budget.name === name)?.cost ?? null);

interface Pricing {
  readonly isPricedAlike: boolean;
  /** True if the request would go to another provider, where it may use a different number of tokens. */
  readonly isElsewhere: boolean;
  readonly fixedCost: number | undefined;
}

function toReplayed(request: RecordedRequest, { isPricedAlike, isElsewhere, fixedCost }: Pricing): ReplayedRequest {
  const { at, totalMs, units, least, most, facts } = request;
  const isCharged = (facts & FACT.isCharged) !== 0;
  const charged = isCharged ? units : 0;
  if (fixedCost !== undefined) {
    // Whether a request is charged depends on its upstream's answer, which a recorded charge shows.
    const wasCharged = endOf(request).kind === "forwarded" && isCharged;
    const known = wasCharged ? (units > 0 ? fixedCost : 0) : undefined;
    return {
      at,
      totalMs,
      units: isElsewhere && known === 0 ? undefined : known,
      least: fixedCost,
      most: fixedCost,
      charged,
    };
  }
  const isKnown = isCharged && isPricedAlike;
  return {
    at,
    totalMs,
    units: isKnown && !isElsewhere ? units : undefined,
    least: isPricedAlike && least >= 0 ? least : undefined,
    most: isPricedAlike && most >= 0 && !isElsewhere ? most : undefined,
    charged,
  };
}

/** Maximum lag of the ledger. Nodes report twice a second, so a more recent charge may not be in it yet. */
const LEDGER_LAG_MS = 2_000;

/**
 * Returns the usage of a bucket that is not in the records: zero if records begin before the window, else the ledger's usage
 * minus the recorded charges.
 */
function createUsageBefore(sides: BudgetSides) {
  const { inForce, requests, since, now, buckets } = sides;
  let charged: Map<string, { units: number; late: number }> | undefined;
  const recordedCharges = (): Map<string, { units: number; late: number }> => {
    if (charged !== undefined) return charged;
    charged = new Map();
    for (const request of requests) {
      if ((request.facts & FACT.isCharged) === 0) continue;
      const terms = spendingOf(sides, inForce, request)?.terms;
      if (terms === undefined) continue;
      const key = keyOf(terms.bucket, terms.windowMs, request.at);
      const sum = charged.get(key) ?? { units: 0, late: 0 };
      sum.units += request.units;
      if (request.at + request.totalMs > now - LEDGER_LAG_MS) sum.late += request.units;
      charged.set(key, sum);
    }
    return charged;
  };
  return (terms: BudgetTerms, windowStart: number) => {
    if (since <= windowStart) return { least: 0, most: 0 };
    const running = buckets.find(
      (it) => it.bucket === terms.bucket && it.windowMs === terms.windowMs && it.windowStart === windowStart,
    );
    if (running === undefined) return { least: 0, most: Number.POSITIVE_INFINITY };
    const { units, late } = recordedCharges().get(keyOf(terms.bucket, terms.windowMs, windowStart)) ?? {
      units: 0,
      late: 0,
    };
    return { least: Math.max(0, running.used - units), most: Math.max(0, running.used - units + late) };
  };
}

const keyOf = (bucket: string, windowMs: number, at: number): string =>
  `${bucket}\n${windowMs}\n${Math.floor(at / windowMs)}`;

/**
 * Life of a certificate as a pure state machine: the next effect to run, and the new record for its answer. Each state is
 * replicated before its effect begins, and every effect can be repeated, so a new leader continues where the last one stopped.
 * Source: RFC 8555 section 7.1.6 (states of an order); design decisions, section 15.
 */

import {
  type Account,
  type CertificateRecord,
  type Challenge,
  type ChallengeType,
  emptyRecord,
  type FailureReason,
  type Issued,
  type Order,
  type RenewalWindow,
  type Step,
  type TxtRecord,
  txtRecordOf,
} from "./certificate-record.ts";
import {
  allowedFrom,
  isAhead,
  nextAttempt,
  RENEWAL_INFO_DELAY,
  recentlyFinalized,
  renewalDue,
} from "./renewal-time.ts";

/** Settings of the node file. */
export interface WantedCertificate {
  readonly ca: string;
  readonly email: string;
  /** Sorted names. */
  readonly names: readonly string[];
  readonly type: ChallengeType;
  /** Digest of all settings that can make an attempt fail. */
  readonly settings: string;
}

export interface OrderRows {
  readonly account: Account | undefined;
  readonly record: CertificateRecord | undefined;
}

export type Effect =
  | { readonly do: "wait"; readonly until: number }
  /** Generates the key of an account, and nothing else. */
  | { readonly do: "make_account" }
  | { readonly do: "register"; readonly account: Account }
  /** Generates the key of a certificate, and nothing else. */
  | { readonly do: "begin" }
  /** Drops an order with another type of challenge. */
  | { readonly do: "abandon" }
  | { readonly do: Step; readonly account: Account; readonly order: Order }
  | { readonly do: "clean"; readonly records: readonly TxtRecord[] }
  | { readonly do: "ask"; readonly issued: Issued };

export type EffectResult =
  | { readonly kind: "account"; readonly account: Account }
  | { readonly kind: "registered"; readonly url: string }
  | { readonly kind: "begun"; readonly id: string; readonly key: string; readonly replaces: string | null }
  | { readonly kind: "abandoned" }
  /** Answers of the steps of an order. */
  | { readonly kind: "ordered"; readonly url: string }
  | { readonly kind: "pending"; readonly challenges: readonly Challenge[] }
  | { readonly kind: "ready" }
  | { readonly kind: "handed_in" }
  | { readonly kind: "published" }
  | { readonly kind: "validated" }
  | { readonly kind: "issued"; readonly issued: Issued }
  | { readonly kind: "cleaned"; readonly left: readonly TxtRecord[] }
  | { readonly kind: "asked"; readonly window: RenewalWindow | null; readonly askAt: number | null }
  | {
      readonly kind: "failed";
      readonly reason: FailureReason;
      readonly message: string;
      readonly keepsOrder: boolean;
      readonly losesAccount: boolean;
      readonly retryAt: number | undefined;
    };

/** Next state for each answer, by state of an order. Other answers are invalid in that state. */
export const STEPS: Readonly<Record<Step, { readonly [K in EffectResult["kind"]]?: Step | "end" }>> = {
  order: { ordered: "check" },
  check: { pending: "publish", ready: "finalize", handed_in: "download" },
  publish: { published: "respond" },
  respond: { validated: "check" },
  // Another leader may already have submitted the order.
  finalize: { handed_in: "download" },
  download: { issued: "end" },
};

const HOUR_MS = 3_600_000;

export function nextEffect({ account, record }: OrderRows, wanted: WantedCertificate, now: number): Effect {
  const stored = record ?? emptyRecord(wanted.ca, wanted.names);
  const { order, failure, litter, issued } = stored;
  if (order !== null && order.type !== wanted.type) return { do: "abandon" };
  // If the settings have changed, or a clock that was ahead was set right, the next attempt is made without a wait.
  const isSame = failure === null || (failure.settings === wanted.settings && !isAhead(failure.at, now));
  const from = isSame ? stored.nextAttemptAt : 0;
  const cleanAt = plausibleTime(stored.cleanAt, HOUR_MS, now);
  if (order === null && litter.length > 0 && cleanAt <= now) return { do: "clean", records: litter };
  const due = order !== null ? from : Math.max(dueAt(issued), from, allowedFrom(stored, now));
  if (due <= now) {
    if (account === undefined) return { do: "make_account" };
    if (account.url === null) return { do: "register", account };
    return order === null ? { do: "begin" } : { do: order.step, account, order };
  }
  if (order !== null) return { do: "wait", until: due };
  const askAt = plausibleTime(issued?.askAt ?? Number.POSITIVE_INFINITY, RENEWAL_INFO_DELAY.maxMs, now);
  if (issued !== null && askAt <= now) return { do: "ask", issued };
  return { do: "wait", until: Math.min(due, askAt, litter.length > 0 ? cleanAt : Number.POSITIVE_INFINITY) };
}

/** Returns `at`, or 0 if the clock that wrote it was ahead. `most`: longest time from the writing to `at`. */
const plausibleTime = (at: number, most: number, now: number): number =>
  Number.isFinite(at) && isAhead(at - most, now) ? 0 : at;

const dueAt = (issued: Issued | null): number => (issued === null ? 0 : renewalDue(issued));

/** Returns the state after an answer. `now`: time of the answer. An unchanged object means that nothing changed. */
export function nextState(
  world: OrderRows,
  effect: Effect,
  answer: EffectResult,
  wanted: WantedCertificate,
  now: number,
): OrderRows {
  const { account, record } = world;
  if (answer.kind === "account") return { account: answer.account, record };
  if (answer.kind === "registered") return { account: account && { ...account, url: answer.url }, record };
  const stored = record ?? emptyRecord(wanted.ca, wanted.names);
  const thumbprint = account?.thumbprint ?? "";
  switch (answer.kind) {
    case "begun": {
      const { id, key, replaces } = answer;
      const order: Order = {
        id,
        step: "order",
        type: wanted.type,
        key,
        replaces,
        startedAt: now,
        url: null,
        challenges: [],
      };
      return { account, record: { ...stored, order } };
    }
    case "abandoned":
      return { account, record: withoutOrder(stored, thumbprint) };
    case "cleaned":
      return {
        account,
        record: { ...stored, litter: answer.left, cleanAt: answer.left.length === 0 ? 0 : now + HOUR_MS },
      };
    case "asked": {
      if (stored.issued === null || effect.do !== "ask" || stored.issued.certId !== effect.issued.certId) return world;
      const { window, askAt } = answer;
      return { account, record: { ...stored, issued: { ...stored.issued, window, askAt } } };
    }
    case "failed": {
      const { reason, message, keepsOrder, losesAccount, retryAt } = answer;
      const failures = stored.failures + 1;
      const failed: CertificateRecord = {
        ...(keepsOrder ? stored : withoutOrder(stored, thumbprint)),
        failures,
        failure: { reason, message, at: now, step: effect.do, settings: wanted.settings },
        nextAttemptAt: nextAttempt(now, failures, retryAt),
      };
      return { account: losesAccount && account !== undefined ? { ...account, url: null } : account, record: failed };
    }
    default:
      return { account, record: advanceOrder(stored, answer, thumbprint, now) };
  }
}

type OrderAnswer = Extract<
  EffectResult,
  { kind: "ordered" | "pending" | "ready" | "handed_in" | "published" | "validated" | "issued" }
>;

function advanceOrder(
  stored: CertificateRecord,
  answer: OrderAnswer,
  thumbprint: string,
  now: number,
): CertificateRecord {
  const { order } = stored;
  const next = order === null ? undefined : STEPS[order.step][answer.kind];
  if (order === null || next === undefined) return stored;
  if (next === "end") {
    if (answer.kind !== "issued") return stored;
    const { issued } = answer;
    return { ...withoutOrder(stored, thumbprint), issued, failure: null, failures: 0, nextAttemptAt: 0 };
  }
  const moved: Order = {
    ...order,
    step: next,
    ...(answer.kind === "ordered" && { url: answer.url }),
    ...(answer.kind === "pending" && { challenges: mergeChallenges(order.challenges, answer.challenges) }),
  };
  // The order is counted before it is submitted, so that a crash in between does not lose the count.
  const finalized = next === "finalize" ? [...recentlyFinalized(stored.finalized, now), now] : stored.finalized;
  return { ...stored, order: moved, finalized };
}

/** Returns all challenges. Earlier ones are included, because their DNS records still have to be removed. */
function mergeChallenges(before: readonly Challenge[], found: readonly Challenge[]): readonly Challenge[] {
  const known = new Set(found.map(({ token }) => token));
  return [...before.filter(({ token }) => !known.has(token)), ...found];
}

/** Maximum number of DNS records remembered for removal; an order of a hundred names leaves fewer. The oldest are dropped. */
const MAX_LITTER = 200;

/** Returns the record without its order, and lists the DNS records of that order for removal. */
function withoutOrder(stored: CertificateRecord, thumbprint: string): CertificateRecord {
  const { order, litter } = stored;
  if (order === null) return stored;
  const written =
    order.type === "dns-01" ? order.challenges.map(({ name, token }) => txtRecordOf(name, token, thumbprint)) : [];
  const left = [...litter, ...written].slice(-MAX_LITTER);
  return { ...stored, order: null, litter: left, cleanAt: written.length > 0 ? 0 : stored.cleanAt };
}

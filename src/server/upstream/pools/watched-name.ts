/**
 * Keeps the addresses of one name, which is resolved again in the background when their TTL expires. Only requests before the
 * first answer wait.
 */
import type { Family, FamilyAnswer, NameResolver } from "./host-names.ts";

/**
 * Limits of the TTL, in milliseconds. A TTL of zero would cause endless queries; with one of hours, removed servers would be kept
 * as long.
 */
const MIN_TTL_MS = 1_000;
const MAX_TTL_MS = 300_000;

/** Delay before the next query after a failure, in milliseconds. It doubles up to the maximum. */
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;

/**
 * Time for which the last good answer is kept when name servers report no addresses, in milliseconds, because servers that are
 * just starting report that too. While queries fail, the answer is kept indefinitely.
 */
const EMPTY_ANSWER_GRACE_MS = 30_000;

interface WatchedNameOptions {
  readonly names: NameResolver;
  /** Returns the monotonic time in milliseconds. */
  readonly now: () => number;
  /** Called after each answer with the current addresses and the problem, if any. */
  readonly onAnswer: (addresses: readonly string[], problem: string | undefined) => void;
}

export interface WatchedName {
  /** Resolves once the first query has finished, successful or not. */
  readonly firstResolution: Promise<void>;
  /** Queries soon. Must be called when the known addresses seem to be outdated. */
  resolveSoon(): void;
  close(): void;
}

interface Known {
  addresses: readonly string[];
  /** Time since which name servers report no addresses; `undefined` if the last answer had some. */
  nothingSince: number | undefined;
  problem: string | undefined;
  ttlMs: number;
}

const UNKNOWN: Known = { addresses: [], nothingSince: undefined, problem: undefined, ttlMs: MIN_TTL_MS };

export function watchName(host: string, { names, now, onAnswer }: WatchedNameOptions): WatchedName {
  const known: Record<Family, Known> = { 4: { ...UNKNOWN }, 6: { ...UNKNOWN } };
  let isClosed = false;
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  let resolvedAt = Number.NEGATIVE_INFINITY;
  let isResolving = false;

  const resolveName = async (): Promise<void> => {
    clearTimeout(timer);
    isResolving = true;
    resolvedAt = now();
    const answer = await names.resolve(host);
    isResolving = false;
    if (isClosed) return;
    applyAnswer(known[4], answer[4], answer[6].kind === "addresses", now());
    applyAnswer(known[6], answer[6], answer[4].kind === "addresses", now());
    const addresses = [...new Set([...known[4].addresses, ...known[6].addresses])];
    const problem =
      known[4].problem ?? known[6].problem ?? (addresses.length === 0 ? "the name has no address" : undefined);
    failures = known[4].problem === undefined && known[6].problem === undefined ? 0 : failures + 1;
    onAnswer(addresses, problem);
    const ttlMs = Math.min(...[known[4], known[6]].filter((it) => it.addresses.length > 0).map((it) => it.ttlMs));
    const waitMs =
      failures > 0 || addresses.length === 0
        ? Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures, 10))
        : Math.min(MAX_TTL_MS, Math.max(MIN_TTL_MS, ttlMs));
    scheduleResolution(waitMs);
  };

  const scheduleResolution = (waitMs: number): void => {
    clearTimeout(timer);
    timer = setTimeout(() => void resolveName(), waitMs);
    timer.unref();
  };

  const firstResolution = resolveName();
  return {
    firstResolution,
    resolveSoon() {
      if (isClosed || isResolving) return;
      scheduleResolution(Math.max(0, resolvedAt + MIN_TTL_MS - now()));
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

/** Applies an answer. `hasOtherFamily`: the name has addresses of the other family. */
function applyAnswer(known: Known, answer: FamilyAnswer, hasOtherFamily: boolean, now: number): void {
  known.problem = undefined;
  switch (answer.kind) {
    case "addresses":
      known.addresses = answer.addresses;
      known.nothingSince = undefined;
      known.ttlMs = answer.ttlMs;
      return;
    case "none":
      known.nothingSince ??= now;
      if (known.addresses.length === 0) return;
      if (hasOtherFamily || now - known.nothingSince >= EMPTY_ANSWER_GRACE_MS) known.addresses = [];
      else known.problem = "the name has no address";
      return;
    case "failed":
      known.problem = answer.problem;
      return;
    default:
      answer satisfies never;
  }
}

/**
 * Shares fetches between all processes of a node: the first process that asks fetches, and the others wait for its result. The
 * node keeps a result for as long as its fetcher specified. Source: hot-path reference, 3 (token caches).
 */
import { type FetchShared, fetchUnshared, type SharedValue } from "../../../base/index.ts";
import type { Channel } from "../channel/index.ts";

/**
 * Maximum time to wait for another process, in milliseconds. It is longer than any fetch; after it a process fetches for itself.
 */
const WAIT_MS = 13_000;

/** Maximum total length of kept results as JSON. The least recently used are dropped first. */
const MAX_KEPT_LENGTH = 32 << 20;

interface Question {
  readonly key: string;
  readonly after: number;
}

type Answer =
  /** Tells the asking process to fetch, and to report the result under this number. The other form is a kept result. */
  { readonly turn: number } | Omit<SharedValue<unknown>, "isOwn">;

/** Reported result. `value` is absent if the fetch was rejected; the next waiting process then fetches. */
interface FetchReport {
  readonly key: string;
  readonly number: number;
  readonly keepMs: number;
  readonly value?: unknown;
}

/** Returns a worker's shared fetch. */
export function fetchThrough(channel: Channel): FetchShared {
  return async (key, after, fetch) => {
    let answer: Answer;
    try {
      answer = (await channel.ask("fetch", { key, after } satisfies Question, AbortSignal.timeout(WAIT_MS))) as Answer;
    } catch {
      // The node process is busy or has exited, or the fetching process hangs. Since a request waits, this process fetches alone.
      return await fetchUnshared(key, after, fetch);
    }
    if (!("turn" in answer)) return { ...(answer as SharedValue<never>), isOwn: false };
    const number = answer.turn;
    const report = (result: Omit<FetchReport, "key" | "number">): void =>
      channel.send("fetched", { key, number, ...result } satisfies FetchReport, true);
    try {
      const { value, keepMs } = await fetch();
      report({ value, keepMs });
      return { value, ageMs: 0, number, isOwn: true };
    } catch (error) {
      report({ keepMs: 0 });
      throw error;
    }
  };
}

interface Turn {
  readonly channel: Channel;
  readonly number: number;
  readonly begunAt: number;
}

interface Kept {
  readonly value: unknown;
  readonly number: number;
  readonly begunAt: number;
  readonly until: number;
  readonly length: number;
}

interface Waiting {
  readonly channel: Channel;
  readonly resolve: (answer: Answer) => void;
}

interface UnderWay {
  turn: Turn;
  readonly waiting: Set<Waiting>;
}

export interface SharedFetches {
  /** Serves a worker. Returns a function that must be called when the worker has exited. */
  take(channel: Channel): () => void;
}

/** Opens the shared fetches of the node. `now` returns the monotonic time in milliseconds. */
export function openSharedFetches(now: () => number): SharedFetches {
  /** Kept results, least recently used first. */
  const kept = new Map<string, Kept>();
  const underWay = new Map<string, UnderWay>();
  let keptLength = 0;
  let last = 0;

  const forget = (key: string): void => {
    keptLength -= kept.get(key)?.length ?? 0;
    kept.delete(key);
  };

  const keep = (key: string, one: Kept): void => {
    forget(key);
    kept.set(key, one);
    keptLength += one.length;
    for (const oldest of kept.keys()) {
      if (keptLength <= MAX_KEPT_LENGTH) return;
      forget(oldest);
    }
  };

  const turnOf = (channel: Channel): Turn => {
    last += 1;
    return { channel, number: last, begunAt: now() };
  };

  const ageOf = (begunAt: number): number => Math.max(0, Math.ceil(now() - begunAt));

  const find = (key: string, after: number): Answer | undefined => {
    const found = kept.get(key);
    if (found === undefined) return undefined;
    if (now() >= found.until) {
      forget(key);
      return undefined;
    }
    if (found.number <= after) return undefined;
    kept.delete(key);
    kept.set(key, found);
    return { value: found.value, number: found.number, ageMs: ageOf(found.begunAt) };
  };

  /** Lets the next waiting process fetch. Without one, the fetch is no longer pending. */
  const passOn = (key: string, { waiting }: UnderWay): void => {
    const [next] = waiting;
    if (next === undefined) {
      underWay.delete(key);
      return;
    }
    waiting.delete(next);
    const turn = turnOf(next.channel);
    underWay.set(key, { turn, waiting });
    next.resolve({ turn: turn.number });
  };

  const asked = (channel: Channel, { key, after }: Question, signal: AbortSignal): Answer | Promise<Answer> => {
    const known = find(key, after);
    if (known !== undefined) return known;
    const under = underWay.get(key);
    if (under === undefined || now() - under.turn.begunAt >= WAIT_MS) {
      const turn = turnOf(channel);
      underWay.set(key, { turn, waiting: under?.waiting ?? new Set() });
      return { turn: turn.number };
    }
    return new Promise((resolve) => {
      const one: Waiting = { channel, resolve };
      under.waiting.add(one);
      signal.addEventListener("abort", () => under.waiting.delete(one), { once: true });
    });
  };

  const handleReport = (body: FetchReport): void => {
    const { key, number, keepMs, value } = body;
    const under = underWay.get(key);
    // A result of a process that took too long and was given up is ignored.
    if (under?.turn.number !== number) return;
    if (!("value" in body)) {
      passOn(key, under);
      return;
    }
    underWay.delete(key);
    const { begunAt } = under.turn;
    for (const { resolve } of under.waiting) resolve({ value, number, ageMs: ageOf(begunAt) });
    const until = begunAt + keepMs;
    // A result that must not be kept does not replace one that is still valid.
    if (until > now()) keep(key, { value, number, begunAt, until, length: JSON.stringify(value).length });
  };

  return {
    take(channel) {
      channel.answer("fetch", (body, signal) => asked(channel, body as Question, signal));
      channel.on("fetched", (body) => handleReport(body as FetchReport));
      return () => {
        for (const [key, under] of underWay) {
          for (const one of under.waiting) if (one.channel === channel) under.waiting.delete(one);
          if (under.turn.channel === channel) passOn(key, under);
        }
      };
    },
  };
}

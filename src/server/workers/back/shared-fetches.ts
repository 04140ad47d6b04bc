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

interface FetchQuestion {
  readonly key: string;
  readonly after: number;
}

type FetchAnswer =
  /** Tells the asking process to fetch, and to report the result under this number. The other form is a kept result. */
  { readonly fetchAs: number } | Omit<SharedValue<unknown>, "isOwn">;

/** Reported result. `value` is absent if the fetch was rejected; the next waiting process then fetches. */
interface FetchReport {
  readonly key: string;
  readonly number: number;
  readonly keepMs: number;
  readonly value?: unknown;
}

/** Returns a worker's shared fetch. */
export function fetchThroughNode(channel: Channel): FetchShared {
  return async (key, after, fetch) => {
    let answer: FetchAnswer;
    try {
      answer = (await channel.ask(
        "fetch",
        { key, after } satisfies FetchQuestion,
        AbortSignal.timeout(WAIT_MS),
      )) as FetchAnswer;
    } catch {
      // The node process is busy or has exited, or the fetching process hangs. Since a request waits, this process fetches alone.
      return await fetchUnshared(key, after, fetch);
    }
    if (!("fetchAs" in answer)) return { ...(answer as SharedValue<never>), isOwn: false };
    const number = answer.fetchAs;
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

interface FetchTask {
  readonly channel: Channel;
  readonly number: number;
  readonly begunAt: number;
}

interface KeptResult {
  readonly value: unknown;
  readonly number: number;
  readonly begunAt: number;
  readonly expiresAt: number;
  readonly length: number;
}

interface Waiter {
  readonly channel: Channel;
  readonly resolve: (answer: FetchAnswer) => void;
}

interface PendingFetch {
  task: FetchTask;
  readonly waiting: Set<Waiter>;
}

export interface SharedFetches {
  /** Serves a worker. Returns a function that must be called when the worker has exited. */
  serve(channel: Channel): () => void;
}

/** Opens the shared fetches of the node. `now` returns the monotonic time in milliseconds. */
export function openSharedFetches(now: () => number): SharedFetches {
  /** Kept results, least recently used first. */
  const results = new Map<string, KeptResult>();
  const pending = new Map<string, PendingFetch>();
  let keptLength = 0;
  let last = 0;

  const forget = (key: string): void => {
    keptLength -= results.get(key)?.length ?? 0;
    results.delete(key);
  };

  const keep = (key: string, result: KeptResult): void => {
    forget(key);
    results.set(key, result);
    keptLength += result.length;
    for (const oldest of results.keys()) {
      if (keptLength <= MAX_KEPT_LENGTH) return;
      forget(oldest);
    }
  };

  const createTask = (channel: Channel): FetchTask => {
    last += 1;
    return { channel, number: last, begunAt: now() };
  };

  const ageOf = (begunAt: number): number => Math.max(0, Math.ceil(now() - begunAt));

  const findKept = (key: string, after: number): FetchAnswer | undefined => {
    const found = results.get(key);
    if (found === undefined) return undefined;
    if (now() >= found.expiresAt) {
      forget(key);
      return undefined;
    }
    if (found.number <= after) return undefined;
    results.delete(key);
    results.set(key, found);
    return { value: found.value, number: found.number, ageMs: ageOf(found.begunAt) };
  };

  /** Lets the next waiting process fetch. Without one, the fetch is no longer pending. */
  const assignNext = (key: string, { waiting }: PendingFetch): void => {
    const [next] = waiting;
    if (next === undefined) {
      pending.delete(key);
      return;
    }
    waiting.delete(next);
    const task = createTask(next.channel);
    pending.set(key, { task, waiting });
    next.resolve({ fetchAs: task.number });
  };

  const answerQuestion = (
    channel: Channel,
    { key, after }: FetchQuestion,
    signal: AbortSignal,
  ): FetchAnswer | Promise<FetchAnswer> => {
    const known = findKept(key, after);
    if (known !== undefined) return known;
    const pendingFetch = pending.get(key);
    if (pendingFetch === undefined || now() - pendingFetch.task.begunAt >= WAIT_MS) {
      const task = createTask(channel);
      pending.set(key, { task, waiting: pendingFetch?.waiting ?? new Set() });
      return { fetchAs: task.number };
    }
    return new Promise((resolve) => {
      const waiter: Waiter = { channel, resolve };
      pendingFetch.waiting.add(waiter);
      signal.addEventListener("abort", () => pendingFetch.waiting.delete(waiter), { once: true });
    });
  };

  const handleReport = (body: FetchReport): void => {
    const { key, number, keepMs, value } = body;
    const pendingFetch = pending.get(key);
    // A result of a process that took too long and was given up is ignored.
    if (pendingFetch?.task.number !== number) return;
    if (!("value" in body)) {
      assignNext(key, pendingFetch);
      return;
    }
    pending.delete(key);
    const { begunAt } = pendingFetch.task;
    for (const { resolve } of pendingFetch.waiting) resolve({ value, number, ageMs: ageOf(begunAt) });
    const expiresAt = begunAt + keepMs;
    // A result that must not be kept does not replace one that is still valid.
    if (expiresAt > now()) keep(key, { value, number, begunAt, expiresAt, length: JSON.stringify(value).length });
  };

  return {
    serve(channel) {
      channel.answer("fetch", (body, signal) => answerQuestion(channel, body as FetchQuestion, signal));
      channel.on("fetched", (body) => handleReport(body as FetchReport));
      return () => {
        for (const [key, under] of pending) {
          for (const one of under.waiting) if (one.channel === channel) under.waiting.delete(one);
          if (under.task.channel === channel) assignNext(key, under);
        }
      };
    },
  };
}

/**
 * Runs statements one after the other in the worker: the parser reads the statement and names its tables, rows of one moment
 * are sent, it runs, and the answer comes in parts. Rows that the caller may not read are never sent.
 *
 * The worker is started with the first statement and kept running; one that was stopped is replaced immediately. Limits: those
 * of the parser, a time limit, a queue, and the worker's own counts.
 */

import { anySignal, createSemaphore } from "../../../base/index.ts";
import type { GatherRows } from "../gather-nodes.ts";
import { refusal } from "../refusal.ts";
import { gatherAll } from "./gather-tables.ts";
import type { Value } from "./plan.ts";
import type { FromWorker, ToWorker } from "./query-protocol.ts";
import { type QueryThread, startThread } from "./query-thread.ts";
import { type ReadMoment, type RowPorts, sendRows } from "./send-rows.ts";
import { invalid } from "./tokens.ts";
import type { QueryAnswer, QueryEngine, QueryEngineOptions, QueryRequest } from "./types.ts";

const RUN_LIMIT_MS = 5_000;
/** Maximum number of statements that wait while one runs. */
const MAX_WAITING = 8;
/** Time limit for loading the worker, in milliseconds; it takes a tenth of a second, or much longer on an overloaded machine. */
const START_LIMIT_MS = 30_000;
const IDLE_MS = 5 * 60_000;
/** Maximum length in UTF-16 units; the admin API limits requests to the same. */
const MAX_SQL_LENGTH = 65_536;

export function openQueryEngine(options: QueryEngineOptions): QueryEngine {
  const { sources, index, now, log, runLimitMs = RUN_LIMIT_MS, idleMs = IDLE_MS } = options;
  const queue = createSemaphore({
    permits: 1,
    maxWaiting: MAX_WAITING,
    refusal: () => refusal("busy", `${MAX_WAITING} statements are waiting already.`),
  });
  const closing = new AbortController();
  let thread: QueryThread | undefined;
  let idle: NodeJS.Timeout | undefined;

  const open = (): QueryThread => {
    if (thread === undefined || thread.isEnded) thread = startThread();
    return thread;
  };
  /** Ends a worker and, unless the engine closes, starts the next one. */
  const replace = async (stopped: QueryThread): Promise<void> => {
    await stopped.end();
    if (closing.signal.aborted) return;
    open().keepProcessAlive(false);
  };
  const startIdleTimer = (): void => {
    thread?.keepProcessAlive(false);
    if (closing.signal.aborted) return;
    idle = setTimeout(() => {
      void thread?.end();
      thread = undefined;
    }, idleMs);
    idle.unref();
  };

  /** Runs a statement. If a busy worker must be replaced, only the next statement waits for that. */
  const perform = async (statement: Statement, caller: AbortSignal): Promise<QueryAnswer> => {
    clearTimeout(idle);
    const running = open();
    running.keepProcessAlive(true);
    const signal = anySignal([caller, closing.signal]);
    /** Whether the worker owes a message, which the next statement would take for its own answer. */
    let isAsked = false;
    try {
      await withTimeout(
        running.ready,
        START_LIMIT_MS,
        signal,
        () => new Error("the query worker did not start in time"),
      );
      const inTime = <T>(work: Promise<T>): Promise<T> =>
        withTimeout(work, runLimitMs, signal, () => tooSlow(runLimitMs));
      isAsked = true;
      running.send(statement.plan);
      const { tables } = expectMessage(await inTime(running.next()), "planned");
      const isPermitted = tables.every(({ name }) => statement.plan.tables.includes(name));
      if (!isPermitted) throw new Error("the query worker asked for a table that the caller may not read");
      isAsked = false;
      const gathered = statement.gather && (await gatherAll(tables, options, statement.gather, signal));
      const read = gathered?.sources ?? sources;
      const ask: RowPorts["ask"] = async (message) => {
        isAsked = true;
        running.send(message);
        const { wanted } = expectMessage(await inTime(running.next()), "wanted");
        isAsked = false;
        return wanted;
      };
      const moment = await sendRows(tables, { sources: read, index, now, send: running.send, ask, signal });
      isAsked = true;
      running.send({ kind: "run", now: new Date(moment.now).toISOString() });
      const result = await inTime(fetchAnswer(running, moment));
      isAsked = false;
      return { ...result, ...gathered?.answered };
    } catch (error) {
      // The worker refused the statement: it is ready for the next one.
      if (error instanceof StatementRefused) {
        isAsked = false;
        throw refusal("invalid", error.message, error.reason && { reason: error.reason });
      }
      throw error;
    } finally {
      const release = (): void => {
        startIdleTimer();
        queue.release();
      };
      if (!isAsked && !running.isEnded) release();
      else
        void replace(running).then(release, (error) => {
          log.error("no query worker", { error });
          release();
        });
    }
  };

  return {
    async run({ sql, params, tables, gather, signal }: QueryRequest) {
      signal.throwIfAborted();
      if (closing.signal.aborted) throw stopping();
      if (sql.length > MAX_SQL_LENGTH) throw invalid(`A statement has at most ${MAX_SQL_LENGTH} characters.`);
      const plan: Plan = { kind: "plan", sql, parameters: params.map(checkedParameter), tables };
      await queue.acquire({ signal: anySignal([signal, closing.signal]) });
      return await perform({ plan, gather }, signal);
    },
    async close() {
      closing.abort(stopping());
      clearTimeout(idle);
      await thread?.end();
    },
  };
}

type Plan = Extract<ToWorker, { kind: "plan" }>;

interface Statement {
  readonly plan: Plan;
  readonly gather: GatherRows | undefined;
}

const stopping = (): Error => refusal("busy", "The gateway is stopping.");

const tooSlow = (limitMs: number): Error =>
  refusal(
    "invalid",
    `The statement ran longer than ${limitMs / 1000} s and was stopped: join on equal columns, and filter first.`,
    { reason: "time" },
  );

/** Refusal by the worker; the thread continues. */
class StatementRefused extends Error {
  readonly reason: "rows" | "memory" | undefined;

  constructor(message: string, reason: "rows" | "memory" | undefined) {
    super(message);
    this.reason = reason;
  }
}

async function fetchAnswer(thread: QueryThread, { index }: ReadMoment): Promise<QueryAnswer> {
  const { columns } = expectMessage(await thread.next(), "done");
  const rows: string[] = [];
  for (;;) {
    // Parts are requested one by one, so that each arrives in its own turn of the event loop.
    thread.send({ kind: "more" });
    const { text } = expectMessage(await thread.next(), "part");
    if (text === undefined) return { columns, rows, index };
    rows.push(text);
  }
}

function expectMessage<K extends FromWorker["kind"]>(message: FromWorker, kind: K): Extract<FromWorker, { kind: K }> {
  if (message.kind === "refused") throw new StatementRefused(message.message, message.reason);
  if (message.kind === "fault") throw new Error(`the query worker failed: ${message.message}`);
  if (message.kind !== kind) throw new Error(`the query worker sent ${message.kind} instead of ${kind}`);
  return message as Extract<FromWorker, { kind: K }>;
}

function checkedParameter(value: unknown): Value {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw invalid("A parameter is a text, a number, true, false or null.");
}

async function withTimeout<T>(
  work: Promise<T>,
  timeoutMs: number,
  signal: AbortSignal,
  timeoutError: () => Error,
): Promise<T> {
  signal.throwIfAborted();
  work.catch(() => undefined);
  return await new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    const timer = setTimeout(() => reject(timeoutError()), timeoutMs);
    signal.addEventListener("abort", onAbort, { once: true });
    void work.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    });
  });
}

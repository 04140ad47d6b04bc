/**
 * Repeated read of one need, while it is needed and its session lasts.
 *
 * A list is read with consecutive blocking reads. Between two of them is a pause, so that a list that changes constantly is
 * handled at most twice a second, and one of 25 MB uses at most a tenth of this process's time. Other reads are polled, and
 * repeated when the list that they follow has changed.
 */

import type { TableName } from "../../admin-api/index.ts";
import { formatDuration, pause, systemClock } from "../../base/index.ts";
import { encoded } from "../model/action.ts";
import type { Failure, Gaps, Need } from "../model/data.ts";
import { EVERY_NODE_MS } from "../model/nodes.ts";
import { listParser, plainParser } from "./answer-parsers.ts";
import type { Session } from "./endpoint-session.ts";
import type { ReadIntervals } from "./intervals.ts";
import { type Notifier, pauseUntil } from "./pause.ts";
import { sendRead } from "./read-endpoint.ts";
import { NAMED, ONLY, PLAIN, type PlainId, pathOf } from "./read-rules.ts";
import type { Entry } from "./readings.ts";

interface ReaderOptions {
  readonly entry: Entry;
  readonly session: Session;
  readonly intervals: ReadIntervals;
  /** Ends with the session or the need. */
  readonly signal: AbortSignal;
  now(): number;
}

const ONLY_THIS_NODE: Gaps = { unanswered: [], cut: [], isOfOne: true };

interface ReadAttempt {
  readonly path: string;
  /** True if the gateway holds the answer back until there is a change. */
  readonly isBlocking: boolean;
  /** Returns whether a refused read is repeated immediately in another form. */
  retriesInOtherForm?(failure: Failure): boolean;
  /** Stores the answer. Returns `false` if the text is not a valid one. */
  store(text: string): boolean | Promise<boolean>;
}

/** Keeps a list up to date. `onChange` is called when rows have changed, but not for the first answer. */
export async function watchList(table: TableName, options: ReaderOptions & { onChange(): void }): Promise<void> {
  const { entry, intervals, signal, onChange } = options;
  const need = { id: `list_${table}` } as const satisfies Need;
  const parse = listParser(table);
  const { holdMs, only } = listSelection(table, entry.need.name);
  let everyMs = holdMs;
  let index: number | undefined;
  while (!signal.aborted) {
    const asked = index;
    const query = [
      ...(everyMs === undefined ? [] : ["nodes=all"]),
      ...(only === undefined ? [] : [only]),
      ...(asked === undefined
        ? []
        : [`index=${asked}&wait=${formatDuration(Math.min(intervals.blockMs, everyMs ?? intervals.blockMs))}`]),
    ].join("&");
    const outcome = await readWhenDue(options, {
      path: pathOf(need, query),
      isBlocking: asked !== undefined,
      // An older node answers only for itself.
      retriesInOtherForm({ status }) {
        if (everyMs === undefined || status !== 400) return false;
        everyMs = undefined;
        return true;
      },
      async store(text) {
        const before = entry.value();
        const answer = await parse(text, entry.value);
        if (answer === undefined) return false;
        if (signal.aborted) return true;
        // The index of a restarted node starts at a lower value.
        index = asked !== undefined && answer.index < asked ? undefined : answer.index;
        entry.succeed(answer.rows, EVERY_NODE_MS.has(table) && everyMs === undefined ? ONLY_THIS_NODE : answer.gaps);
        if (asked !== undefined && answer.rows !== before) onChange();
        return true;
      },
    });
    if (outcome === "over") return;
    if (outcome === "failed" || outcome === "declined") index = undefined;
    // Reads of all nodes get a longer pause.
    if (outcome === "taken" && everyMs !== undefined) await pause(2 * intervals.pauseMs, signal);
  }
}

/** Returns which rows are read, and the blocking time if they are read from every node. */
function listSelection(
  table: TableName,
  name: string | undefined,
): { readonly holdMs: number | undefined; readonly only: string | undefined } {
  const named = name === undefined ? undefined : NAMED.get(table);
  if (named === undefined) return { holdMs: EVERY_NODE_MS.get(table), only: ONLY.get(table) };
  return { holdMs: named.holdMs, only: `${named.parameter}=${encoded(name ?? "")}` };
}

interface PlainOptions extends ReaderOptions {
  /** Rings when the followed list has changed. */
  readonly notifier: Notifier;
  readonly need: Need<PlainId>;
  onValue(value: unknown): void;
}

export async function watchPlain(options: PlainOptions): Promise<void> {
  const { entry, need, intervals, signal, notifier, onValue } = options;
  const { every, query, earlier } = PLAIN[need.id];
  const parse = plainParser(need.id);
  let isEarlier = false;
  while (!signal.aborted) {
    const outcome = await readWhenDue(options, {
      path: pathOf(need, isEarlier ? earlier : query, isEarlier),
      isBlocking: false,
      retriesInOtherForm({ status }) {
        if (isEarlier || earlier === undefined || status !== 400) return false;
        isEarlier = true;
        return true;
      },
      store(text) {
        const answer = parse(text, entry.value());
        if (answer === undefined) return false;
        entry.succeed(answer.value, isEarlier ? ONLY_THIS_NODE : answer.gaps);
        onValue(answer.value);
        return true;
      },
    });
    if (outcome === "over" || (outcome === "taken" && every === "once")) return;
    if (outcome === "failed" || outcome === "declined") continue;
    await pause(intervals.followMs, signal);
    await notifier.wait((every === "soon" ? intervals.pollMs : intervals.rarePollMs) - intervals.followMs, signal);
  }
}

/** Performs one read when it is due. `over` means that no further read follows. */
async function readWhenDue(
  { entry, session, intervals, signal, now }: ReaderOptions,
  { path, isBlocking, retriesInOtherForm, store }: ReadAttempt,
): Promise<"taken" | "failed" | "declined" | "over"> {
  await pauseUntil(() => entry.dueAt, signal);
  await session.whenChecked();
  if (signal.aborted) return "over";
  const headMs = intervals.headMs + (isBlocking ? intervals.blockMs : 0);
  const outcome = await whilePending(isBlocking ? entry : undefined, signal, () =>
    sendRead(session.peer, path, { signal, headMs, bodyMs: intervals.bodyMs, now }),
  );
  switch (outcome.kind) {
    case "answered": {
      session.markAnswered();
      if (signal.aborted) return "over";
      const begunAt = systemClock.monotonic();
      const isTaken = await store(outcome.text);
      if (signal.aborted) return "over";
      entry.delayNext(Math.max(intervals.pauseMs, intervals.pauseFactor * (systemClock.monotonic() - begunAt)));
      if (isTaken) return "taken";
      const message = "The answer has an unexpected format; the node may run another version.";
      entry.fail({ status: 200, code: "unintelligible", message, at: now() });
      return "failed";
    }
    case "refused":
      session.markAnswered();
      if (retriesInOtherForm?.(outcome.failure)) return "declined";
      entry.fail(outcome.failure);
      return entry.isForbidden ? "over" : "failed";
    case "unanswered":
      await session.checkEndpoint();
      if (signal.aborted) return "over";
      entry.fail(outcome.failure);
      return "failed";
    case "signed_out":
      session.end(outcome);
      return "over";
    case "ended":
      return "over";
    default:
      return outcome satisfies never;
  }
}

/** Marks the entry as pending while `work` runs and until the signal, since a change would be reported meanwhile. */
async function whilePending<T>(entry: Entry | undefined, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  if (entry === undefined) return await work();
  const end = (): void => entry.setPending(false);
  signal.addEventListener("abort", end, { once: true });
  entry.setPending(true);
  try {
    return await work();
  } finally {
    // After the signal, another reader owns the entry.
    if (!signal.aborted) end();
    signal.removeEventListener("abort", end);
  }
}

/**
 * One thing that is read again and again for as long as it is needed and its session lasts.
 *
 * A list is read with one blocking read after the other. Between two of them is a rest, so that a list that changes all
 * the time is handled twice a second at most, and one of 25 MB takes no more than a tenth of the time of this process.
 * What cannot block is read by the clock, and when the list that it follows has changed.
 */

import type { TableName } from "../../admin-api/index.ts";
import { formatDuration, pause, systemClock } from "../../base/index.ts";
import { encoded } from "../model/action.ts";
import type { Failure, Gaps, Need } from "../model/data.ts";
import { EVERY_NODE_MS } from "../model/nodes.ts";
import { listParser, plainParser } from "./answers.ts";
import { ask } from "./ask.ts";
import type { Pace } from "./pace.ts";
import { type Bell, pauseUntil } from "./pause.ts";
import { NAMED, ONLY, PLAIN, type PlainId, pathOf } from "./readables.ts";
import type { Entry } from "./readings.ts";
import type { Session } from "./session.ts";

export interface ReaderOptions {
  readonly entry: Entry;
  readonly session: Session;
  readonly pace: Pace;
  /** Ends with the session and with the need. */
  readonly signal: AbortSignal;
  now(): number;
}

const OF_ONE: Gaps = { unanswered: [], cut: [], isOfOne: true };

interface Turn {
  readonly path: string;
  /** The gateway holds the answer back until there is something new. */
  readonly isBlocking: boolean;
  /** Of a refusal: true, the question is to be put otherwise at once. */
  isDeclined?(failure: Failure): boolean;
  /** False: it is no answer to this. */
  take(text: string): boolean | Promise<boolean>;
}

/** `onChange`: the rows are others than before; not told of the first answer. */
export async function keepList(table: TableName, options: ReaderOptions & { onChange(): void }): Promise<void> {
  const { entry, pace, signal, onChange } = options;
  const need = { id: `list_${table}` } as const satisfies Need;
  const parse = listParser(table);
  const { holdMs, only } = whichOf(table, entry.need.name);
  let everyMs = holdMs;
  let index: number | undefined;
  while (!signal.aborted) {
    const asked = index;
    const query = [
      ...(everyMs === undefined ? [] : ["nodes=all"]),
      ...(only === undefined ? [] : [only]),
      ...(asked === undefined
        ? []
        : [`index=${asked}&wait=${formatDuration(Math.min(pace.blockMs, everyMs ?? pace.blockMs))}`]),
    ].join("&");
    const outcome = await turn(options, {
      path: pathOf(need, query),
      isBlocking: asked !== undefined,
      // A node of an earlier version tells of itself alone.
      isDeclined({ status }) {
        if (everyMs === undefined || status !== 400) return false;
        everyMs = undefined;
        return true;
      },
      async take(text) {
        const before = entry.value();
        const answer = await parse(text, entry.value);
        if (answer === undefined) return false;
        if (signal.aborted) return true;
        // A node that was started anew counts from elsewhere.
        index = asked !== undefined && answer.index < asked ? undefined : answer.index;
        entry.succeed(answer.rows, EVERY_NODE_MS.has(table) && everyMs === undefined ? OF_ONE : answer.gaps);
        if (asked !== undefined && answer.rows !== before) onChange();
        return true;
      },
    });
    if (outcome === "over") return;
    if (outcome === "failed" || outcome === "declined") index = undefined;
    // What every node is asked for, they are asked for half as often.
    if (outcome === "taken" && everyMs !== undefined) await pause(2 * pace.restMs, signal);
  }
}

/** Which rows are read; `everyMs`: those of every node, an answer being held back for no longer. */
function whichOf(
  table: TableName,
  name: string | undefined,
): { readonly holdMs: number | undefined; readonly only: string | undefined } {
  const named = name === undefined ? undefined : NAMED.get(table);
  if (named === undefined) return { holdMs: EVERY_NODE_MS.get(table), only: ONLY.get(table) };
  return { holdMs: named.holdMs, only: `${named.parameter}=${encoded(name ?? "")}` };
}

export interface PlainOptions extends ReaderOptions {
  /** Rung when the list that it follows has changed. */
  readonly bell: Bell;
  readonly need: Need<PlainId>;
  onValue(value: unknown): void;
}

export async function keepPlain(options: PlainOptions): Promise<void> {
  const { entry, need, pace, signal, bell, onValue } = options;
  const { every, query, earlier } = PLAIN[need.id];
  const parse = plainParser(need.id);
  let isEarlier = false;
  while (!signal.aborted) {
    const outcome = await turn(options, {
      path: pathOf(need, isEarlier ? earlier : query, isEarlier),
      isBlocking: false,
      isDeclined({ status }) {
        if (isEarlier || earlier === undefined || status !== 400) return false;
        isEarlier = true;
        return true;
      },
      take(text) {
        const answer = parse(text, entry.value());
        if (answer === undefined) return false;
        entry.succeed(answer.value, isEarlier ? OF_ONE : answer.gaps);
        onValue(answer.value);
        return true;
      },
    });
    if (outcome === "over" || (outcome === "taken" && every === "once")) return;
    if (outcome === "failed" || outcome === "declined") continue;
    await pause(pace.followMs, signal);
    await bell.wait((every === "soon" ? pace.soonMs : pace.seldomMs) - pace.followMs, signal);
  }
}

/** One read, once it is due. `over`: there is to be no other. */
async function turn(
  { entry, session, pace, signal, now }: ReaderOptions,
  { path, isBlocking, isDeclined, take }: Turn,
): Promise<"taken" | "failed" | "declined" | "over"> {
  await pauseUntil(() => entry.dueAt, signal);
  await session.settled();
  if (signal.aborted) return "over";
  const headMs = pace.headMs + (isBlocking ? pace.blockMs : 0);
  const outcome = await pending(isBlocking ? entry : undefined, signal, () =>
    ask(session.peer, path, { signal, headMs, bodyMs: pace.bodyMs, now }),
  );
  switch (outcome.kind) {
    case "answered": {
      session.answered();
      if (signal.aborted) return "over";
      const begunAt = systemClock.monotonic();
      const isTaken = await take(outcome.text);
      if (signal.aborted) return "over";
      entry.rest(Math.max(pace.restMs, pace.restFactor * (systemClock.monotonic() - begunAt)));
      if (isTaken) return "taken";
      const message = "The answer is not what this console knows as one to its question.";
      entry.fail({ status: 200, code: "unintelligible", message, at: now() });
      return "failed";
    }
    case "refused":
      session.answered();
      if (isDeclined?.(outcome.failure)) return "declined";
      entry.fail(outcome.failure);
      return entry.isForbidden ? "over" : "failed";
    case "unanswered":
      await session.doubt();
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

/** While `work` lasts and `signal` lets it, the entry is one whose change we would hear of. */
async function pending<T>(entry: Entry | undefined, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  if (entry === undefined) return await work();
  const end = (): void => entry.setPending(false);
  signal.addEventListener("abort", end, { once: true });
  entry.setPending(true);
  try {
    return await work();
  } finally {
    // After the signal it is another reader's to say.
    if (!signal.aborted) end();
    signal.removeEventListener("abort", end);
  }
}

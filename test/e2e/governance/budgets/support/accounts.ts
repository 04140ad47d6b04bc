/**
 * The charge that calls must have, by design decisions, section 6, and by the simulator's usage. Each call has a lower
 * and an upper bound; for a completed or failed one they are equal:
 *
 *   completed             its usage, as the simulator counted it and as its answer reported it
 *   failed, refused       nothing
 *   broken, left          the usage known when it broke off, which is at least what its client had seen, else the
 *                         reservation: at least one unit, and at least the pieces of text that its client had read;
 *                         at most the bound of its tokens
 *   left, never sent on   nothing
 *   unreachable           for a killed process: nothing, or everything it could use; nothing if it was never sent on
 */
import assert from "node:assert/strict";
import type { Counts } from "../../../../../src/simulator/index.ts";
import type { Called, End } from "./calls.ts";
import { FAILING_FIRST } from "./members.ts";

export interface Bounds {
  readonly lower: number;
  readonly upper: number;
}

/** Events of a stream without text. */
const EVENTS_AROUND = 8;

const exactly = (units: number): Bounds => ({ lower: units, upper: units });

/** Bounds in tokens. `counts` come from the simulator once nothing is in flight. */
export function boundsOf(called: Called, counts: Counts): Bounds {
  const { plan, end } = called;
  const { model, atMost } = plan;
  switch (end) {
    case "completed":
      return exactly(usageOf(called, counts));
    case "failed":
    case "refused":
      return exactly(0);
    case "broken":
      return { lower: leastOf(called), upper: atMost };
    case "left":
      return counts.byModel[model] === undefined ? exactly(0) : { lower: leastOf(called), upper: atMost };
    case "unreachable":
      return counts.byModel[model] === undefined ? exactly(0) : { lower: 0, upper: atMost };
  }
}

const leastOf = ({ reportedUsage, events }: Called): number => reportedUsage ?? Math.max(1, events - EVENTS_AROUND);

/** Bounds in calls, where each costs one. */
export function flatBoundsOf({ plan, end }: Called, counts: Counts): Bounds {
  const isSeen = counts.byModel[plan.model] !== undefined;
  switch (end) {
    case "completed":
    case "broken":
      return exactly(1);
    case "failed":
    case "refused":
      return exactly(0);
    case "left":
      return exactly(isSeen ? 1 : 0);
    case "unreachable":
      return { lower: 0, upper: isSeen ? 1 : 0 };
  }
}

function usageOf({ plan, reportedUsage }: Called, counts: Counts): number {
  const { model } = plan;
  if (model in FAILING_FIRST) return reportedUsage ?? assert.fail(`nobody knows what the answer of ${model} used`);
  const { input, output } = counts.tokensByModel[model] ?? assert.fail(`the provider never answered ${model}`);
  if (reportedUsage !== undefined) assert.equal(reportedUsage, input + output, `${model}: reported and counted`);
  return input + output;
}

export function sumOf(all: readonly Bounds[]): Bounds {
  return {
    lower: all.reduce((sum, { lower }) => sum + lower, 0),
    upper: all.reduce((sum, { upper }) => sum + upper, 0),
  };
}

export function assertWithin(used: number, { lower, upper }: Bounds, what: string): void {
  const isWithin = lower <= used && used <= upper;
  assert.ok(isWithin, `${what}: charged ${used}, and it must be ${lower === upper ? lower : `${lower} to ${upper}`}`);
}

/** Returns the number of calls by outcome, as a line of output. */
export function tallyOf(calls: readonly Called[]): string {
  const counts = new Map<End, number>();
  for (const { end } of calls) counts.set(end, (counts.get(end) ?? 0) + 1);
  return [...counts].map(([end, count]) => `${count} ${end}`).join(", ");
}

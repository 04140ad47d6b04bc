/** The clocks of others: which reading counts, what the median is, and what a leader stamps. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createClocks } from "../../../src/server/cluster/clocks.ts";

const HOUR = 3_600_000;

function clocksOf(offsets: Readonly<Record<string, number>>) {
  let now = 0;
  const clocks = createClocks(() => now);
  for (const [id, offsetMs] of Object.entries(offsets)) clocks.note(id, { offsetMs, roundTripMs: 2 });
  return {
    clocks,
    pass(ms: number) {
      now += ms;
    },
  };
}

test("a leader that is ahead of the median stamps the median, and nobody else moves the time of the log", () => {
  const cases: readonly (readonly [Readonly<Record<string, number>>, lead: number, stamp: number])[] = [
    [{}, 0, 0],
    [{ b: 0, c: 1 }, 0, 0],
    // This clock is fast, and slow.
    [{ b: -HOUR, c: -HOUR + 5 }, HOUR - 5, -HOUR + 5],
    [{ b: HOUR, c: HOUR }, -HOUR, 0],
    // Another's is.
    [{ b: HOUR, c: 3 }, -3, 0],
    [{ b: -HOUR, c: 3 }, 0, 0],
    // Of two nobody knows which is right: the earlier one harms less.
    [{ b: -HOUR }, HOUR, -HOUR],
    [{ b: HOUR }, 0, 0],
    // Within what clocks do.
    [{ b: -1_900, c: -1_900 }, 1_900, 0],
    [{ b: -2_100, c: -2_100 }, 2_100, -2_100],
    [{ b: -HOUR, c: -HOUR, d: 0, e: 2 }, 0, 0],
    [{ b: -HOUR, c: -HOUR, d: -HOUR, e: 2 }, HOUR, -HOUR],
  ];
  for (const [offsets, lead, stamp] of cases) {
    const { clocks } = clocksOf(offsets);
    assert.equal(clocks.lead(), lead, JSON.stringify(offsets));
    assert.equal(clocks.stamp(10 * HOUR), 10 * HOUR + stamp, JSON.stringify(offsets));
  }
});

test("the quickest of the newest readings counts, an old one does not, and a clock that was set is read anew", () => {
  const { clocks, pass } = clocksOf({});
  clocks.note("b", { offsetMs: 40, roundTripMs: 90 });
  clocks.note("b", { offsetMs: 3, roundTripMs: 1 });
  clocks.note("b", { offsetMs: -30, roundTripMs: 70 });
  assert.equal(clocks.offsetOf("b"), 3);
  clocks.note("b", { offsetMs: -HOUR, roundTripMs: 500 });
  assert.equal(clocks.offsetOf("b"), -HOUR);
  assert.equal(clocks.lead(), HOUR);
  pass(600_001);
  assert.equal(clocks.offsetOf("b"), undefined);
  assert.equal(clocks.lead(), 0);
});

test("who is a member no more has no say", () => {
  const { clocks } = clocksOf({ b: -HOUR, c: -HOUR });
  clocks.keepOnly(["b"]);
  assert.equal(clocks.offsetOf("c"), undefined);
  clocks.keepOnly([]);
  assert.equal(clocks.lead(), 0);
});

/** Clocks of other members: which reading counts, the median, and a leader's stamps. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createClocks } from "../../../../src/server/cluster/time/clocks.ts";

const HOUR = 3_600_000;
const EPOCH = 1_700_000_000_000;

/** A node with a right clock unless it is set, and readings of others by their offset from the right time. */
function clocksOf(offsets: Readonly<Record<string, number>>) {
  let monotonic = 0;
  let setBy = 0;
  const steps: number[] = [];
  const clocks = createClocks({
    wall: () => EPOCH + monotonic + setBy,
    monotonic: () => monotonic,
    onStep: (byMs) => steps.push(byMs),
  });
  const read = (id: string, ahead: number, roundTripMs = 2): void =>
    clocks.addReading(id, { atMs: EPOCH + monotonic + ahead, monotonicMs: monotonic, roundTripMs });
  for (const [id, ahead] of Object.entries(offsets)) read(id, ahead);
  return {
    clocks,
    steps,
    read,
    /** Offset of the time it uses from the right time. */
    ahead: () => clocks.now() - EPOCH - monotonic,
    pass(ms: number) {
      monotonic += ms;
    },
    set(ms: number) {
      setBy = ms;
    },
  };
}

test("a node follows the median if its clock is far from it, and no other clock moves it", () => {
  const cases: readonly (readonly [Readonly<Record<string, number>>, lead: number, ahead: number])[] = [
    [{}, 0, 0],
    [{ b: 0, c: 1 }, 0, 0],
    // This clock is fast, and slow.
    [{ b: -HOUR, c: -HOUR + 5 }, HOUR - 5, -HOUR + 5],
    [{ b: HOUR, c: HOUR }, -HOUR, HOUR],
    // Another clock is off.
    [{ b: HOUR, c: 3 }, -3, 0],
    [{ b: -HOUR, c: 3 }, 0, 0],
    // Between two clocks it is unknown which is right; the earlier one does less harm.
    [{ b: -HOUR }, HOUR, -HOUR],
    [{ b: HOUR }, 0, 0],
    // Within normal variation.
    [{ b: -1_900, c: -1_900 }, 1_900, 0],
    [{ b: -2_100, c: -2_100 }, 2_100, -2_100],
    [{ b: 1_900, c: 1_900 }, -1_900, 0],
    [{ b: -HOUR, c: -HOUR, d: 0, e: 2 }, 0, 0],
    [{ b: -HOUR, c: -HOUR, d: -HOUR, e: 2 }, HOUR, -HOUR],
  ];
  for (const [offsets, lead, ahead] of cases) {
    const made = clocksOf(offsets);
    assert.equal(made.clocks.aheadOfMedian(), lead, JSON.stringify(offsets));
    assert.equal(made.ahead(), ahead, JSON.stringify(offsets));
  }
});

for (const [others, name] of [
  [{ b: 0, c: 1, d: -2, e: 2 }, "of five"],
  [{ b: 0, c: 1 }, "of three"],
  [{ b: 0 }, "of two"],
  [{}, "alone"],
] as const) {
  for (const step of [600_000, -600_000, HOUR, -HOUR, 700, -700]) {
    test(`a node ${name} whose clock is stepped by ${step} ms for seconds keeps the previous time`, () => {
      const made = clocksOf(others);
      made.pass(2_000);
      made.set(step);
      for (let waited = 0; waited < 4_000; waited += 50) {
        assert.ok(Math.abs(made.ahead()) <= 2, `${made.ahead()} after ${waited} ms`);
        made.pass(50);
        if (waited % 2_500 === 0) for (const [id, ahead] of Object.entries(others)) made.read(id, ahead);
      }
      assert.deepEqual(made.steps, [step]);
      made.set(0);
      assert.ok(Math.abs(made.ahead()) <= 2);
      made.pass(20_000);
      assert.ok(Math.abs(made.ahead()) <= 2);
    });
  }
}

test("a lasting step is followed after ten seconds if no other node can tell, and at once if another confirms it", () => {
  const alone = clocksOf({});
  alone.set(HOUR);
  alone.ahead();
  alone.pass(9_000);
  assert.equal(alone.ahead(), 0);
  alone.pass(2_000);
  assert.equal(alone.ahead(), HOUR);

  const confirmed = clocksOf({ b: 0, c: 0 });
  confirmed.set(HOUR);
  confirmed.read("b", HOUR + 20);
  assert.equal(confirmed.ahead(), HOUR);
  // A clock that jumps back and forth never settles.
  const unsteady = clocksOf({});
  for (let turn = 0; turn < 20; turn += 1) {
    unsteady.set(turn % 2 === 0 ? HOUR : 2 * HOUR);
    assert.equal(unsteady.ahead(), 0);
    unsteady.pass(3_000);
  }
});

test("a clock that is adjusted gradually is followed without a step", () => {
  const made = clocksOf({ b: 0, c: 0 });
  for (let turn = 0; turn < 100; turn += 1) {
    made.set(turn * 15);
    assert.equal(made.ahead(), turn * 15);
    made.pass(50);
  }
  assert.deepEqual(made.steps, []);
});

test("whatever the clocks of a minority do, a node's time is within two seconds of the right one", () => {
  const anyStep = fc.integer({ min: -2 * HOUR, max: 2 * HOUR });
  fc.assert(
    fc.property(
      fc.array(fc.record({ step: anyStep, after: fc.integer({ min: 0, max: 15_000 }), isOwn: fc.boolean() }), {
        maxLength: 30,
      }),
      (turns) => {
        const made = clocksOf({ b: 0, c: 10, d: -10, e: 3 });
        let other = 0;
        for (const { step, after, isOwn } of turns) {
          if (isOwn) made.set(step);
          else other = step;
          made.read("b", other);
          made.pass(after);
          assert.ok(Math.abs(made.ahead()) <= 2_015, `${made.ahead()}`);
        }
      },
    ),
    { numRuns: 300 },
  );
});

test("the fastest of the newest readings counts, an old one does not, and a stepped clock is read again", () => {
  const made = clocksOf({});
  made.read("b", 40, 90);
  made.read("b", 3, 1);
  made.read("b", -30, 70);
  assert.equal(made.clocks.offsetOf("b"), 3);
  made.read("b", -HOUR, 500);
  assert.equal(made.clocks.offsetOf("b"), -HOUR);
  assert.equal(made.clocks.aheadOfMedian(), HOUR);
  made.pass(600_001);
  assert.equal(made.clocks.offsetOf("b"), undefined);
  assert.equal(made.clocks.aheadOfMedian(), 0);
});

test("a removed member has no influence", () => {
  const { clocks } = clocksOf({ b: -HOUR, c: -HOUR });
  clocks.keepOnly(["b"]);
  assert.equal(clocks.offsetOf("c"), undefined);
  clocks.keepOnly([]);
  assert.equal(clocks.aheadOfMedian(), 0);
});

/** The verdict on a day: ratio and floor, direction and scope, classes missing on one side. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { dayOf, daysIn, isMature, lookbackWindow, startOfDayMs } from "../../../../src/server/reconcile/judge/days.ts";
import {
  compareUsage,
  isDrift,
  type MeteredUsage,
  NOTHING_REPORTED,
  type Tokens,
  verdictOf,
} from "../../../../src/server/reconcile/judge/judge-usage.ts";

const RULES = { driftRatio: 0.02, driftFloor: 10_000 };

const NO_TOKENS: Tokens = { input: 0, cached_input: 0, cache_creation_input: 0, output: 0 };
const metered = (tokens: Partial<Tokens>): MeteredUsage => ({ tokens: { ...NO_TOKENS, ...tokens }, unmeasured: 0 });

describe("drift", () => {
  const CASES: readonly (readonly [why: string, metered: number, reported: number, breaches: boolean])[] = [
    ["three percent of a million", 970_000, 1_000_000, true],
    ["three percent the other way", 1_000_000, 970_000, true],
    ["1.9 percent", 981_000, 1_000_000, false],
    ["two percent to the token is no more than two percent", 980_000, 1_000_000, false],
    ["one more token", 979_999, 1_000_000, true],
    ["all of it, below the floor", 0, 9_999, false],
    ["all of it, at the floor", 0, 10_000, true],
    ["nothing on either side", 0, 0, false],
    ["the same on both", 5_000_000, 5_000_000, false],
  ];
  for (const [why, one, other, breaches] of CASES) {
    it(why, () => assert.equal(isDrift({ metered: one, reported: other }, RULES), breaches));
  }

  it("without ratio and floor counts any difference, and none counts as zero", () => {
    const rules = { driftRatio: 0, driftFloor: 0 };
    assert.equal(isDrift({ metered: 1, reported: 0 }, rules), true);
    assert.equal(isDrift({ metered: 0, reported: 0 }, rules), false);
  });

  it("is symmetric and never above the whole", () => {
    const count = fc.integer({ min: 0, max: 2 ** 50 });
    fc.assert(
      fc.property(count, count, fc.double({ min: 0, max: 1, noNaN: true }), count, (a, b, driftRatio, driftFloor) => {
        const rules = { driftRatio, driftFloor };
        assert.equal(isDrift({ metered: a, reported: b }, rules), isDrift({ metered: b, reported: a }, rules));
        const { ratio, delta } = verdictOf({ class: "input", metered: a, reported: b }, false, "keys");
        assert.ok(ratio >= 0 && ratio <= 1);
        assert.equal(delta, a - b);
        if (isDrift({ metered: a, reported: b }, rules)) assert.ok(Math.abs(delta) >= driftFloor && delta !== 0);
      }),
    );
  });
});

describe("verdict", () => {
  const CASES = [
    ["organisation", 1, 2, true, "under", false],
    ["organisation", 2, 1, true, "over", true],
    ["keys", 1, 2, true, "under", true],
    ["keys", 2, 1, true, "over", true],
    ["keys", 2, 2, false, "equal", false],
    ["organisation", 2, 1, false, "over", false],
  ] as const;
  for (const [scope, one, other, breach, direction, hard] of CASES) {
    it(`of ${one} metered and ${other} reported, scope ${scope}, is ${direction} and ${hard ? "hard" : "soft"}`, () => {
      const verdict = verdictOf({ class: "output", metered: one, reported: other }, breach, scope);
      assert.deepEqual([verdict.direction, verdict.hard], [direction, hard]);
    });
  }
});

describe("comparison", () => {
  const input = metered({ input: 100, cached_input: 30, cache_creation_input: 20, output: 7 });

  it("covers each class that the report has", () => {
    const tokens = { input: 1, cached_input: null, cache_creation_input: 2, output: null };
    assert.deepEqual(compareUsage(input, { tokens, joined: [] }), [
      { class: "input", metered: 100, reported: 1 },
      { class: "cache_creation_input", metered: 20, reported: 2 },
    ]);
  });

  it("uses the sum of classes that the report does not separate", () => {
    const tokens = { input: 150, cached_input: null, cache_creation_input: null, output: 7 };
    assert.deepEqual(compareUsage(input, { tokens, joined: ["cached_input", "cache_creation_input"] }), [
      { class: "input", metered: 150, reported: 150 },
      { class: "output", metered: 7, reported: 7 },
    ]);
  });

  it("covers every class of a day without a report", () => {
    assert.deepEqual(
      compareUsage(input, NOTHING_REPORTED).map(({ reported }) => reported),
      [0, 0, 0, 0],
    );
  });
});

describe("days", () => {
  const NOW = Date.parse("2026-11-20T13:14:15.678Z");
  const HOUR = 3_600_000;

  it("in a window are the past days of the lookback", () => {
    assert.deepEqual(daysIn(lookbackWindow(NOW, 72 * HOUR)), ["2026-11-17", "2026-11-18", "2026-11-19"]);
    assert.deepEqual(daysIn(lookbackWindow(startOfDayMs("2026-03-01"), 24 * HOUR)), ["2026-02-28"]);
    assert.equal(daysIn(lookbackWindow(NOW, 248 * 24 * HOUR)).length, 248);
  });

  it("are mature to the millisecond", () => {
    const at = startOfDayMs("2026-11-20") + 48 * HOUR;
    assert.equal(isMature("2026-11-19", at, 48 * HOUR), true);
    assert.equal(isMature("2026-11-19", at - 1, 48 * HOUR), false);
  });

  it("stay the same day from the first to the last moment", () => {
    assert.equal(dayOf(startOfDayMs("2024-02-29")), "2024-02-29");
    assert.equal(dayOf(startOfDayMs("2024-03-01") - 1), "2024-02-29");
  });
});

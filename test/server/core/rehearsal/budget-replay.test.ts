/** Replayed budgets: refused or admitted only if both bounds of the usage agree. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BudgetReplay, type ReplayedRequest } from "../../../../src/server/core/rehearsal/index.ts";

const HOUR = 3_600_000;
const terms = (limit: number, windowMs = HOUR) => ({ budget: "day", bucket: "b/day", limit, windowMs });
const request = (at: number, facts: Partial<ReplayedRequest> = {}): ReplayedRequest => ({
  at,
  totalMs: 10,
  units: 10,
  least: 10,
  most: 10,
  charged: 10,
  ...facts,
});
const nothing = () => ({ least: 0, most: 0 });
const fitText = (fits: ReturnType<BudgetReplay["fits"]>): string => (typeof fits === "string" ? fits : fits.kind);

describe("replayed budget", () => {
  test("refuses the request that no longer fits, and admits again in the next window", () => {
    const replay = new BudgetReplay(nothing);
    const found = [0, 100, 200, 300].map((at) => {
      const fits = replay.fits(terms(30), request(at));
      if (fits === "fits") replay.charge(terms(30), request(at), true);
      return fitText(fits);
    });
    assert.deepEqual(found, ["fits", "fits", "fits", "exhausted"]);
    assert.equal(fitText(replay.fits(terms(30), request(HOUR))), "fits");
  });

  test("does not guess if requests overlap, costs are unknown, or the window began before the records", () => {
    const overlapping = new BudgetReplay(nothing);
    overlapping.charge(terms(25), request(0, { totalMs: 500, units: 10, most: 20 }), true);
    assert.equal(fitText(overlapping.fits(terms(25), request(100))), "unknown");
    assert.equal(fitText(overlapping.fits(terms(25), request(600))), "fits");
    const unpriced = new BudgetReplay(nothing);
    unpriced.charge(terms(25), request(0, { units: undefined, most: undefined }), true);
    assert.equal(fitText(unpriced.fits(terms(25), request(100))), "unknown");
    const begun = new BudgetReplay(() => ({ least: 0, most: Number.POSITIVE_INFINITY }));
    assert.equal(fitText(begun.fits(terms(25), request(100))), "unknown");
    const spent = new BudgetReplay(() => ({ least: 20, most: 20 }));
    assert.equal(fitText(spent.fits(terms(25), request(100))), "exhausted");
  });

  test("treats a request that may be refused as one that may cost nothing", () => {
    const replay = new BudgetReplay(nothing);
    replay.charge(terms(20), request(0, { units: 15, most: 15 }), false);
    assert.equal(fitText(replay.fits(terms(20), request(100))), "unknown");
    assert.equal(fitText(replay.fits(terms(30), request(100))), "fits");
    assert.deepEqual({ ...replay.driftOf(terms(20), 100) }.hasLess, true);
  });

  test("estimates a request without a bound by earlier costs if it runs alone", () => {
    const replay = new BudgetReplay(nothing);
    const open = (at: number) => request(at, { least: 5, most: 1_000 });
    replay.charge(terms(100), open(0), true);
    assert.equal(fitText(replay.fits(terms(100), open(100))), "fits");
    assert.equal(fitText(replay.fits(terms(12), open(100))), "unknown");
    assert.equal(fitText(replay.fits(terms(10), open(100))), "exhausted");
  });
});

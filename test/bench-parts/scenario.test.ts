/** Shared by the scenario benches: their command line, and figures with targets as table and JSON. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { countMissed, type Figure, figuresAsJson, isMet, renderFigures, showNumber } from "../bench/parts/figures.ts";
import { guarded, parseScenarioOptions, usageOf } from "../bench/parts/scenario.ts";

const figure = (value: number, aim: Figure["aim"]): Figure => ({ name: "one", value, unit: "ms", aim, detail: "so" });

describe("command line of a scenario bench", () => {
  it("accepts flags with one dash and with two, and several scenarios", () => {
    const asked = parseScenarioOptions(["-quick", "--only", "a", "-only=b", "-profile", "there"], ["a", "b"]);
    assert.deepEqual(asked, {
      isQuick: true,
      isJson: false,
      only: ["a", "b"],
      profileFolder: "there",
      isStrict: false,
    });
  });

  it("refuses an unknown scenario and lists the known ones", () => {
    assert.throws(() => parseScenarioOptions(["-only", "c"], ["a", "b"]), /no scenario c; there are a, b/);
  });

  it("names every flag in its usage", () => {
    for (const flag of ["--quick", "--only", "--json", "--profile", "--strict"]) {
      assert.ok(usageOf("bench:one").includes(`  ${flag} `), flag);
    }
  });
});

describe("figures", () => {
  it("are met at the target itself, and by no missing value", () => {
    assert.equal(isMet(1.5, { atMost: 1.5 }), true);
    assert.equal(isMet(1.4, { atLeast: 1.5 }), false);
    assert.equal(isMet(Number.NaN, { atLeast: 0 }), false);
    assert.equal(isMet(9, undefined), undefined);
  });

  it("are counted as missed only if there is a target", () => {
    assert.equal(countMissed([figure(2, { atMost: 1 }), figure(1, { atMost: 1 }), figure(9, undefined)]), 1);
  });

  it("show a column of the bench's own before the detail", () => {
    const table = renderFigures([figure(2, { atMost: 1 })], [{ heading: "R", cell: ({ unit }) => `of ${unit}` }]);
    const [heading = "", row = ""] = table.split("\n");
    assert.match(heading, /value +aim +R$/);
    assert.match(row, /one +2\.00 ms +<= 1 +NOT MET +of ms +so$/);
  });

  it("report in JSON whether they are met, and null without a target", () => {
    const parsed = JSON.parse(figuresAsJson([figure(2, { atMost: 1 }), figure(2, undefined)])) as readonly {
      readonly met: unknown;
    }[];
    assert.deepEqual(
      parsed.map(({ met }) => met),
      [false, null],
    );
  });

  it("keep the digits of a small ratio", () => {
    assert.equal(showNumber(0.00784), "0.0078");
    assert.equal(showNumber(-0.0005), "-0.0005");
    assert.equal(showNumber(0), "0");
    assert.equal(showNumber(2.5), "2.50");
    assert.equal(showNumber(1234.5), "1235");
  });

  it("of a failing scenario are one missed figure with the reason", async () => {
    const failing = { name: "one", run: () => Promise.reject(new Error("no such thing")) };
    const [only, ...rest] = await guarded(failing, undefined);
    assert.deepEqual(rest, []);
    assert.equal(only?.detail, "no such thing");
    assert.equal(countMissed(only === undefined ? [] : [only]), 1);
  });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { closestName } from "../../src/base/index.ts";

test("the suggested key is close enough to be a typo, or undefined", () => {
  const keys = ["listen", "metrics_listen", "deployment", "on"];
  for (const [typo, meant] of [
    ["lisen", "listen"],
    ["lsiten", "listen"],
    ["Listen", "listen"],
    ["metrics-listen", "metrics_listen"],
    ["deploymnet", "deployment"],
    ["no", "on"],
    ["cluster", undefined],
    ["", undefined],
    ["x".repeat(100), undefined],
  ] as const) {
    assert.equal(closestName(typo, keys), meant, typo);
  }
});

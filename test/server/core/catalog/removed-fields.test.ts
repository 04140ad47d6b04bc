import assert from "node:assert/strict";
import { test } from "node:test";
import { lostWithout } from "../../../../src/server/core/catalog/index.ts";

test("a removed field removes its capabilities, and an unknown field removes none", () => {
  assert.deepEqual([...lostWithout(["temperature"]).keys()], ["sampling", "temperature_above_one", "top_p_pair"]);
  assert.deepEqual([...lostWithout(["toString", "x_own"])], []);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { lostWithout } from "../../../../src/server/core/catalog/index.ts";

test("a removed field takes its capabilities with it, and an unknown one none", () => {
  assert.deepEqual([...lostWithout(["temperature"]).keys()], ["sampling", "temperature_above_one", "top_p_pair"]);
  assert.deepEqual([...lostWithout(["toString", "x_own"])], []);
});

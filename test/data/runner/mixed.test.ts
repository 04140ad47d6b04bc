/** Tests that pass, fail and are skipped, for test/runner/run.test.ts. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";

test("one that passes", () => {});
test("one that fails: isn't (2 + 2) [5]?", () => assert.equal(2 + 2, 5));
test("one that is skipped", { skip: "no such program" }, () => {});
describe("a group", () => {
  test("that has a failure", () => assert.fail());
});

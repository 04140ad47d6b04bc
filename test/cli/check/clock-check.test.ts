import assert from "node:assert/strict";
import { test } from "node:test";
import { clockFault } from "../../../src/cli/check/clock-check.ts";

const DATE = "Tue, 03 Mar 2026 10:00:00 GMT";
const AT = Date.parse(DATE);

const CASES: readonly (readonly [what: string, ours: number, message: RegExp | undefined])[] = [
  ["the same", AT, undefined],
  ["4 s ahead", AT + 4_000, undefined],
  ["4 s behind", AT - 4_000, undefined],
  ["a minute ahead", AT + 61_000, /is 60 s ahead of the server's/],
  ["an hour behind", AT - 3_600_000, /is 3600 s behind the server's/],
];

for (const [what, ours, message] of CASES) {
  test(`a clock that is ${what} ${message === undefined ? "passes" : "is reported"}`, () => {
    const fault = clockFault({ date: DATE }, ours, ours);
    if (message === undefined) assert.equal(fault, undefined);
    else assert.match(fault ?? "", message);
  });
}

test("a slow answer, a cached one, one without a date and one with an invalid date are ignored", () => {
  assert.equal(clockFault({ date: DATE }, AT - 30_000, AT + 30_000), undefined);
  assert.equal(clockFault({ date: DATE, age: "90" }, AT + 90_000, AT + 90_000), undefined);
  assert.equal(clockFault({}, AT + 90_000, AT + 90_000), undefined);
  assert.equal(clockFault({ date: "yesterday" }, AT, AT), undefined);
});

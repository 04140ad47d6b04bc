/** A refusing budget is recorded once a minute, with the number of refusals. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayError } from "../../../../src/base/index.ts";
import { recordBudgets } from "../../../../src/server/dataplane/refusals/index.ts";

const refusal = (budget: string, requestId: string) =>
  ({
    caller: undefined,
    code: "budget_exhausted",
    by: { kind: "budget", name: budget, bucket: `b/${budget}` },
    requestId,
  }) as const;

test("the first refusal is recorded at once, the others together a minute later, and then nothing", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const reported: unknown[] = [];
  const records = recordBudgets({
    record: ({ data }) => void reported.push([data["budget"], data["refused"], data["request"]]),
  });
  records.add(refusal("day", "r1"));
  records.add(refusal("month", "r2"));
  for (let n = 3; n < 103; n += 1) records.add(refusal("day", `r${n}`));
  records.add({ ...refusal("day", "x"), by: { kind: "rule", name: "day" } });
  assert.deepEqual(reported.splice(0), [
    ["day", 1, "r1"],
    ["month", 1, "r2"],
  ]);
  t.mock.timers.tick(60_000);
  assert.deepEqual(reported.splice(0), [["day", 100, "r102"]]);
  t.mock.timers.tick(600_000);
  assert.deepEqual(reported, []);
  records.add(refusal("day", "r200"));
  assert.deepEqual(reported, [["day", 1, "r200"]]);
  records.close();
});

test("records that a full trail refused are included in the next one, and the rest at the end", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const reported: unknown[] = [];
  let isFull = true;
  const records = recordBudgets({
    record({ data }) {
      if (isFull) throw new GatewayError("audit_unavailable", "full");
      reported.push(data["refused"]);
    },
  });
  records.add(refusal("day", "r1"));
  records.add(refusal("day", "r2"));
  t.mock.timers.tick(60_000);
  isFull = false;
  t.mock.timers.tick(60_000);
  assert.deepEqual(reported, [2]);
  records.add(refusal("day", "r3"));
  records.close();
  assert.deepEqual(reported, [2, 1]);
});

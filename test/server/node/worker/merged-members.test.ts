import assert from "node:assert/strict";
import { test } from "node:test";
import { mergedMembers } from "../../../../src/server/node/worker/merged-members.ts";
import type { PoolMember } from "../../../../src/server/upstream/index.ts";

const member = (endpoint: string, facts: Partial<PoolMember> = {}): PoolMember => ({
  ...{ endpoint, state: "ok", inFlight: 1, attempts: 2, failures: 0, lastFailure: undefined, failingSince: undefined },
  subsets: [],
  ...facts,
});

test("a server reached by several processes is one row with the sum of their counts", () => {
  const early = { code: "ECONNREFUSED", at: 10 };
  const late = { code: "ETIMEDOUT", at: 20 };
  assert.deepEqual(
    mergedMembers([
      [member("a"), member("b", { state: "idle", subsets: ["y"] })],
      [],
      [
        member("a", { state: "failing", failures: 1, lastFailure: late, failingSince: 20 }),
        member("b", { state: "draining", subsets: ["x", "y"] }),
        member("c"),
      ],
      [member("a", { state: "failing", failures: 2, lastFailure: early, failingSince: 10 })],
    ]),
    [
      member("a", { inFlight: 3, attempts: 6, state: "failing", failures: 3, lastFailure: late, failingSince: 10 }),
      member("b", { inFlight: 2, attempts: 4, state: "idle", subsets: ["x", "y"] }),
      member("c"),
    ],
  );
});

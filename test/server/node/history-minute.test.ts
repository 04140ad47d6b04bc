/** Ten-second points combined into points of a minute. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { minutePoints } from "../../../src/server/node/history-minute.ts";

const at = Date.UTC(2026, 10, 20, 12);
const point = (second: number, measures: object, name = "a", kind = "backends") => ({
  ...{ kind, name, at: at + second * 1_000, measures },
});

test("counts are summed, and the largest values of in-flight, index and 95th percentile are kept", () => {
  const [minute, ...others] = minutePoints(
    [
      point(0, { attempts: 4, failures: 1, in_flight: 3, ttfb_p95_ms: 90, used: 7, applied_index: 11 }),
      point(10, { attempts: 6, in_flight: 2, ttfb_p95_ms: 400, used: 3, applied_index: 15 }),
    ],
    at,
  );
  assert.deepEqual(others, []);
  assert.deepEqual(minute, {
    ...{ kind: "backends", name: "a", at },
    measures: { attempts: 10, failures: 1, used: 10, in_flight: 3, applied_index: 15, ttfb_p95_ms: 400 },
  });
});

test("the median of the first byte is weighted by attempts, and other means are not", () => {
  const [minute] = minutePoints(
    [
      point(0, { attempts: 30, ttfb_p50_ms: 100, commit_ms: 2, held_bytes: 100 }),
      point(10, { attempts: 10, ttfb_p50_ms: 200, commit_ms: 5, held_bytes: 201 }),
      point(20, { attempts: 5, ttfb_p50_ms: null, commit_ms: null }),
    ],
    at,
  );
  assert.deepEqual(minute?.measures, { attempts: 45, ttfb_p50_ms: 125, commit_ms: 3.5, held_bytes: 151 });
});

test("findings are summed by type, most frequent first, and series stay separate", () => {
  const minute = minutePoints(
    [
      point(0, { types: [{ type: "EMAIL", findings: 1 }] }, "pii", "guardrails"),
      point(
        10,
        {
          types: [
            { type: "CARD", findings: 3 },
            { type: "EMAIL", findings: 1 },
          ],
        },
        "pii",
        "guardrails",
      ),
      point(10, { decisions: 2 }, "pii", "budgets"),
    ],
    at,
  );
  assert.deepEqual(
    minute.map(({ kind, measures }) => [kind, measures]),
    [
      [
        "guardrails",
        {
          types: [
            { type: "CARD", findings: 3 },
            { type: "EMAIL", findings: 2 },
          ],
        },
      ],
      ["budgets", { decisions: 2 }],
    ],
  );
});

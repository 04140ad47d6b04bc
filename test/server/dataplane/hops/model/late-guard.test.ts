/**
 * Times at which a guard calls its detectors: for requests, which have an answer, and for messages, which have none.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Segment } from "../../../../../src/server/core/guardrails/index.ts";
import { eventually } from "../../../../e2e/support/wait.ts";
import { occasion } from "../../support/guards.ts";
import { lateGuard } from "./late.ts";

const { signal } = new AbortController();
const segmentsOf = (text: string): readonly Segment[] => [{ kind: "user", text, ref: "", turn: 0, isReadOnly: false }];
const detectors = [
  { type: "pii", name: "now" },
  { type: "pii", name: "beside", schedule: "overlap" },
  { type: "pii", name: "later", schedule: "async" },
] as const;

test("a request calls detectors beside the call in a second step, which rewrites nothing and reports nothing twice", async () => {
  const rules = [{ name: "all", action: "redact" }];
  for (const [onRedact, outcome] of [
    ["deny", "deny"],
    ["allow", "allow"],
  ] as const) {
    const { guard } = lateGuard({ detectors, rules, overlap: { on_redact: onRedact } });
    const on = occasion();
    const first = await guard.request(segmentsOf("NOW, BESIDE"), on, signal);
    assert.ok(first.judgement?.outcome === "allow");
    assert.equal(first.judgement.rewrites[0]?.text, "<NOW>, BESIDE");
    const second = await guard.inspectOverlap?.(segmentsOf("NOW, BESIDE"), on, first, signal);
    assert.ok(second?.judgement?.outcome === outcome);
    const [decision, ...others] = second.judgement.decisions;
    assert.deepEqual(others, []);
    assert.deepEqual(
      [decision?.action, decision?.types],
      [onRedact === "deny" ? "deny" : "annotate", { "custom/BESIDE": 1 }],
    );
    assert.equal("rewrites" in second.judgement && second.judgement.rewrites[0], onRedact === "allow" && undefined);
  }
});

test("a message is rewritten by the findings of detectors beside a call, and those behind it follow separately", async () => {
  const rules = [
    { name: "later", action: "deny", when: '"custom/LATER" in labels' },
    { name: "all", action: "redact" },
  ];
  const { guard, of } = lateGuard({ detectors, rules });
  const release = of("beside").hold();
  const judging = guard.inspectMessage(segmentsOf("NOW, BESIDE, LATER"), occasion(), signal);
  assert.equal(of("later").callCount, 0);
  release();
  const { judgement } = await judging;
  assert.ok(judgement?.outcome === "allow");
  assert.equal(judgement.rewrites[0]?.text, "<NOW>, <BESIDE>, LATER");
  await eventually("what is behind to be asked", () => of("later").callCount === 1);
  const next = await guard.inspectMessage(segmentsOf("NOW, BESIDE, LATER"), occasion(), signal);
  assert.equal(next.judgement?.outcome, "deny");
  assert.equal(of("later").callCount, 1);
});

test("a detector failure is reported in its own step", async () => {
  const { guard, of } = lateGuard({ detectors });
  of("now").failure = new Error("broken");
  of("beside").failure = new Error("broken");
  const first = await guard.request(segmentsOf("a"), occasion(), signal);
  const second = await guard.inspectOverlap?.(segmentsOf("a"), occasion(), first, signal);
  const named = (failures: typeof first.failures) => failures.map(({ detector }) => detector);
  assert.deepEqual([named(first.failures), named(second?.failures ?? [])], [["now"], ["beside"]]);
});

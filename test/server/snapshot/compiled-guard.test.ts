import assert from "node:assert/strict";
import { test } from "node:test";
import type {
  DetectionResult,
  GuardrailPolicy,
  InspectedSegments,
  InspectionContext,
  Segment,
} from "../../../src/server/core/guardrails/index.ts";
import type { Ensemble, RunOptions } from "../../../src/server/detectors/index.ts";
import { createGuard } from "../../../src/server/snapshot/index.ts";

const SEGMENT: Segment = { kind: "user", text: "a", ref: "", turn: 0, isReadOnly: false };
const { signal } = new AbortController();

interface RecordedCalls {
  readonly runs: RunOptions[];
  readonly judged: InspectedSegments[];
}

function guardOf(found: DetectionResult | Promise<DetectionResult>, calls: RecordedCalls) {
  const member = { name: "pii", kinds: new Set(["user", "output"]), detector: {} };
  const other = { name: "other", kinds: new Set(["header"]), detector: {} };
  const ensemble = {
    members: [member, other],
    run(_: readonly Segment[], options: RunOptions) {
      calls.runs.push(options);
      return found;
    },
    stretchReader: () => () => undefined,
  } as unknown as Ensemble;
  const judge = (inspected: InspectedSegments) => {
    calls.judged.push(inspected);
    return { outcome: "allow" };
  };
  const policy = { detectors: ["pii"], open: () => ({ judge }) } as unknown as GuardrailPolicy;
  return createGuard(ensemble, policy, {});
}

test("a guard has the detectors that its policy names and judges their findings", async () => {
  for (const wrap of [(found: DetectionResult) => found, async (found: DetectionResult) => found]) {
    const calls: RecordedCalls = { runs: [], judged: [] };
    const found: DetectionResult = { byDetector: [{ detector: "pii", mode: "inline", findings: [[]] }], failures: [] };
    const guard = guardOf(wrap(found), calls);
    assert.deepEqual([...guard.kinds], ["user", "output"]);
    assert.ok(guard.readsRequests && guard.readsOutput);
    await guard.request([SEGMENT], {} as InspectionContext, signal);
    await guard.inspectAnswer([SEGMENT], guard.open({} as InspectionContext), signal);
    assert.deepEqual(
      calls.runs.map(({ names, schedule }) => [[...(names ?? [])], schedule]),
      [
        [["pii"], "sync"],
        [["pii"], undefined],
      ],
    );
    assert.deepEqual(calls.judged, Array(2).fill({ segments: [SEGMENT], found: found.byDetector }));
  }
});

test("a guard evaluates no rule if a detector that fails closed failed", async () => {
  const calls: RecordedCalls = { runs: [], judged: [] };
  const found: DetectionResult = {
    byDetector: [],
    failures: [{ detector: "pii", kind: "failed", reason: "", isFatal: true }],
  };
  const { judgement, failures } = await guardOf(found, calls).request([SEGMENT], {} as InspectionContext, signal);
  assert.equal(judgement, undefined);
  assert.deepEqual(failures, found.failures);
  assert.deepEqual(calls.judged, []);
});

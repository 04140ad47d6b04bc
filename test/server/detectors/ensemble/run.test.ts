import assert from "node:assert/strict";
import { it } from "node:test";
import type { Detection, Detector, DetectorInput, Segment } from "../../../../src/server/core/guardrails/index.ts";
import { NO_METRICS } from "../../../../src/server/detectors/ensemble/metrics.ts";
import { run } from "../../../../src/server/detectors/ensemble/run.ts";
import { createScanCache } from "../../../../src/server/detectors/ensemble/scan-cache.ts";
import type { Member } from "../../../../src/server/detectors/ensemble/types.ts";

const nothingIn = (texts: readonly DetectorInput[]): Detection => texts.map(() => []);

const user = (text: string): Segment => ({ kind: "user", text, ref: "", turn: 0, isReadOnly: false });

function memberOf(detector: Partial<Detector> & Pick<Detector, "detect">): Member {
  return {
    detector: { name: "pii", type: "pii", fingerprint: "", readsContext: [], horizon: undefined, ...detector },
    name: "pii",
    mode: "inline",
    schedule: "sync",
    role: "discover",
    kinds: new Set(["user"]),
    confirmWindow: 0,
    narrowsSpans: false,
    threshold: 0,
    floor: 0,
    timeoutMs: undefined,
    failsClosed: true,
  };
}

it("a signal is created only if a detector answers asynchronously", async () => {
  const later: string[] = [];
  const member = memberOf({
    detect: async (texts) => {
      later.push(...texts.map(({ segment }) => segment.text));
      return nothingIn(texts);
    },
    detectSync: nothingIn,
    maxSyncUnits: 5,
  });
  const remembering = {
    cache: createScanCache(),
    entries: 9,
    scansInProgress: new Map(),
    metrics: NO_METRICS,
    now: () => 0,
  };
  let callCount = 0;
  const signal = (): AbortSignal => {
    callCount++;
    return new AbortController().signal;
  };
  const short = [user("12"), user("345")];
  for (const again of ["read", "remembered"]) {
    assert.ok(!(run([member], short, { signal }, remembering) instanceof Promise), again);
  }
  assert.deepEqual([callCount, later], [0, []]);
  assert.ok(!(run([member], [...short, user("56789")], { signal }, remembering) instanceof Promise));
  assert.ok(run([member], [...short, user("678901")], { signal }, remembering) instanceof Promise);
  assert.deepEqual([callCount, later], [1, ["678901"]]);
});

it("a created signal reports that the client disconnected while a detector works", async () => {
  const leaving = new AbortController();
  const member = memberOf({ detect: () => new Promise(() => {}) });
  const remembering = {
    cache: createScanCache(),
    entries: 9,
    scansInProgress: new Map(),
    metrics: NO_METRICS,
    now: () => 0,
  };
  const found = run([member], [user("1")], { signal: () => leaving.signal }, remembering);
  leaving.abort(new Error("left"));
  await assert.rejects(async () => found, /left/);
});

/** Stretches of a stream are read by a faster implementation; its results and counts equal the slow one's. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { guardrails } from "../../../../src/server/core/config/deployment/guardrails/index.ts";
import { readDocument } from "../../../../src/server/core/config/index.ts";
import {
  type DetectionResult,
  type Detector,
  DetectorError,
  type Finding,
  MAX_MESSAGE_FINDINGS,
  type Segment,
} from "../../../../src/server/core/guardrails/index.ts";
import type { EnsembleMetrics } from "../../../../src/server/detectors/ensemble/metrics.ts";
import { compileEnsemble, type Ensemble } from "../../../../src/server/detectors/index.ts";

const NO_SECRET = { kind: "problem", message: "there are no secrets here" } as const;
const PII = { type: "pii", prefilter: "pure", apply_to: ["output"] };

const at = (start: number, end: number, score: number): Finding => ({
  start,
  end,
  category: "pii",
  label: "DIGITS",
  score,
  recognizer: "",
  trace: undefined,
});

/** The text determines what a detector does. */
function detection(name: string, text: string): readonly Finding[] {
  if (text.includes("overload")) throw new DetectorError("overloaded", "full");
  if (text.includes(`fail ${name}`)) throw new Error("unexpected");
  if (text.includes("many")) return Array.from({ length: MAX_MESSAGE_FINDINGS + 1 }, () => at(0, 1, 1));
  return [...text.matchAll(/\d+/g)].map(({ 0: value, index }) => at(index, index + value.length, value.length / 10));
}

const detectorOf = (name: string, isDirect: boolean): Detector => ({
  name,
  type: "pii",
  fingerprint: name,
  readsContext: [],
  horizon: undefined,
  detect: (texts) => texts.map(({ segment }) => detection(name, segment.text)),
  ...(isDirect && {
    detectSync: (texts: Parameters<Detector["detect"]>[0]) =>
      texts[0]?.segment.text === "miscounted" ? [] : texts.map(({ segment }) => detection(name, segment.text)),
  }),
});

interface Counted {
  readonly metrics: EnsembleMetrics;
  readonly calls: unknown[];
}

function counting(): Counted {
  const calls: unknown[] = [];
  const note =
    (what: string) =>
    (name: unknown, value?: unknown): void =>
      void calls.push([what, name, what === "observeDuration" ? "" : value]);
  const metrics = new Proxy({} as EnsembleMetrics, { get: (_, what) => note(String(what)) });
  return { metrics, calls };
}

function ensembleOf(detectors: readonly object[], isDirect: boolean, metrics: EnsembleMetrics): Ensemble {
  const references = { env: () => undefined, secret: () => NO_SECRET, file: () => NO_SECRET };
  const text = JSON.stringify({ detectors });
  const { document, problems } = readDocument(guardrails, { name: "test", text }, references, { fileAllowed: true });
  assert.ok(document, JSON.stringify(problems));
  const build = (_: unknown, name: string) => ({ kind: "detector", detector: detectorOf(name, isDirect) }) as const;
  const compiled = compileEnsemble(document, { build, metrics });
  assert.ok(compiled.kind === "ensemble");
  return compiled.ensemble;
}

const SETS: readonly (readonly object[])[] = [
  [{ ...PII, name: "a" }],
  [
    { ...PII, name: "a", threshold: 0.3 },
    { ...PII, name: "b", mode: "shadow" },
  ],
  [
    { ...PII, name: "a", on_error: "fail_open" },
    { ...PII, name: "b", on_error: "fail_closed" },
  ],
  [
    { ...PII, name: "a", apply_to: ["user"] },
    { ...PII, name: "b" },
  ],
  [
    { ...PII, name: "a" },
    { ...PII, name: "b", role: "confirm" },
  ],
  [],
];
const TEXTS = ["", "none", "12 and 123456", "fail a 1", "fail b 12", "fail a fail b", "overload", "many", "miscounted"];

test("for any findings and failures, a stretch is read like by the reference implementation", () => {
  for (const detectors of SETS) {
    const names = new Set(["a", "b"]);
    for (const isDirect of [true, false]) {
      const [short, long] = [counting(), counting()];
      const read = ensembleOf(detectors, isDirect, short.metrics).stretchReader(names);
      const { run } = ensembleOf(detectors, isDirect, long.metrics);
      const { signal } = new AbortController();
      for (const text of TEXTS) {
        const segment: Segment = { kind: "output", text, ref: "", turn: 0, isReadOnly: false };
        const expected = run([segment], { names, signal, isStreamSegment: true });
        assert.deepEqual(read(segment, signal, undefined), expected, `${JSON.stringify(detectors)} ${text}`);
        assert.ok(!(expected instanceof Promise));
      }
      assert.deepEqual(short.calls, long.calls);
    }
  }
});

test("only named detectors read a stretch, and none reads one that no request waits for", () => {
  const { metrics } = counting();
  const read = ensembleOf(SETS[1] ?? [], true, metrics).stretchReader(new Set(["b"]));
  const segment: Segment = { kind: "output", text: "12", ref: "", turn: 0, isReadOnly: false };
  const found = read(segment, new AbortController().signal, undefined) as DetectionResult;
  assert.deepEqual(
    found.byDetector.map(({ detector }) => detector),
    ["b"],
  );
  const gone = new Error("gone");
  assert.throws(() => read(segment, AbortSignal.abort(gone), undefined), gone);
});

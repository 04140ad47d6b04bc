import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { guardrails } from "../../../../src/server/core/config/deployment/guardrails/index.ts";
import type { DetectorConfig, Guardrails } from "../../../../src/server/core/config/index.ts";
import { readDocument } from "../../../../src/server/core/config/index.ts";
import {
  type DetectionResult,
  type Detector,
  DetectorError,
  type DetectorInput,
  type Finding,
  MAX_MESSAGE_FINDINGS,
  type Segment,
} from "../../../../src/server/core/guardrails/index.ts";
import { compileEnsemble, type Ensemble } from "../../../../src/server/detectors/index.ts";

/** Finds runs of digits; slow for some texts, failing for others. Counts its inputs. */
class Digits implements Detector {
  readonly type = "pii";
  readonly readsContext: Detector["readsContext"];
  readonly horizon = undefined;
  readonly read: DetectorInput[] = [];
  readonly name: string;
  readonly fingerprint: string;
  /** `undefined` answers synchronously. */
  wait: (() => Promise<void>) | undefined;
  failure: Error | undefined;

  constructor(name: string, readsContext: Detector["readsContext"] = []) {
    this.name = name;
    this.fingerprint = name;
    this.readsContext = readsContext;
  }

  detect(texts: readonly DetectorInput[]) {
    this.read.push(...texts);
    if (this.failure !== undefined) throw this.failure;
    const found = texts.map(findDigits);
    return this.wait === undefined ? found : this.wait().then(() => found);
  }
}

function findDigits({ segment: { text }, windows }: DetectorInput): readonly Finding[] {
  return [...text.matchAll(/\d+/g)]
    .map(({ 0: value, index: start }) => ({ ...finding(start, start + value.length), score: value.length / 10 }))
    .filter(({ start, end }) => windows === undefined || windows.some((it) => it.start <= start && end <= it.end));
}

const finding = (start: number, end: number): Finding => ({
  start,
  end,
  category: "pii",
  label: "DIGITS",
  score: 1,
  recognizer: "",
  trace: undefined,
});

const segment = (text: string, kind: Segment["kind"] = "user"): Segment => ({
  kind,
  text,
  ref: "",
  turn: 0,
  isReadOnly: false,
});

const signal = new AbortController().signal;

/** Adds the defaults of the schema. */
function configured(detectors: readonly object[], others: object = {}): Guardrails {
  const text = JSON.stringify({ detectors, ...others });
  const references = { env: () => undefined, secret: () => NO_SECRET, file: () => NO_SECRET };
  const { document, problems } = readDocument(guardrails, { name: "test", text }, references, { fileAllowed: true });
  assert.ok(document, JSON.stringify(problems));
  return document;
}

const NO_SECRET = { kind: "problem", message: "there are no secrets here" } as const;

interface Made {
  readonly ensemble: Ensemble;
  readonly of: (name: string) => Digits;
}

function ensembleOf(detectors: readonly object[], others: object = {}, context: Detector["readsContext"] = []): Made {
  const made = new Map<string, Digits>();
  const build = (_: DetectorConfig, name: string) => {
    const detector = new Digits(name, context);
    made.set(name, detector);
    return { kind: "detector", detector } as const;
  };
  const compiled = compileEnsemble(configured(detectors, others), { build });
  assert.equal(compiled.kind, "ensemble");
  if (compiled.kind !== "ensemble") throw new Error("refused");
  return { ensemble: compiled.ensemble, of: (name) => made.get(name) as Digits };
}

const PII = { type: "pii", prefilter: "pure" };

const places = (found: DetectionResult): unknown =>
  found.byDetector.map(({ detector, findings }) => [
    detector,
    findings.map((all) => all.map(({ start, end }) => [start, end])),
  ]);

/** Drops the texts for the log. */
const failuresOf = ({ failures }: DetectionResult): unknown =>
  failures.map(({ detector, kind, isFatal }) => ({ detector, kind, isFatal }));

describe("detector ensemble", () => {
  it("calls a detector for its own kinds, synchronously if it answers synchronously", () => {
    const { ensemble, of } = ensembleOf([{ ...PII, apply_to: ["user", "header"] }]);
    const segments = [segment("a 12"), segment("b 34", "assistant"), segment("56", "header"), segment("")];
    const found = ensemble.run(segments, { signal });
    assert.ok(!(found instanceof Promise));
    assert.deepEqual(places(found), [["pii", [[[2, 4]], [], [[0, 2]], []]]]);
    assert.equal(of("pii").read.length, 2);
  });

  it("without `apply_to` reads exactly the writable kinds of a request", () => {
    const { ensemble, of } = ensembleOf([PII]);
    const kinds = ["system", "user", "assistant", "tool_args", "tool_result", "output", "header", "query"] as const;
    ensemble.run(
      kinds.map((kind) => segment("1", kind)),
      { signal },
    );
    assert.deepEqual(
      of("pii").read.map((it) => it.segment.kind),
      kinds.slice(0, 5),
    );
  });

  it("reads a text once and applies `threshold` to the cached result", () => {
    const { ensemble, of } = ensembleOf([{ ...PII, threshold: 0.3 }]);
    const inputs = [segment("12"), segment("12345")];
    ensemble.run(inputs, { signal });
    const found = ensemble.run([...inputs, segment("6")], { signal });
    assert.deepEqual(places(found as DetectionResult), [["pii", [[], [[0, 5]], []]]]);
    assert.deepEqual(
      of("pii").read.map((it) => it.segment.text),
      ["12", "12345", "6"],
    );
  });

  it("caches a text separately by kind, and by context if the detector reads one", () => {
    const { ensemble, of } = ensembleOf([PII], {}, ["system"]);
    const run = (system: string, text: string, kind?: Segment["kind"]) =>
      ensemble.run([segment(system, "system"), segment(text, kind)], { signal });
    run("a", "1");
    run("a", "1");
    run("a", "1", "assistant");
    run("b", "1");
    const texts = of("pii")
      .read.filter(({ segment }) => segment.text === "1")
      .map((it) => it.segment.kind);
    assert.deepEqual(texts, ["user", "assistant", "user"]);
  });

  it("caches `cache_entries` texts, the last used ones, and none with 0", () => {
    for (const [entries, expected] of [
      [2, ["a1", "b2", "c3", "b2"]],
      [0, ["a1", "b2", "a1", "c3", "a1", "b2"]],
    ] as const) {
      const { ensemble, of } = ensembleOf([PII], { cache_entries: entries });
      for (const text of ["a1", "b2", "a1", "c3", "a1", "b2"]) ensemble.run([segment(text)], { signal });
      assert.deepEqual(
        of("pii").read.map((it) => it.segment.text),
        expected,
      );
    }
  });

  it("does not cache a text that is not Unicode or is too long", () => {
    const { ensemble, of } = ensembleOf([PII]);
    for (const text of ["1\ud800", "1\ufffd", "2".repeat((256 << 10) + 1)]) {
      for (let i = 0; i < 2; i++) ensemble.run([segment(text)], { signal });
    }
    assert.equal(of("pii").read.length, 5);
  });

  it("reads a text once for all concurrent requests with it", async () => {
    const { ensemble, of } = ensembleOf([PII]);
    const { promise, resolve } = deferred();
    of("pii").wait = () => promise;
    const runs = [1, 2, 3].map(() => ensemble.run([segment("12")], { signal }));
    resolve();
    const founds = await Promise.all(runs);
    assert.equal(of("pii").read.length, 1);
    for (const found of founds) assert.deepEqual(places(found), [["pii", [[[0, 2]]]]]);
  });

  it("reads a text itself if the request that was reading it disconnects", async () => {
    const { ensemble, of } = ensembleOf([PII]);
    const leaving = new AbortController();
    of("pii").wait = () =>
      new Promise((_, reject) => leaving.signal.addEventListener("abort", () => reject(new Error())));
    const first = ensemble.run([segment("12")], { signal: leaving.signal });
    const second = ensemble.run([segment("12")], { signal });
    of("pii").wait = undefined;
    leaving.abort(new Error("left"));
    await assert.rejects(async () => first, /left/);
    assert.deepEqual(places(await second), [["pii", [[[0, 2]]]]]);
  });

  it("reports failing detectors, and refuses if they fail closed or are overloaded", () => {
    const failures = [
      ["fail_open", new Error("no"), "failed", false],
      ["fail_closed", new Error("no"), "failed", true],
      ["fail_open", new DetectorError("overloaded", "full"), "overloaded", true],
    ] as const;
    for (const [on_error, failure, kind, isFatal] of failures) {
      const { ensemble, of } = ensembleOf([
        { ...PII, on_error },
        { ...PII, name: "sound" },
      ]);
      of("pii").failure = failure;
      const found = ensemble.run([segment("12")], { signal }) as DetectionResult;
      assert.deepEqual(failuresOf(found), [{ detector: "pii", kind, isFatal }]);
      assert.deepEqual(places(found), [["sound", [[[0, 2]]]]]);
    }
  });

  it("refuses a text with more findings than the policy limit, whatever `on_error` says", () => {
    const many = ["1 ", "2 ", "- "].map((text) => segment(text.repeat(MAX_MESSAGE_FINDINGS / 2)));
    for (const [mode, isFatal] of [
      ["inline", true],
      ["shadow", false],
    ] as const) {
      const { ensemble } = ensembleOf([{ ...PII, on_error: "fail_open", mode }]);
      assert.deepEqual((ensemble.run(many, { signal }) as DetectionResult).failures, []);
      const beyond = ensemble.run([...many, segment("3")], { signal }) as DetectionResult;
      assert.deepEqual(failuresOf(beyond), [{ detector: "pii", kind: "excess", isFatal }]);
      assert.deepEqual(beyond.byDetector, []);
    }
  });

  it("does not count findings below `score_threshold`, unless another detector may raise them", () => {
    const many = [segment("1 ".repeat(MAX_MESSAGE_FINDINGS + 1))];
    const weak = ensembleOf([PII], { score_threshold: 0.4, agreement_boost: 0.2 }).ensemble;
    assert.deepEqual((weak.run(many, { signal }) as DetectionResult).failures, []);
    const raised = ensembleOf([PII], { score_threshold: 0.4, agreement_boost: 0.35 }).ensemble;
    assert.equal((raised.run(many, { signal }) as DetectionResult).failures[0]?.kind, "excess");
  });

  it("caches the newest of more texts than `cache_entries`, and evicts nothing for the rest", () => {
    const { ensemble, of } = ensembleOf([PII], { cache_entries: 3 });
    const texts = ["1", "2", "3", "4", "5"].map((text) => segment(text));
    ensemble.run(texts, { signal });
    ensemble.run(texts, { signal });
    assert.deepEqual(
      of("pii")
        .read.slice(5)
        .map((it) => it.segment.text),
      ["1", "2"],
    );
  });

  it("never refuses because of a shadow detector", () => {
    const { ensemble, of } = ensembleOf([{ ...PII, on_error: "fail_closed", mode: "shadow" }]);
    of("pii").failure = new DetectorError("overloaded", "full");
    const found = ensemble.run([segment("12")], { signal }) as DetectionResult;
    assert.deepEqual(failuresOf(found), [{ detector: "pii", kind: "overloaded", isFatal: false }]);
  });

  it("waits no longer than the client, whose short timeout lets nothing pass, whatever `on_error` says", async () => {
    for (const timeout of [{}, { timeout: "10s" }]) {
      const { ensemble, of } = ensembleOf([{ ...PII, ...timeout, on_error: "fail_open" }]);
      of("pii").wait = () => new Promise(() => {});
      const found = await ensemble.run([segment("12")], { signal, timeLeftMs: 5 });
      assert.deepEqual(failuresOf(found), [{ detector: "pii", kind: "timeout", isFatal: true }]);
    }
    const { ensemble, of } = ensembleOf([{ ...PII, timeout: "5ms", on_error: "fail_open" }]);
    of("pii").wait = () => new Promise(() => {});
    const found = await ensemble.run([segment("12")], { signal, timeLeftMs: 60_000 });
    assert.deepEqual(failuresOf(found), [{ detector: "pii", kind: "timeout", isFatal: false }]);
  });

  it("waits for a detector no longer than its `timeout`, even for one that ignores its signal", async () => {
    const { ensemble, of } = ensembleOf([{ ...PII, timeout: "20ms", on_error: "fail_closed" }]);
    of("pii").wait = () => new Promise(() => undefined);
    const found = await ensemble.run([segment("12")], { signal });
    assert.deepEqual(failuresOf(found), [{ detector: "pii", kind: "timeout", isFatal: true }]);
  });

  it("lets `confirm` see only windows around other findings, in bytes and whole characters", () => {
    const { ensemble, of } = ensembleOf([PII, { ...PII, name: "second", role: "confirm", confirm_window: 5 }]);
    ensemble.run([segment("aaaaaaaaéé 12 😀😀 bbbb 34 c"), segment("none")], { signal });
    assert.deepEqual(
      of("second").read.map(({ segment: { text }, windows }) => windows?.map((it) => text.slice(it.start, it.end))),
      [["éé 12 😀", "bbbb 34 c"]],
    );
  });

  it("narrows a finding to its confirmed part", () => {
    const { ensemble, of } = ensembleOf([PII, { ...PII, name: "second", role: "confirm", narrow_spans: true }]);
    of("second").detect = (texts) => texts.map(() => [finding(3, 5)]);
    const found = ensemble.run([segment("a 1234567 b 89")], { signal }) as DetectionResult;
    assert.deepEqual(places(found), [
      [
        "pii",
        [
          [
            [3, 5],
            [12, 14],
          ],
        ],
      ],
      ["second", [[[3, 5]]]],
    ]);
  });

  it("confirms nothing if only a shadow detector found something", () => {
    const { ensemble, of } = ensembleOf([
      { ...PII, mode: "shadow" },
      { ...PII, name: "second", role: "confirm" },
    ]);
    ensemble.run([segment("12")], { signal });
    assert.equal(of("second").read.length, 0);
  });

  it("keeps `overlap` for a run of its own, and `async` for the next request", async () => {
    const { ensemble, of } = ensembleOf([
      PII,
      { ...PII, name: "beside", schedule: "overlap" },
      { ...PII, name: "later", schedule: "async" },
    ]);
    const segments = [segment("12")];
    const first = (await ensemble.run(segments, { signal, schedule: "sync" })) as DetectionResult;
    assert.deepEqual(places(first), [
      ["pii", [[[0, 2]]]],
      ["later", [[]]],
    ]);
    const both = (await ensemble.run(segments, { signal, schedule: "overlap", earlier: first })) as DetectionResult;
    assert.deepEqual(places(both), [
      ["pii", [[[0, 2]]]],
      ["beside", [[[0, 2]]]],
      ["later", [[]]],
    ]);
    const { promise, resolve } = deferred();
    of("later").wait = async () => resolve();
    ensemble.runLater(segments, first, undefined);
    await promise;
    await new Promise((done) => setImmediate(done));
    const next = (await ensemble.run(segments, { signal, schedule: "sync" })) as DetectionResult;
    assert.deepEqual(places(next), [
      ["pii", [[[0, 2]]]],
      ["later", [[[0, 2]]]],
    ]);
  });

  it("drops `async` work above its limit", async () => {
    const { ensemble, of } = ensembleOf([{ ...PII, schedule: "async" }], { async: { max_in_flight: 1 } });
    const { promise, resolve } = deferred();
    of("pii").wait = async () => resolve();
    const nothing: DetectionResult = { byDetector: [], failures: [] };
    ensemble.runLater([segment("12")], nothing, undefined);
    ensemble.runLater([segment("34")], nothing, undefined);
    await promise;
    await new Promise((done) => setImmediate(done));
    assert.deepEqual(
      of("pii").read.map((it) => it.segment.text),
      ["12"],
    );
  });

  it("calls only the detectors in force", () => {
    const { ensemble, of } = ensembleOf([PII, { ...PII, name: "second" }]);
    const found = ensemble.run([segment("12")], { signal, names: new Set(["second"]) }) as DetectionResult;
    assert.deepEqual(places(found), [["second", [[[0, 2]]]]]);
    assert.equal(of("pii").read.length, 0);
  });

  it("refuses `async` without a cache, and two detectors with one name", () => {
    const guardrails = configured([{ ...PII, schedule: "async" }], { cache_entries: 0 });
    const build = () => ({ kind: "detector", detector: new Digits("pii") }) as const;
    const one = compileEnsemble(guardrails, { build });
    assert.ok(one.kind === "refused");
    assert.deepEqual(
      one.problems.map(({ path }) => path),
      [["guardrails", "detectors", 0, "schedule"]],
    );
    const twice = compileEnsemble(configured([PII, PII]), { build });
    assert.ok(twice.kind === "refused");
    assert.deepEqual(
      twice.problems.map(({ path }) => path),
      [["guardrails", "detectors", 1]],
    );
  });
});

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

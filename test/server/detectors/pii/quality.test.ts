/**
 * How good the detector is on the development data, where that lies beside the project: spans and types must be exact, at a
 * score of one half. The floors are aims of the project, not what was reached.
 */

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { utf8Offsets } from "../../../../src/server/core/guardrails/index.ts";
import { createPiiDetector } from "../../../../src/server/detectors/pii/index.ts";

const DATA = new URL("../../../../../shared/data/guardrails/", import.meta.url);

const built = createPiiDetector(
  { type: "pii", prefilter: "pure", mode: "inline", schedule: "sync", role: "discover", on_error: "fail_open" },
  "pii",
  true,
);
assert.equal(built.kind, "detector");
const { signal } = new AbortController();

interface Span {
  readonly start: number;
  readonly end: number;
  readonly type: string;
}

interface Case {
  readonly text: string;
  readonly spans?: readonly Span[];
  readonly tags?: readonly string[];
}

function findings(text: string): readonly Span[] {
  if (built.kind !== "detector") return [];
  const segment = { kind: "user", text, ref: "", turn: 0, isReadOnly: false } as const;
  const detection = built.detector.detect([{ segment, windows: undefined }], [segment], signal);
  assert.ok(!(detection instanceof Promise));
  return (detection[0] ?? [])
    .filter(({ score }) => score >= 0.5)
    .map(({ start, end, label }) => ({
      start: utf8Offsets(text, [start])[0] ?? 0,
      end: utf8Offsets(text, [end])[0] ?? 0,
      type: label,
    }));
}

const keyOf = ({ start, end, type }: Span): string => `${type} ${start} ${end}`;

interface Figures {
  readonly precision: number;
  readonly recall: number;
  readonly f1: number;
}

/** Of the types that stand in the data, or of `types`. */
function score(
  cases: readonly Case[],
  types = new Set(cases.flatMap(({ spans = [] }) => spans.map(({ type }) => type))),
): Figures {
  let agreed = 0;
  let found = 0;
  let marked = 0;
  for (const { text, spans = [] } of cases) {
    const wanted = new Set(spans.filter(({ type }) => types.has(type)).map(keyOf));
    const seen = findings(text).filter(({ type }) => types.has(type));
    agreed += seen.filter((span) => wanted.has(keyOf(span))).length;
    found += seen.length;
    marked += wanted.size;
  }
  const precision = agreed / found;
  const recall = agreed / marked;
  return { precision, recall, f1: (2 * precision * recall) / (precision + recall) };
}

function read(name: string): readonly Case[] {
  const text = readFileSync(new URL(name, DATA), "utf8");
  const lines = (name.endsWith(".b64") ? Buffer.from(text, "base64").toString("utf8") : text).split("\n");
  return lines.filter((line) => line.trim() !== "").map((line): Case => JSON.parse(line));
}

describe("the detector on the development data", {
  skip: existsSync(DATA) ? false : "the data is not beside the project",
}, () => {
  test("identifiers of all countries: F1 of at least 0.97", () => {
    const figures = score(read("pii_patterns.jsonl"));
    assert.ok(figures.f1 >= 0.97, JSON.stringify(figures));
  });

  test("secrets: F1 of at least 0.97", () => {
    const figures = score(read("secrets.jsonl.b64"));
    assert.ok(figures.f1 >= 0.97, JSON.stringify(figures));
  });

  test("what has a pattern in ordinary sentences: recall of at least 0.95", () => {
    const types = ["CREDIT_CARD", "IBAN_CODE", "EMAIL_ADDRESS", "IP_ADDRESS", "US_SSN", "URL"];
    const figures = score(read("presidio_synth.jsonl"), new Set(types));
    assert.ok(figures.recall >= 0.95, JSON.stringify(figures));
  });

  test("a wrong check digit is no identifier of the type that it was altered from", () => {
    for (const { text, tags = [] } of read("pii_patterns.jsonl")) {
      if (!tags.includes("bad-checksum")) continue;
      const named = findings(text).filter(({ type }) => tags.includes(type));
      assert.deepEqual(named, [], tags.join(" "));
    }
  });
});

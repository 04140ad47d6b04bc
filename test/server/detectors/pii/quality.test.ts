/**
 * Quality of the detector on the development data, if present: spans and types must be exact, at a score of one half.
 * The floors are targets of the project, not current results.
 */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { describe, test } from "node:test";
import { type Case, DATA, detectorOf, figuresOf, findingsIn, readCases as read, typesIn } from "./development-data.ts";

const detector = detectorOf({});
const findings = (text: string) => findingsIn(detector, text).filter(({ score }) => score >= 0.5);

/** Scores over the types in the data, or over `types`. */
const score = (cases: readonly Case[], types = typesIn(cases)) =>
  figuresOf(
    cases,
    cases.map(({ text }) => findings(text)),
    types,
  );

describe("the detector on the development data", {
  skip: existsSync(DATA) ? false : "the data is not beside the project",
}, () => {
  test("identifiers of all countries have an F1 of at least 0.97", () => {
    const figures = score(read("pii_patterns.jsonl"));
    assert.ok(figures.f1 >= 0.97, JSON.stringify(figures));
  });

  test("secrets have an F1 of at least 0.97", () => {
    const figures = score(read("secrets.jsonl.b64"));
    assert.ok(figures.f1 >= 0.97, JSON.stringify(figures));
  });

  test("values with a pattern in ordinary sentences have a recall of at least 0.95", () => {
    const types = ["CREDIT_CARD", "IBAN_CODE", "EMAIL_ADDRESS", "IP_ADDRESS", "US_SSN", "URL"];
    const figures = score(read("presidio_synth.jsonl"), new Set(types));
    assert.ok(figures.recall >= 0.95, JSON.stringify(figures));
  });

  test("a wrong check digit is not found as the type it was altered from", () => {
    for (const { text, tags = [] } of read("pii_patterns.jsonl")) {
      if (!tags.includes("bad-checksum")) continue;
      const named = findings(text).filter(({ type }) => tags.includes(type));
      assert.deepEqual(named, [], tags.join(" "));
    }
  });
});

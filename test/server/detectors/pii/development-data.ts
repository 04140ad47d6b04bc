/** The guardrails development data, if present beside the project, and the detector on one of its texts. */

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { DetectorConfig } from "../../../../src/server/core/config/index.ts";
import { type Detector, utf8Offsets } from "../../../../src/server/core/guardrails/index.ts";
import { createPiiDetector } from "../../../../src/server/detectors/pii/index.ts";
import { configOf } from "./configs.ts";

const folder = process.env["GATEWAY_GUARDRAIL_DATA"];

/** `GATEWAY_GUARDRAIL_DATA` names another folder. */
export const DATA =
  folder === undefined
    ? new URL("../../../../../shared/data/guardrails/", import.meta.url)
    : pathToFileURL(`${folder}/`);

/** Offsets in UTF-8 bytes. */
interface Span {
  readonly start: number;
  readonly end: number;
  readonly type: string;
}

export interface Scored extends Span {
  readonly score: number;
}

export interface Case {
  readonly text: string;
  readonly spans?: readonly Span[];
  readonly tags?: readonly string[];
}

const keyOf = ({ start, end, type }: Span): string => `${type} ${start} ${end}`;

/** `name` is a file of JSON lines, in base64 if its ending says so. */
export function readCases(name: string): readonly Case[] {
  const text = readFileSync(new URL(name, DATA), "utf8");
  const lines = (name.endsWith(".b64") ? Buffer.from(text, "base64").toString("utf8") : text).split("\n");
  return lines.filter((line) => line.trim() !== "").map((line): Case => JSON.parse(line));
}

export function detectorOf(keys: Partial<DetectorConfig>): Detector {
  const built = createPiiDetector(configOf(keys), "pii", true);
  if (built.kind === "refused") throw new Error(built.problems.map(({ message }) => message).join("; "));
  return built.detector;
}

const { signal } = new AbortController();

/** Findings with any score. */
export function findingsIn(detector: Detector, text: string): readonly Scored[] {
  const segment = { kind: "user", text, ref: "", turn: 0, isReadOnly: false } as const;
  const detection = detector.detect([{ segment, windows: undefined }], [segment], signal);
  if (detection instanceof Promise) throw new Error("one text is read at once");
  return (detection[0] ?? []).map(({ start, end, label, score }) => {
    const [from = 0, to = 0] = utf8Offsets(text, [start, end]);
    return { start: from, end: to, type: label, score };
  });
}

interface Figures {
  readonly precision: number;
  readonly recall: number;
  readonly f1: number;
  /** Spans of the data. */
  readonly marked: number;
}

export const typesIn = (cases: readonly Case[]): ReadonlySet<string> =>
  new Set(cases.flatMap(({ spans = [] }) => spans.map(({ type }) => type)));

/**
 * Figures for `types` alone: a finding is right if place and type equal those of a span. `found` has the findings of
 * each case.
 */
export function figuresOf(
  cases: readonly Case[],
  found: readonly (readonly Span[])[],
  types: ReadonlySet<string>,
): Figures {
  let agreed = 0;
  let seen = 0;
  let marked = 0;
  for (const [at, { spans = [] }] of cases.entries()) {
    const wanted = new Set(spans.filter(({ type }) => types.has(type)).map(keyOf));
    const own = (found[at] ?? []).filter(({ type }) => types.has(type));
    agreed += own.filter((span) => wanted.has(keyOf(span))).length;
    seen += own.length;
    marked += wanted.size;
  }
  const precision = seen === 0 ? 0 : agreed / seen;
  const recall = marked === 0 ? 0 : agreed / marked;
  const f1 = precision + recall === 0 ? 0 : (2 * precision * recall) / (precision + recall);
  return { precision, recall, f1, marked };
}

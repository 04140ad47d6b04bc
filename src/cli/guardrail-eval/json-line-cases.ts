/** Parses a line of a `.jsonl` file as a case. Unknown keys are reported to `warn` and ignored. */

import { SEGMENT_KINDS, type SegmentKind, utf8Length, utf8Offsets } from "../../server/core/guardrails/index.ts";
import { didYouMean } from "../parse-flags.ts";
import { DataError, type EvalCase, type Mark } from "./evaluation-case.ts";
import type { Line } from "./split-lines.ts";

export type Warn = (key: string, message: string) => void;

const KEYS = ["text", "spans", "labels", "tags", "kind", "system"];

/** Parses a line. Returns `undefined` for a blank one. Throws `DataError`. */
export function caseOf({ number, text: line }: Line, file: string, warn: Warn): EvalCase | undefined {
  if (line.trim() === "") return undefined;
  const fail: Fail = (message) => {
    throw new DataError(file, number, message);
  };
  const row = objectOf(line, fail);
  for (const key of Object.keys(row)) {
    if (!KEYS.includes(key))
      warn(key, `${file}:${number}: the key ${JSON.stringify(key)} is not read${didYouMean(key, KEYS)}`);
  }
  const { text, spans, labels, tags, kind, system } = row;
  if (typeof text !== "string") return fail('"text" is missing, or not a string');
  if (system !== undefined && typeof system !== "string") return fail('"system" is not a string');
  return {
    file,
    line: number,
    text,
    spans: spans === undefined ? undefined : marksOf(spans, text, fail, "spans"),
    labels: labels === undefined ? undefined : textsOf(labels, "labels", fail),
    tags: tags === undefined ? [] : textsOf(tags, "tags", fail),
    kind: kind === undefined ? undefined : kindOf(kind, fail),
    system: system ?? "",
  };
}

export type Fail = (message: string) => never;

export function objectOf(line: string, fail: Fail): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return fail("the line is not a JSON object");
  }
  return isObject(value) ? value : fail("the line is not a JSON object");
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Parses marks, and sorts them by start. */
export function marksOf(value: unknown, text: string, fail: Fail, name: string): readonly Mark[] {
  if (!Array.isArray(value)) return fail(`"${name}" is not a list`);
  if (value.length === 0) return [];
  const whole = utf8Length(text);
  const marks = value.map((item: unknown, at): Mark => {
    const place = `"${name}" entry ${at + 1}`;
    if (!isObject(item)) return fail(`${place} is not an object`);
    const { start, end, type } = item;
    if (!isOffset(start) || !isOffset(end))
      return fail(`${place}: "start" and "end" are byte offsets, integers from 0`);
    if (typeof type !== "string" || type.trim() === "") return fail(`${place}: "type" is missing, or not a text`);
    if (start >= end) return fail(`${place}: it ends at ${end}, where it does not come after its start, ${start}`);
    if (end > whole) return fail(`${place}: it ends at ${end}, after the end of the text, which has ${whole} bytes`);
    return { start, end, type };
  });
  const borders = boundariesOf(text, whole);
  for (const { start, end, type } of marks) {
    for (const offset of [start, end]) {
      if (borders?.has(offset) === false) fail(`"${name}": offset ${offset} of ${type} lies within a character`);
    }
  }
  return marks.sort((a, b) => a.start - b.start || a.end - b.end);
}

const isOffset = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

/** Returns the byte offsets of the characters; `undefined` if every character is one byte. */
function boundariesOf(text: string, bytes: number): ReadonlySet<number> | undefined {
  if (bytes === text.length) return undefined;
  return new Set(
    utf8Offsets(
      text,
      Array.from({ length: text.length + 1 }, (_, at) => at),
    ),
  );
}

export function textsOf(value: unknown, name: string, fail: Fail): readonly string[] {
  if (!Array.isArray(value) || !value.every((item): item is string => typeof item === "string" && item !== "")) {
    return fail(`"${name}" is not a list of texts`);
  }
  return [...new Set(value)];
}

function kindOf(value: unknown, fail: Fail): SegmentKind {
  const kind = SEGMENT_KINDS.find((name) => name === value);
  return kind ?? fail(`"kind" is ${SEGMENT_KINDS.join(", ")}, not ${JSON.stringify(value)}`);
}

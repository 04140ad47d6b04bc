/** National identifiers in sentences, with a changed digit, other separators and other scripts. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { compileScan, engineOf } from "../../../../../src/server/detectors/pii/index.ts";
import { NATIONAL } from "../../../../../src/server/detectors/pii/recognizers/national.ts";
import { ALTERED, FOUND, NAMES, ORDINARY } from "./national-cases.ts";

const engine = engineOf("pure") ?? assert.fail("the engine is built in");
const scan = compileScan(NATIONAL, { engine, usesContext: true });

/** Returns types and texts with a score of at least a half. */
function found(text: string): readonly string[] {
  return scan(text)
    .filter(({ score }) => score >= 0.5)
    .map(({ label, start, end }) => `${label} ${text.slice(start, end)}`);
}

test("every type of the reference has a recognizer, and names are unique", () => {
  assert.deepEqual([...new Set(NATIONAL.map(({ entity }) => entity))].sort(), [...NAMES].sort());
  assert.equal(new Set(NATIONAL.map(({ name }) => name)).size, NATIONAL.length);
});

test("scores and contexts are valid", () => {
  for (const { name, patterns, context } of NATIONAL) {
    assert.match(name, /^[A-Z][A-Za-z]+Recognizer$/);
    assert.ok(context.length > 0, name);
    assert.deepEqual(
      context.filter((word) => word !== word.toLowerCase()),
      [],
      name,
    );
    for (const { score } of patterns) assert.ok(score > 0 && score <= 1, name);
  }
});

test("each type is found in a sentence as it is written", () => {
  for (const [text, type, value] of FOUND) {
    assert.ok(found(text).includes(`${type} ${value}`), `${type} in ${text}: ${found(text).join(", ")}`);
  }
});

test("every type that a sentence can validate is in one", () => {
  const shown = new Set(FOUND.map(([, type]) => type));
  const low = NATIONAL.filter(({ patterns }) => patterns.every(({ score }) => score < 0.15));
  const unshown = NATIONAL.filter((recognizer) => !low.includes(recognizer)).map(({ entity }) => entity);
  assert.deepEqual(
    unshown.filter((entity) => !shown.has(entity)),
    [],
  );
});

test("a value with one changed digit is not of its type", () => {
  for (const [text, type] of ALTERED) {
    assert.deepEqual(
      found(text).filter((one) => one.startsWith(`${type} `)),
      [],
      text,
    );
  }
});

test("digits of any script are read, and ignorable characters hide nothing", () => {
  const arabic = (text: string) => text.replace(/\d/g, (digit) => String.fromCodePoint(0x660 + Number(digit)));
  assert.deepEqual(found(arabic("رقم الهوية الوطنية 2620951430")), [`SA_NATIONAL_ID ${arabic("2620951430")}`]);
  assert.deepEqual(found("Emirates ID 784\u20111996\u20116228810\u20111"), [
    "AE_EMIRATES_ID 784\u20111996\u20116228810\u20111",
  ]);
  assert.deepEqual(found("PESEL 5410\u200b2600303"), ["PL_PESEL 5410\u200b2600303"]);
});

test("ordinary numbers and identifiers are not found as national ones", () => {
  for (const text of ORDINARY) assert.deepEqual(found(text), [], text);
});

import assert from "node:assert/strict";
import test from "node:test";
import { compileScan, engineOf, type Pattern, type Recognizer } from "../../../../src/server/detectors/pii/index.ts";

const engine = engineOf("pure")!;

const recognizer = (entity: string, pattern: Partial<Pattern> & Pick<Pattern, "kind">, context: string[] = []) =>
  ({
    name: `${entity}Recognizer`,
    entity,
    category: "pii",
    context,
    patterns: [{ name: entity.toLowerCase(), score: 0.3, keywords: [], ...pattern } as Pattern],
  }) satisfies Recognizer;

const scanOf = (...recognizers: Recognizer[]) => {
  const scan = compileScan(recognizers, { engine, usesContext: true });
  return (text: string) =>
    scan(text).map(({ start, end, label, score }) => [text.slice(start, end), label, +score.toFixed(2)]);
};

test("a shape is found whole, by its separators and at ASCII word boundaries", () => {
  const scan = scanOf(recognizer("SSN", { kind: "shape", shapes: ["d3-d2-d4"], separators: "- ." }));
  const one = [["123-45-6789", "SSN", 0.3]];
  for (const text of ["123-45-6789", "(123-45-6789)", "رقم123-45-6789", "a 123-45-6789.", "12 123-45-6789 1"]) {
    assert.deepEqual(scan(text), one, text);
  }
  for (const text of ["123-45 6789", "123--45-6789", "a123-45-6789", "123-45-6789b", "_123-45-6789", "123/45/6789"]) {
    assert.deepEqual(scan(text), [], text);
  }
});

test("a shape may mix digits and letters in any case", () => {
  const seen: string[] = [];
  const scan = scanOf(
    recognizer("A", {
      kind: "shape",
      shapes: ["L2d6L1", "L2-d2-d2-d2-L1"],
      validate: (value, written) => void seen.push(`${value} ${written}`),
    }),
  );
  assert.deepEqual(scan("Ab123456c and AB 12 34 56 C but not A1123456C or AB1234567"), [
    ["Ab123456c", "A", 0.3],
    ["AB 12 34 56 C", "A", 0.3],
  ]);
  assert.deepEqual(seen, ["AB123456C Ab123456c", "AB123456C AB 12 34 56 C"]);
  assert.deepEqual(
    scanOf(recognizer("X", { kind: "shape", shapes: ["L1x40"] }))(`q${"7f".repeat(20)} q${"z".repeat(39)}`),
    [[`q${"7f".repeat(20)}`, "X", 0.3]],
  );
});

test("a failed candidate hides nothing: every window of a run is tried, and the longest valid one is taken", () => {
  const even = (value: string) => Number(value.at(-1)) % 2 === 0 || false;
  const scan = scanOf(recognizer("N", { kind: "shape", shapes: ["d4", "d4-d4", "d4-d4-d4"], validate: even }));
  assert.deepEqual(scan("1111 1111 2222"), [["1111 1111 2222", "N", 1]]);
  assert.deepEqual(scan("1111 2222 1111"), [["1111 2222", "N", 1]]);
  assert.deepEqual(scan("1111 1111 1111 1112"), [["1111 1111 1112", "N", 1]]);
});

test("other digits, exotic separators and ignorable characters hide nothing, and offsets are of the original text", () => {
  const scan = scanOf(recognizer("SSN", { kind: "shape", shapes: ["d3-d2-d4"] }));
  for (const written of [
    "١٢٣-٤٥-٦٧٨٩",
    "１２３－４５－６７８９",
    "1\u200b23\u201145\u20116\u00ad789",
    "𝟏𝟐𝟑-𝟒𝟓-𝟔𝟕𝟖𝟗",
    "123\u00a045\u00a06789",
  ]) {
    for (const around of ["", "é ", "😀 ", "𝟏. "])
      assert.deepEqual(scan(`${around}${written}\u200b!`), [[written, "SSN", 0.3]]);
  }
});

test("a pattern runs only near a keyword, and its group `value` is the match", () => {
  const scan = scanOf(
    recognizer("T", { kind: "text", regex: "key[:=] {0,3}(?<value>[a-z0-9]{4,20})", keywords: ["key:", "key="] }),
  );
  assert.deepEqual(scan("KEY: abcd1, key=zz, Key=efgh2"), [
    ["abcd1", "T", 0.3],
    ["efgh2", "T", 0.3],
  ]);
});

test("words before a match raise its score: whole words, four-letter stems, phrases, scripts without spaces", () => {
  const scan = scanOf(
    recognizer("SSN", { kind: "shape", shapes: ["d3-d2-d4"] }, [
      "ssn",
      "social security",
      "passport",
      "الهوية",
      "身份",
    ]),
  );
  const score = (text: string) => scan(`${text} 123-45-6789`)[0]?.[2];
  for (const text of [
    "SSN:",
    "the ssns of",
    "social-security number",
    "Passports",
    "passportno",
    "والهوية",
    "我的身份证",
  ]) {
    assert.equal(score(text), 0.65, text);
  }
  for (const text of ["ssnx", "security", "passp", "ssn\n\nnew part", `ssn ${"word ".repeat(9)}`, ""]) {
    assert.equal(score(text), 0.3, text);
  }
});

test("within one type a finding inside a better or equal one is dropped, and across types none is", () => {
  const wide = recognizer("A", { kind: "shape", shapes: ["d4-d4"], score: 0.5 });
  assert.deepEqual(scanOf(wide, recognizer("A", { kind: "shape", shapes: ["d4"] }))("1234 5678"), [
    ["1234 5678", "A", 0.5],
  ]);
  assert.equal(scanOf(wide, recognizer("B", { kind: "shape", shapes: ["d4"] }))("1234 5678").length, 3);
  assert.equal(scanOf(wide, recognizer("A", { kind: "shape", shapes: ["d4"], score: 0.9 }))("1234 5678").length, 3);
});

test("parts of a UUID are not found as numbers, and five hyphenated numbers are not a UUID", () => {
  const scan = scanOf(recognizer("N", { kind: "shape", shapes: ["x8", "d8", "x12", "d2"], separators: "-" }));
  for (const uuid of ["b9000564-fe1a-409b-b8cc-1e88b294cd1d", "abcdefab-fe1a-409b-b8cc-63231063b762"]) {
    for (const text of [uuid, `req-${uuid}`, `[${uuid.toUpperCase()}]`])
      assert.deepEqual(scan(`${text} 17`), [["17", "N", 0.3]]);
  }
  for (const text of ["12345678-1234-4234-8234-123456789012", "b9000564-fe1a-909b-b8cc-1e88b294cd1d"]) {
    assert.ok(scan(text).length > 0, text);
  }
});

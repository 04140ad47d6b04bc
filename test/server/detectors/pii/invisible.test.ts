/** Invisible characters inside a value or between two hide neither: for every kind of pattern, whole and streamed. */
import assert from "node:assert/strict";
import test from "node:test";
import {
  compileReaches,
  createChannel,
  type DetectorFindings,
  type Judgement,
} from "../../../../src/server/core/guardrails/index.ts";
import { createPiiDetector } from "../../../../src/server/detectors/index.ts";
import { engineOf } from "../../../../src/server/detectors/pii/engines.ts";
import { configOf } from "./configs.ts";

const all = Array.from({ length: 0x110000 }, (_, codePoint) => codePoint).filter((it) => (it & 0x1ff800) !== 0xd800);
const IGNORABLE = all.filter((codePoint) =>
  /^\p{Default_Ignorable_Code_Point}$/u.test(String.fromCodePoint(codePoint)),
);
const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, at) => first + at);
const BREAKS = [0x09, 0x0a, 0x0b, 0x0c, 0x0d];
const CONTROLS = [...range(0, 0x1f), ...range(0x7f, 0x84), ...range(0x86, 0x9f)].filter((it) => !BREAKS.includes(it));
const HIDDEN = [...IGNORABLE, 0x2800, 0xfff9, 0xfffa, 0xfffb, ...CONTROLS];

const VALUES = {
  CREDIT_CARD: "4111111111111111",
  US_SSN: "536-22-1234",
  PHONE_NUMBER: "+14155552671",
  IBAN_CODE: "GB82WEST12345698765432",
  EMAIL_ADDRESS: "jane.doe@example.com",
  AWS_ACCESS_KEY_ID: "AKIAQ3EGRIV7ZYTN2KXW",
  BADGE: "EMP-483920",
  NAME: "Operation Walrus",
};

const created = (prefilter: "pure" | "native") =>
  createPiiDetector(configOf({ ...CONFIG, prefilter }), "pii", true) as Extract<
    ReturnType<typeof createPiiDetector>,
    { kind: "detector" }
  >;

const CONFIG = {
  apply_to: ["user", "output"],
  entities: Object.keys(VALUES),
  custom_recognizers: [
    { name: "Badge", entity: "BADGE", case_sensitive: false, patterns: [{ regex: "EMP-[0-9]{6}", score: 0.9 }] },
    { name: "Name", entity: "NAME", case_sensitive: false, deny_list: ["operation walrus"] },
  ],
} as const;

const ENGINES = [
  { name: "pure", detector: created("pure").detector },
  ...(engineOf("native") === undefined ? [] : [{ name: "native", detector: created("native").detector }]),
] as const;
const [{ detector }] = ENGINES;

function findings(text: string, by = detector) {
  const segment = { kind: "user", text, ref: "", turn: 0, isReadOnly: false } as const;
  return by.detectSync!([{ segment, windows: undefined }]);
}

const found = (text: string, by = detector) =>
  (
    findings(text, by) as ReturnType<typeof findings> &
      readonly (readonly { start: number; end: number; label: string }[])[]
  )[0]!.map(({ start, end, label }) => `${label} ${text.slice(start, end)}`);

const within = (value: string, at: number, hidden: string) => value.slice(0, at) + hidden + value.slice(at);

test("every invisible code point is ignored at each place of every kind of value", () => {
  assert.ok(IGNORABLE.length > 4_000);
  const kinds = Object.entries(VALUES);
  for (const [label, value] of kinds) assert.ok(found(`is ${value}, so`).includes(`${label} ${value}`), label);
  for (const [index, codePoint] of HIDDEN.entries()) {
    const hidden = String.fromCodePoint(codePoint);
    for (const [label, value] of kinds) {
      // Each code point at one place of each value, and at every place of a card.
      const places = label === "CREDIT_CARD" ? range(1, 15) : [1 + (index % (value.length - 1))];
      for (const at of places) {
        const written = within(value, at, hidden);
        assert.ok(
          found(`is ${written}, so`).includes(`${label} ${written}`),
          `${label} U+${codePoint.toString(16)} ${at}`,
        );
      }
    }
  }
});

test("text between two values hides neither of them, and text between a value and another number does not either", () => {
  for (const codePoint of HIDDEN) {
    const hidden = String.fromCodePoint(codePoint);
    const name = `U+${codePoint.toString(16)}`;
    const cards = found(`4111111111111111${hidden}5555555555554444`);
    assert.ok(cards.includes("CREDIT_CARD 4111111111111111") && cards.includes("CREDIT_CARD 5555555555554444"), name);
    assert.ok(found(`1${hidden}4111111111111111`).includes("CREDIT_CARD 4111111111111111"), name);
    assert.ok(found(`536${hidden}22${hidden}1234`).length > 0, name);
  }
});

test("a card continued behind a tab or a line break is found, and a column of numbers is not", () => {
  for (const codePoint of [...BREAKS, 0x2028, 0x2029]) {
    for (const at of range(1, 15)) {
      const written = within(VALUES.CREDIT_CARD, at, String.fromCodePoint(codePoint));
      assert.ok(found(`is ${written}, so`).includes(`CREDIT_CARD ${written}`), `U+${codePoint.toString(16)} ${at}`);
    }
  }
  for (const written of [
    "4111 1111\n1111 1111",
    "4111\r\n1111\r\n1111\r\n1111",
    "4\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1",
  ]) {
    assert.ok(found(`is ${written}, so`).includes(`CREDIT_CARD ${written}`), JSON.stringify(written));
  }
  const lines = "4111111111111111\n5555555555554444\n12";
  assert.deepEqual(found(lines), ["CREDIT_CARD 4111111111111111", "CREDIT_CARD 5555555555554444"]);
  assert.deepEqual(found("4111\n1111\n1111\n1111\n1111\n1111\n"), []);
});

const MARKS = all.filter((it) => /^\p{M}$/u.test(String.fromCodePoint(it)) && !IGNORABLE.includes(it));
/** Values in which each Latin letter is in a word with a digit. */
const NUMBERED = Object.entries(VALUES).filter(([label]) => label !== "EMAIL_ADDRESS" && label !== "NAME");
const KEYCAP = "\u20e3";

test("a combining mark on any character of a value with digits hides it from no engine and is replaced with it", () => {
  assert.ok(MARKS.length > 2_000);
  for (const { name, detector: by } of ENGINES) {
    for (const [index, codePoint] of MARKS.entries()) {
      const mark = String.fromCodePoint(codePoint);
      for (const [label, value] of NUMBERED) {
        const places = index % 50 === 0 ? range(1, value.length) : [1 + (index % value.length)];
        for (const at of places) {
          const written = within(value, at, mark);
          const what = `${name}: ${label} U+${codePoint.toString(16)} ${at}`;
          assert.ok(found(`is ${written}, so`, by).includes(`${label} ${written}`), what);
        }
      }
    }
  }
});

const write = (value: string, digit: (of: number) => string): string =>
  value.replace(/[0-9]/g, (it) => digit(Number(it)));
const from = (first: number) => (digit: number) => String.fromCodePoint(first + digit);
const listed = (digits: string) => (digit: number) => [...digits][digit]!;

/** Other forms of digits. */
const DIGITS: Readonly<Record<string, (digit: number) => string>> = {
  keycaps: (digit) => `${digit}${KEYCAP}`,
  "keycaps of emoji": (digit) => `${digit}\ufe0f${KEYCAP}`,
  "several marks on each": (digit) => `${digit}\u0301\u200d\u0489\u0336`,
  "full width": from(0xff10),
  "full width with marks": (digit) => `${from(0xff10)(digit)}${KEYCAP}`,
  "Arabic-Indic": from(0x660),
  "Arabic-Indic with vowels": (digit) => `${from(0x660)(digit)}\u064e`,
  "Extended Arabic-Indic": from(0x6f0),
  Devanagari: from(0x966),
  Bengali: from(0x9e6),
  Thai: from(0xe50),
  "mathematical bold": from(0x1d7ce),
  "mathematical double-struck": from(0x1d7d8),
  "mathematical monospace": from(0x1d7f6),
  segmented: from(0x1fbf0),
  superscripts: listed("⁰¹²³⁴⁵⁶⁷⁸⁹"),
  subscripts: from(0x2080),
  circled: listed("⓪①②③④⑤⑥⑦⑧⑨"),
  "circled, negative": listed("⓿❶❷❸❹❺❻❼❽❾"),
  "circled, sans-serif": listed("🄋➀➁➂➃➄➅➆➇➈"),
  "circled, negative sans-serif": listed("🄌➊➋➌➍➎➏➐➑➒"),
  "circled twice": listed("0⓵⓶⓷⓸⓹⓺⓻⓼⓽"),
  "in parentheses": listed("0⑴⑵⑶⑷⑸⑹⑺⑻⑼"),
  "with a full stop": listed("🄀⒈⒉⒊⒋⒌⒍⒎⒏⒐"),
  "with a comma": from(0x1f101),
};
const mixed = Object.values(DIGITS);

test("digits of any script and form, alone, mixed and with marks, are found by every engine", () => {
  for (const { name, detector: by } of ENGINES) {
    for (const [label, value] of NUMBERED) {
      const ways = [...Object.entries(DIGITS), ["mixed", (digit: number) => mixed[digit * 2]!(digit)] as const];
      for (const [way, digit] of ways) {
        const written = write(value, digit);
        assert.ok(
          found(`is ${written}, so`, by).includes(`${label} ${written}`),
          `${name}: ${label}, ${way}: ${written}`,
        );
      }
    }
  }
});

test("separators with marks, and text behind a value, hide nothing", () => {
  for (const { detector: by } of ENGINES) {
    for (const written of [
      "536-\u030822-1234",
      "536 \u0308 22 1234".replace(" \u0308 ", " \u0308"),
      "+\u030814155552671",
    ]) {
      assert.equal(found(`is ${written}, so`, by).length > 0, true, written);
    }
    assert.ok(found("a\u03084111111111111111", by).includes("CREDIT_CARD 4111111111111111"));
    assert.deepEqual(found("call +14155552671¹ today", by), ["PHONE_NUMBER +14155552671"]);
    assert.deepEqual(found("of 4111111111111111②, and", by), ["CREDIT_CARD 4111111111111111"]);
    assert.deepEqual(found("①4111111111111111", by), ["CREDIT_CARD 4111111111111111"]);
  }
});

test("ordinary text with marks and digit variants is left alone", () => {
  for (const text of [
    "Việt Nam có 63 tỉnh thành, dân số hơn 100 triệu người, Quận5 và Quận10, đường 3/2, năm 2026".normalize("NFD"),
    "भारत में २८ राज्य हैं, और १५ अगस्त १९४७ को आज़ादी मिली; कुल १२,३४,५६७ लोग",
    "وُلِدَ في عَامِ ١٩٤٧، وَعَدَدُ السُّكَّانِ ١٢٣٤٥٦٧ نَسَمَةً",
    "ราคา ๑๒๓ บาท ที่ชั้น ๔ ของอาคาร",
    "שָׁנָה 1948, בְּרֵאשִׁית פֶּרֶק 1, פָּסוּק 12",
    "an area of 120 m², 10⁶ cells, CO₂ and H₂O, E = mc², 5×10⁹, see notes¹²³",
    "① first ② second ③ third ④ fourth ⑤ fifth; 1️⃣ one 2️⃣ two 3️⃣ three",
    "⑴ 12 ⑵ 34 ⑶ 56, or ⒈ 7 ⒉ 8",
  ]) {
    for (const { name, detector: by } of ENGINES) assert.deepEqual(found(text, by), [], `${name}: ${text}`);
  }
});

test("a value streamed in any pieces, with an invisible character or a mark between all characters, is found", () => {
  const reaches = compileReaches((detector.horizon?.reaches ?? []).map((reach) => ({ ...reach, name: "pii" })));
  const firstOfEach = HIDDEN.filter((codePoint, at) => HIDDEN[at - 1] !== codePoint - 1);
  const marks = [0x301, 0x489, 0x20e3, 0x64e, 0x1d165];
  for (const codePoint of [...firstOfEach, ...marks]) {
    for (const [label, value] of marks.includes(codePoint) ? NUMBERED : Object.entries(VALUES)) {
      const written = [...value].join(String.fromCodePoint(codePoint)) + (marks.includes(codePoint) ? KEYCAP : "");
      const text = `so it is ${written}, and that is all`;
      for (const size of [1, 3, 7, written.length >> 1]) {
        for (const offset of size === 7 ? range(0, 6) : [0]) {
          let shown = "";
          const channel = createChannel(
            {
              maxHoldBytes: 512,
              onHoldOverflow: "emit",
              liveHorizon: true,
              scanChunkBytes: 1,
              maxBufferBytes: 1 << 20,
            },
            {
              reaches,
              scan: (piece) => [{ detector: "pii", mode: "inline", findings: findings(piece) }] as never,
              judge,
              onUnproven() {},
              onOversize() {},
            },
          );
          const pieces = [
            text.slice(0, offset),
            ...(text.slice(offset).match(new RegExp(`[^]{1,${size}}`, "g")) ?? []),
          ];
          for (const piece of pieces) shown += channel.push(piece) as string;
          shown += channel.end() as string;
          assert.equal(
            shown,
            `so it is <>, and that is all`,
            `${label} U+${codePoint.toString(16)} in ${size} from ${offset}`,
          );
        }
      }
    }
  }
});

/** Merges all findings into one mark. */
function judge(text: string, byDetector: readonly DetectorFindings[]): Judgement {
  const spans = byDetector.flatMap(({ findings: lists }) => lists[0] ?? []).sort((a, b) => a.start - b.start);
  let shown = "";
  let at = 0;
  for (const { start, end } of spans) {
    if (start >= at) shown += `${text.slice(at, start)}<>`;
    at = Math.max(at, end);
  }
  const rewrite = { text: shown + text.slice(at), edits: [] };
  return {
    outcome: "allow",
    rewrites: [rewrite],
    decisions: [],
    skipped: [],
    annotations: [],
    shadow: [],
    fpeDomainTooSmall: 0,
  };
}

/** What nobody sees within a value, or between two, hides neither: of every kind of pattern, whole and streamed. */
import assert from "node:assert/strict";
import test from "node:test";
import {
  compileReaches,
  createChannel,
  type DetectorFindings,
  type Judgement,
} from "../../../../src/server/core/guardrails/index.ts";
import { createPiiDetector } from "../../../../src/server/detectors/index.ts";
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

const { detector } = createPiiDetector(
  configOf({
    apply_to: ["user", "output"],
    entities: Object.keys(VALUES),
    custom_recognizers: [
      { name: "Badge", entity: "BADGE", case_sensitive: false, patterns: [{ regex: "EMP-[0-9]{6}", score: 0.9 }] },
      { name: "Name", entity: "NAME", case_sensitive: false, deny_list: ["operation walrus"] },
    ],
  }),
  "pii",
  true,
) as Extract<ReturnType<typeof createPiiDetector>, { kind: "detector" }>;

function findings(text: string) {
  const segment = { kind: "user", text, ref: "", turn: 0, isReadOnly: false } as const;
  return detector.detectHere!([{ segment, windows: undefined }]);
}

const found = (text: string) =>
  (
    findings(text) as ReturnType<typeof findings> &
      readonly (readonly { start: number; end: number; label: string }[])[]
  )[0]!.map(({ start, end, label }) => `${label} ${text.slice(start, end)}`);

const within = (value: string, at: number, hidden: string) => value.slice(0, at) + hidden + value.slice(at);

test("every invisible code point, at each place of every kind of value", () => {
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

test("what stands between two values hides neither of them, nor what stands between a value and another number", () => {
  for (const codePoint of HIDDEN) {
    const hidden = String.fromCodePoint(codePoint);
    const name = `U+${codePoint.toString(16)}`;
    const cards = found(`4111111111111111${hidden}5555555555554444`);
    assert.ok(cards.includes("CREDIT_CARD 4111111111111111") && cards.includes("CREDIT_CARD 5555555555554444"), name);
    assert.ok(found(`1${hidden}4111111111111111`).includes("CREDIT_CARD 4111111111111111"), name);
    assert.ok(found(`536${hidden}22${hidden}1234`).length > 0, name);
  }
});

test("a card that goes on behind a tab or a line break is found, a column of numbers is none", () => {
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

test("streamed in any pieces, with an invisible character between all characters", () => {
  const reaches = compileReaches((detector.horizon?.reaches ?? []).map((reach) => ({ ...reach, name: "pii" })));
  const firstOfEach = HIDDEN.filter((codePoint, at) => HIDDEN[at - 1] !== codePoint - 1);
  for (const codePoint of firstOfEach) {
    for (const [label, value] of Object.entries(VALUES)) {
      const written = [...value].join(String.fromCodePoint(codePoint));
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
              unproven() {},
              oversize() {},
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

/** Whatever is found becomes one mark. */
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

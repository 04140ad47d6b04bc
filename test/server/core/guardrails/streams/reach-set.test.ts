/**
 * Combined match bounds compared with each one separately, and cut texts with uncut ones. `GATEWAY_SEED` sets the seed.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compileReaches, type Reach } from "../../../../../src/server/core/guardrails/index.ts";
import { pendingFrom } from "../../../../../src/server/core/guardrails/streams/horizon.ts";

const SEED = Number(process.env["GATEWAY_SEED"] ?? Date.now() % 1_000_000);
const TEXTS = 800;
const RIGHT_BYTES = 4;

function numbers(seed: number): (below: number) => number {
  let state = seed + 1;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function reach(name: string, maxBytes: number, alphabet: RegExp, prefix = ""): Reach {
  const holds = (codePoint: number): boolean => alphabet.test(String.fromCodePoint(codePoint));
  return { name, maxBytes, rightBytes: RIGHT_BYTES, prefix, mayContain: holds };
}

/** More than the bits of a word, some of them equal. */
const MANY = Array.from({ length: 60 }, (_, i) => reach(`many-${i}`, 3 + i, i % 2 === 0 ? /[0-9]/ : /[0-9 -]/));

const PREFIXED = [
  reach("key", 40, /[a-z0-9-]|\p{Cf}|[ｋＫ]/iu, "key-"),
  reach("key of two parts", Number.POSITIVE_INFINITY, /[a-z0-9-]|\p{Cf}|[ｋＫ]/iu, "key-ab"),
  reach("ligature", 24, /[a-zﬁ]/iu, "ifi"),
  reach("block", Number.POSITIVE_INFINITY, /[^!]/u, "--b"),
];

const SETS: readonly (readonly [name: string, reaches: readonly Reach[]])[] = [
  ["none", []],
  ["one", [reach("digits", 11, /[0-9]/)]],
  ["wide characters", [reach("wide", 9, /é|中|😀/u), reach("narrow", 2, /é|中|😀|a/u)]],
  ["prefixes", PREFIXED],
  [
    "more than 64",
    [...MANY, ...PREFIXED, reach("word", 12, /[a-z]/i), reach("endless", Number.POSITIVE_INFINITY, /x/)],
  ],
];

const PIECES = [
  "key-",
  "KEY",
  "ｋey",
  "k\u200bey-",
  "ab",
  "-",
  "--b",
  "if",
  "ﬁ",
  "i",
  "1",
  "23 45",
  " ",
  "x",
  "xxxx",
].concat(["é", "中", "😀", "\ud83d", "!", "!!", "word ", "\n"]);

function textOf(below: (n: number) => number): string {
  let text = "";
  for (let count = below(24); count > 0; count--) text += PIECES[below(PIECES.length)];
  return text;
}

describe("compiled match bounds", () => {
  for (const [name, reaches] of SETS) {
    it(`are pending where the first of them is: ${name} (seed ${SEED})`, () => {
      const below = numbers(SEED);
      const set = compileReaches(reaches);
      for (let i = 0; i < TEXTS; i++) {
        const text = textOf(below);
        const each = reaches.map((one) => pendingFrom(text, 0, one));
        const pending = set.pendingFrom(text);
        assert.equal(pending, Math.min(text.length, ...each), JSON.stringify(text));
        const holder = reaches.find((one) => one.name === set.pendingReachName(text, pending));
        if (each.includes(pending)) assert.equal(holder && pendingFrom(text, 0, holder), pending);
      }
    });
  }

  it("cost no more with many characters beyond the basic plane", () => {
    const set = compileReaches([reach("all", 400, /\p{L}/u)]);
    for (let from = 0x20000; from < 0x24000; from += 64) {
      const text = String.fromCodePoint(...Array.from({ length: 64 }, (_, i) => from + i));
      assert.equal(set.pendingFrom(`. ${text}`), 2);
    }
  });
});

const PATTERNS: readonly { readonly pattern: RegExp; readonly reach: Reach }[] = [
  { pattern: /\d{3}-\d{2}/g, reach: reach("number", 6, /[\d-]/) },
  { pattern: /[a-z]{1,5}@[a-z]{1,5}/g, reach: reach("mail", 11, /[a-z@]/) },
  { pattern: /ab-[^!]{1,12}[a-c]/g, reach: reach("block", 40, /[^!]/, "ab-") },
];

interface Span {
  readonly start: number;
  readonly end: number;
}

function spansOf(pattern: RegExp, text: string, from: number): readonly Span[] {
  return [...text.matchAll(pattern)].map((match) => {
    const start = from + match.index;
    return { start, end: start + match[0].length };
  });
}

describe("clean cut position", () => {
  it(`loses no match that ends behind its place (seed ${SEED})`, () => {
    const below = numbers(SEED);
    const pieces = ["123-45", "12", "-", "3", "me@x", "@", "abc", "ab-", "!", ". ", " ", "é", "😀", "word"];
    const set = compileReaches(PATTERNS.map((it) => it.reach));
    let cuts = 0;
    for (let i = 0; i < TEXTS; i++) {
      let text = "";
      for (let count = below(30); count > 0; count--) text += pieces[below(pieces.length)];
      const to = below(text.length + 1);
      const last = below(to + 1);
      const cut = set.cleanCut(text, last, to);
      if (cut === undefined) continue;
      cuts++;
      assert.ok(cut > 0 && cut <= last);
      for (const { pattern } of PATTERNS) {
        const whole = spansOf(pattern, text, 0);
        const rest = spansOf(pattern, text.slice(cut), cut);
        const isBehind = ({ end }: Span): boolean => end > to;
        assert.deepEqual(rest.filter(isBehind), whole.filter(isBehind), JSON.stringify({ text, cut, to }));
      }
    }
    assert.ok(cuts > TEXTS / 8, `${cuts} cuts of ${TEXTS} texts`);
  });
});

/**
 * Texts in pieces compared with the same texts whole. `GATEWAY_STREAM_TEXTS` sets their number (1,000 by default),
 * `GATEWAY_SEED` the seed.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  compileReaches,
  createChannel,
  type DetectorFindings,
  type Finding,
  type Judgement,
  type Reach,
  type StreamTerms,
} from "../../../../../src/server/core/guardrails/index.ts";
import { randomRuns } from "../../../../support/random-length.ts";

const TEXTS = Number(process.env["GATEWAY_STREAM_TEXTS"] ?? randomRuns(1_000));
const SEED = Number(process.env["GATEWAY_SEED"] ?? Date.now() % 1_000_000);

const PATTERNS: readonly { readonly pattern: RegExp; readonly reach: Reach }[] = [
  { pattern: /\b\d{3}-\d{2}-\d{4}\b/g, reach: reach("ssn", 11, 4, /[\d-]/, "") },
  { pattern: /ab-[a-z0-9]{4,8}/gi, reach: reach("token", 11, 4, /[a-z0-9-]/i, "ab-") },
  { pattern: /[a-z]{1,6}@[a-z]{1,6}(?:\.uk)?/g, reach: reach("mail", 16, 4, /[a-z@.]/, "") },
  { pattern: /é{2,3}/g, reach: reach("wide", 6, 4, /é/, "") },
];

const REACHES = compileReaches(PATTERNS.map((it) => it.reach));

function reach(name: string, maxBytes: number, rightBytes: number, alphabet: RegExp, prefix: string): Reach {
  return {
    name,
    maxBytes,
    rightBytes,
    prefix,
    mayContain: (codePoint) => alphabet.test(String.fromCodePoint(codePoint)),
  };
}

const finding = (start: number, end: number): Finding => ({
  start,
  end,
  category: "custom",
  label: "X",
  score: 1,
  recognizer: "",
  trace: undefined,
});

function scan(text: string): readonly DetectorFindings[] {
  return PATTERNS.map(({ pattern, reach: { name } }) => ({
    detector: name,
    mode: "inline",
    findings: [[...text.matchAll(pattern)].map((match) => finding(match.index, match.index + match[0].length))],
  }));
}

const JUDGED = { decisions: [], skipped: [], annotations: [], shadow: [], fpeDomainTooSmall: 0 };

/** Merges overlapping findings into one mark. */
function judge(text: string, found: readonly DetectorFindings[]): Judgement {
  const spans = found.flatMap(({ findings }) => findings[0] ?? []).sort((a, b) => a.start - b.start);
  let shown = "";
  let at = 0;
  let end = -1;
  for (const span of spans) {
    if (span.start >= end) {
      shown += `${text.slice(at, span.start)}<>`;
      end = span.end;
    } else end = Math.max(end, span.end);
    at = end;
  }
  return { outcome: "allow", rewrites: [{ text: shown + text.slice(at), edits: [] }], ...JUDGED };
}

const TERMS: StreamTerms = {
  maxHoldBytes: 512,
  onHoldOverflow: "emit",
  liveHorizon: true,
  scanChunkBytes: 1,
  maxBufferBytes: 1 << 20,
};

const IN_BOUNDS = { onOversize: () => assert.fail("nothing is too long") };

/** Detectors here answer synchronously. */
function now(shown: string | Promise<string>): string {
  assert.ok(typeof shown === "string");
  return shown;
}

function numbers(seed: number): (below: number) => number {
  let state = seed + 1;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const PIECES = [
  "123-45-6789",
  "ab-",
  "Ab-1a2b",
  "me@x",
  ".uk",
  "@",
  "a",
  "1",
  "-",
  " ",
  "é",
  "éé",
  "😀",
  "\n",
  ". The ",
  "word ",
];

function textOf(below: (n: number) => number): string {
  let text = "";
  for (let count = below(90); count >= 0; count--) text += PIECES[below(PIECES.length)];
  return text;
}

function streamed(text: string, terms: StreamTerms, size: () => number): { shown: string; unproven: number } {
  let unproven = 0;
  const channel = createChannel(terms, { reaches: REACHES, scan, judge, onUnproven: () => unproven++, ...IN_BOUNDS });
  const whole = judge(text, scan(text));
  const expected = whole.outcome === "allow" ? (whole.rewrites[0]?.text ?? "") : "";
  let shown = "";
  for (let at = 0; at < text.length; ) {
    const length = Math.max(1, size());
    shown += now(channel.push(text.slice(at, at + length)));
    at += length;
    assert.ok(expected.startsWith(shown), "what is shown is never anything but the beginning of the whole result");
    assert.ok(channel.heldBytes <= 512 + 4 * length, "what is held is bounded");
  }
  return { shown: shown + now(channel.end()), unproven };
}

describe("text in pieces", () => {
  it(`is shown as if it came whole (seed ${SEED})`, () => {
    const below = numbers(SEED);
    for (let i = 0; i < TEXTS; i++) {
      const text = textOf(below);
      const most = 1 + below(40);
      const terms = { ...TERMS, liveHorizon: below(2) === 0, scanChunkBytes: below(2) === 0 ? 1 : undefined };
      const { shown, unproven } = streamed(text, terms, () => below(most));
      const whole = judge(text, scan(text));
      assert.equal(shown, whole.outcome === "allow" ? whole.rewrites[0]?.text : "");
      assert.equal(unproven, 0);
    }
  });

  it("is held back by word, not by horizon, if prose cannot continue a match", () => {
    const channel = createChannel(TERMS, { reaches: REACHES, scan, judge, onUnproven: () => undefined, ...IN_BOUNDS });
    assert.equal(now(channel.push("!!!!!! Hello,     ")), "!!!!!! Hello,     ");
  });

  it("counts an unbounded run once and shows no more of it than necessary", () => {
    let unproven = 0;
    const endless = reach("endless", Number.POSITIVE_INFINITY, 0, /[x]/, "");
    const ports = {
      reaches: compileReaches([endless]),
      scan: () => [],
      judge,
      onUnproven: () => unproven++,
      ...IN_BOUNDS,
    };
    const channel = createChannel({ ...TERMS, maxHoldBytes: 16 }, ports);
    let shown = "";
    for (let i = 0; i < 100; i++) shown += now(channel.push("x"));
    assert.equal(shown.length, 84);
    assert.equal(unproven, 1);
    shown += now(channel.push(" "));
    assert.equal(shown.length, 101);
    for (let i = 0; i < 20; i++) shown += now(channel.push("x"));
    assert.equal(unproven, 2);
    assert.equal((shown + now(channel.end())).length, 121);
  });

  it("is kept to its end if an overflow is to be buffered", () => {
    const endless = reach("endless", Number.POSITIVE_INFINITY, 0, /[x]/, "");
    const ports = {
      reaches: compileReaches([endless]),
      scan: () => [],
      judge,
      onUnproven: () => assert.fail("nothing is released"),
      ...IN_BOUNDS,
    };
    const channel = createChannel({ ...TERMS, maxHoldBytes: 16, onHoldOverflow: "buffer" }, ports);
    assert.equal(now(channel.push("x".repeat(40))), "");
    assert.equal(channel.isBuffering, true);
    assert.equal(now(channel.push(" and more")), "");
    assert.equal(now(channel.end()), `${"x".repeat(40)} and more`);
  });

  it("is released unproven above the buffer limit, which is reported once", () => {
    const endless = reach("endless", Number.POSITIVE_INFINITY, 0, /[x]/, "");
    let unproven = 0;
    let oversize = 0;
    const ports = {
      reaches: compileReaches([endless]),
      scan: () => [],
      judge,
      onUnproven: () => unproven++,
      onOversize: () => oversize++,
    };
    const terms = { ...TERMS, maxHoldBytes: 16, onHoldOverflow: "buffer", maxBufferBytes: 64 } as const;
    const channel = createChannel(terms, ports);
    let shown = "";
    for (let i = 0; i < 100; i++) {
      shown += now(channel.push("x"));
      assert.ok(channel.heldBytes <= 64);
    }
    assert.deepEqual([shown.length, oversize, unproven], [84, 1, 1]);
    assert.equal((shown + now(channel.end())).length, 100);
  });

  it("is shown the same if its reader answers later", async () => {
    const below = numbers(SEED);
    for (let i = 0; i < 100; i++) {
      const text = textOf(below);
      const later = createChannel(TERMS, {
        reaches: REACHES,
        scan: async (it) => scan(it),
        judge,
        onUnproven: () => assert.fail("all are bounded"),
        ...IN_BOUNDS,
      });
      let shown = "";
      for (let at = 0; at < text.length; at += 7) shown += await later.push(text.slice(at, at + 7));
      shown += await later.end();
      assert.equal(shown, streamed(text, TERMS, () => 7).shown);
    }
  });

  it("shows nothing more after a failed reading", () => {
    let isBroken = false;
    const scans = (text: string) => (isBroken ? undefined : scan(text));
    const channel = createChannel(TERMS, {
      reaches: compileReaches([]),
      scan: scans,
      judge,
      onUnproven: () => undefined,
      ...IN_BOUNDS,
    });
    assert.equal(now(channel.push("one ")), "one ");
    isBroken = true;
    assert.equal(now(channel.push("two ")) + now(channel.end()), "");
    assert.equal(channel.heldBytes, 0);
  });
});

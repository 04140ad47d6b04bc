import assert from "node:assert/strict";
import test from "node:test";
import type { DetectorConfig } from "../../../../src/server/core/config/index.ts";
import type { DetectorInput } from "../../../../src/server/core/guardrails/index.ts";
import { createPiiDetector } from "../../../../src/server/detectors/index.ts";
import { extentOfExpression, horizonOf } from "../../../../src/server/detectors/pii/match-length-bounds.ts";
import { cpuMs } from "../../../support/cpu-time.ts";
import { configOf } from "./configs.ts";

type Custom = NonNullable<DetectorConfig["custom_recognizers"]>[number];

const custom = (keys: Partial<Custom>): DetectorConfig =>
  configOf({
    recognizers: ["Badge"],
    custom_recognizers: [{ name: "Badge", entity: "BADGE", case_sensitive: false, ...keys } as Custom],
  });

function built(of: DetectorConfig) {
  const made = createPiiDetector(of, "pii", true);
  assert.ok(made.kind === "detector", JSON.stringify(made));
  return made.detector;
}

function problems(of: DetectorConfig): string[] {
  const made = createPiiDetector(of, "pii", true);
  return made.kind === "refused" ? made.problems.map(({ path, message }) => `${path.join(".")}: ${message}`) : [];
}

function find(of: DetectorConfig, text: string, windows?: DetectorInput["windows"]) {
  const segment = { kind: "user", text, ref: "", turn: 0, isReadOnly: false } as const;
  const found = built(of).detect([{ segment, windows }], [segment], new AbortController().signal);
  assert.ok(!(found instanceof Promise));
  return found[0]!.map((it) => [text.slice(it.start, it.end), it.label, +it.score.toFixed(2), it.trace!.pattern]);
}

test("entities and recognizers select what is searched for; unknown ones are refused with the closest known name", () => {
  const text = "4111 1111 1111 1111 a@example.com";
  assert.deepEqual(find(configOf({ entities: ["EMAIL_ADDRESS"] }), text), [
    ["a@example.com", "EMAIL_ADDRESS", 1, "email"],
  ]);
  assert.deepEqual(find(configOf({ recognizers: ["CreditCardRecognizer"] }), text).length, 1);
  assert.match(
    problems(configOf({ entities: ["EMAIL_ADRESS"] }))[0]!,
    /^entities\.0: .*did you mean `EMAIL_ADDRESS`\?$/,
  );
  assert.match(problems(configOf({ recognizers: ["IpRecogniser"] }))[0]!, /^recognizers\.0: .*`IpRecognizer`/);
  assert.match(
    problems(configOf({ entities: ["URL"], recognizers: ["IpRecognizer"] }))[0]!,
    /the detector would find nothing/,
  );
});

test("only findings inside a window count, and the fingerprint distinguishes configurations", () => {
  const text = "a@example.com b@example.com";
  assert.deepEqual(
    find(configOf({ entities: ["EMAIL_ADDRESS"] }), text, [{ start: 10, end: 27 }]).map(([it]) => it),
    ["b@example.com"],
  );
  assert.notEqual(built(configOf({})).fingerprint, built(configOf({ entities: ["URL"] })).fingerprint);
  assert.equal(built(configOf({})).fingerprint, built(configOf({})).fingerprint);
});

test("a custom pattern follows RE2: dot matches all, anchors match at lines, and case is ignored unless stated", () => {
  const patterns = [{ regex: "^badge.\\d{3}\\b", score: 0.4 }];
  assert.deepEqual(find(custom({ patterns }), "x\nBADGE\n123 badge 456\nbadge-٤٥٦"), [
    ["BADGE\n123", "BADGE", 0.4, "pattern 1"],
    ["badge-٤٥٦", "BADGE", 0.4, "pattern 1"],
  ]);
  assert.deepEqual(find(custom({ patterns, case_sensitive: true }), "BADGE 123"), []);
  assert.deepEqual(
    find(custom({ patterns: [{ name: "b", regex: "a+?b|a+", score: 1 }] }), "aaab aa").map(([it]) => it),
    ["aaab", "aa"],
  );
  assert.deepEqual(find(custom({ patterns, context: ["Employee"] }), "badge 123"), [
    ["badge 123", "BADGE", 0.4, "pattern 1"],
  ]);
  assert.deepEqual(
    find(custom({ patterns: [{ regex: "\\d{4}", score: 0.2 }], context: ["Employee"] }), "employees 1234")[0]![2],
    0.55,
  );
});

test("a deny list finds whole words, the first listed wins, and a trace names no literal", () => {
  const of = custom({ deny_list: ["Falcon Nine", "falcon", "raven", "raven two", "C++", "نسر"] });
  assert.deepEqual(find(of, "FALCON nine, falcons, raven two, c++ and نسر"), [
    ["FALCON nine", "BADGE", 1, "entry 1"],
    ["raven", "BADGE", 1, "entry 3"],
    ["c++", "BADGE", 1, "entry 5"],
    ["نسر", "BADGE", 1, "entry 6"],
  ]);
  assert.deepEqual(find(custom({ deny_list: ["x"], deny_list_score: 0.3, category: "custom" }), "x")[0]![2], 0.3);
});

test("a validator of each kind confirms or drops", () => {
  const rows: readonly (readonly [NonNullable<Custom["validator"]>, right: string, wrong: string])[] = [
    [{ kind: "luhn", strip: "- " }, "4111-1111-1111-1111", "4111-1111-1111-1112"],
    [{ kind: "verhoeff" }, "2363", "2364"],
    [{ kind: "iso7064" }, "36574261809", "36574261808"],
    [{ kind: "iban", strip: " " }, "GB82 WEST 1234 5698 7654 32", "GB82 WEST 1234 5698 7654 33"],
    [{ kind: "weighted", weights: [3, 7, 1, 3, 7, 1, 3, 7, 1], modulus: 10 }, "021000021", "021000022"],
    [
      { kind: "crc32_base62", prefix: "xx_", sum_len: 6 },
      `xx_AbCdEfGhIjKlMnOpQrStUvWxYz0123${"2piBxe"}`,
      `xx_AbCdEfGhIjKlMnOpQrStUvWxYz0124${"2piBxe"}`,
    ],
  ];
  for (const [validator, right, wrong] of rows) {
    const examples = [
      { text: right, finds: [right] },
      { text: wrong, finds: [] },
    ];
    const of = custom({ patterns: [{ regex: "[\\w -]+", score: 0.1 }], validator, examples });
    assert.deepEqual(problems(of), [], validator.kind);
    assert.deepEqual(find(of, right)[0]![2], 1, validator.kind);
    assert.deepEqual(find(of, wrong), [], validator.kind);
  }
});

test("an error in a custom recognizer is refused at its place, and no example's text is shown", () => {
  const patterns = [{ regex: "\\d{4}", score: 0.5 }];
  const rows: readonly (readonly [Partial<Custom>, RegExp])[] = [
    [{ name: "IpRecognizer", patterns }, /^custom_recognizers\.0\.name: .*built-in/],
    [{ patterns, category: "nonsense" }, /^custom_recognizers\.0\.category: .*pii, secret/],
    [
      { patterns: [{ regex: "(?=a)", score: 1 }] },
      /^custom_recognizers\.0\.patterns\.0\.regex: this expression is not supported: error parsing/,
    ],
    [
      { patterns: [{ regex: "(a)\\1", score: 1 }] },
      /patterns\.0\.regex: this expression is not supported: error parsing/,
    ],
    [
      { patterns: [{ regex: "((a{1,100}){1,100}){1,100}", score: 1 }] },
      /patterns\.0\.regex: this expression is not supported: error parsing/,
    ],
    [{ patterns: [{ regex: "a{1000}".repeat(5), score: 1 }] }, /patterns\.0\.regex: .*too large/],
    [{ patterns: [{ regex: "a".repeat(5000), score: 1 }] }, /5000 characters, at most 4096/],
    [{ deny_list: ["a".repeat(300)] }, /^custom_recognizers\.0\.deny_list\.0: 300 characters/],
    [
      { patterns, examples: [{ text: "1234 5678", finds: ["1234"] }] },
      /^custom_recognizers\.0\.examples\.0: 2 found where `finds` has 1/,
    ],
    [{ patterns, examples: [{ text: "none", finds: ["1234"] }] }, /0 found where `finds` has 1/],
    [
      {
        patterns,
        validator: { kind: "weighted", weights: [1, 1, 1, 10], modulus: 10 },
        examples: [{ text: "1270", finds: ["1270"] }],
      },
      /examples\.0: value 1 is still found when its digit 4 is altered/,
    ],
  ];
  for (const [keys, message] of rows) {
    const found = problems({ ...custom(keys), recognizers: undefined } as unknown as DetectorConfig);
    assert.equal(found.length, 1, JSON.stringify(found));
    assert.match(found[0]!, message);
    assert.doesNotMatch(found[0]!, /1234/);
  }
});

test("a custom pattern that explodes on a backtracking engine takes linear time", () => {
  const detector = custom({ patterns: [{ regex: "(a|aa)+$|(x+x+)+y", score: 0.5 }] });
  const started = cpuMs();
  find(detector, `${"a".repeat(20_000)}b${"x".repeat(20_000)}`);
  assert.ok(cpuMs() - started < 5000);
});

test("a pattern's bounds are its characters, its longest match in bytes, and its beginning", () => {
  const rows: readonly (readonly [regex: string, bytes: number, prefix: string])[] = [
    ["ab_[0-9]{4}", 3 * 3 + 4 * 4, "ab_"],
    ["\\bsk-(?:x|yy)", 3 * 3 + 2 * 3, "sk-"],
    ["(?:a|b)c?", 6, ""],
    ["k\\d+", Number.POSITIVE_INFINITY, "k"],
    ["key=(?P<value>x)", 15, ""],
    ["😀", 4, "😀"],
    ["ab[cd]{40,2500}\\b", 6 + 2500 * 3, "ab"],
  ];
  for (const [regex, bytes, prefix] of rows) {
    const extent = extentOfExpression(regex, false);
    assert.deepEqual([extent.maxBytes, extent.prefix], [bytes, prefix], regex);
  }
});

test("a horizon covers the characters of matches, including variants and ignorable ones", () => {
  const { reaches } = horizonOf([
    {
      name: "R",
      entity: "R",
      category: "pii",
      context: [],
      patterns: [
        { kind: "shape", name: "a", score: 1, shapes: ["d3-d4"] },
        { kind: "shape", name: "b", score: 1, shapes: ["d9"] },
        { kind: "text", name: "c", score: 1, regex: "tok_[a-f]{3}", keywords: ["tok_"] },
      ],
    },
  ]);
  assert.deepEqual(
    reaches.map(({ maxBytes, prefix }) => [maxBytes, prefix]),
    [
      [7 * 4 + 3, ""],
      [36, ""],
      [7 * 3, "tok_"],
    ],
  );
  const { mayContain: holds } = reaches[0]!;
  for (const held of "7٣𝟗-\u2011 \u00a0\u200b") if (held.length > 0) assert.ok(holds(held.codePointAt(0)!), held);
  for (const other of "aé٫.") assert.ok(!holds(other.codePointAt(0)!), other);
  assert.equal(built(configOf({})).horizon, undefined);
  const all = built(configOf({ apply_to: ["user", "output"] })).horizon;
  assert.ok(all !== undefined);
  // Private keys and signed tokens have no bound that a stream could wait for.
  const unbounded = all.reaches.filter(({ maxBytes }) => !Number.isFinite(maxBytes));
  assert.deepEqual([...new Set(unbounded.map(({ name }) => name))].sort(), ["JwtRecognizer", "PrivateKeyRecognizer"]);
  assert.ok(all.reaches.every(({ maxBytes }) => maxBytes < 10_000 || maxBytes === Number.POSITIVE_INFINITY));
});

/** Output of each operator. */

import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { test } from "node:test";
import type { GuardrailRule, Guardrails } from "../../../../../src/server/core/guardrails/index.ts";
import { normalizeValue } from "../../../../../src/server/core/guardrails/policy/index.ts";
import { by, finding, occasion, policyOf, rewrittenBy, rule, segment } from "./cases.ts";

const KEY = "00112233445566778899aabbccddeeff";
const FPE_KEY = "2b7e151628aed2a6abf7158809cf4f3c";

const CARD = "4111 1111 1111 1111";

function written(value: string, label: string, own: Partial<GuardrailRule>, more: Partial<Guardrails> = {}): string {
  const text = `<<${value}>>`;
  const result = rewrittenBy(policyOf({ rules: [rule(own)], ...more }), text, [finding(text, value, label)]);
  assert.ok(result.startsWith("<<") && result.endsWith(">>"));
  return result.slice(2, -2);
}

const CASES: readonly (readonly [label: string, value: string, own: Partial<GuardrailRule>, becomes: string])[] = [
  ["CREDIT_CARD", CARD, {}, "<CREDIT_CARD>"],
  ["CREDIT_CARD", CARD, { replacement: "[card]" }, "[card]"],
  ["CREDIT_CARD", CARD, { replacement: "" }, ""],
  ["CREDIT_CARD", CARD, { operator: "redact" }, ""],
  ["CREDIT_CARD", CARD, { operator: "mask" }, "**** **** **** ****"],
  ["CREDIT_CARD", CARD, { operator: "mask", mask_chars: 12 }, "**** **** **** 1111"],
  ["CREDIT_CARD", CARD, { operator: "mask", mask_chars: 4, from_end: true }, "4111 1111 1111 ****"],
  ["CREDIT_CARD", CARD, { operator: "mask", mask_chars: 99, mask_char: "x" }, "xxxx xxxx xxxx xxxx"],
  ["PERSON", "Zoë 𝒜ß", { operator: "mask", mask_char: "•" }, "••• ••"],
  ["ODD", "--/--", { operator: "mask" }, "*****"],
  ["PERSON", "Ada", { operator: "placeholder" }, "<PERSON_1>"],
];

test("operators write what the table states", () => {
  for (const [label, value, own, becomes] of CASES)
    assert.equal(written(value, label, own), becomes, JSON.stringify(own));
});

test("a hash covers type and normalized value, keyed if there is a key", () => {
  const input = "CREDIT_CARD\x004111111111111111";
  const plain = createHash("sha256").update(input).digest("hex").slice(0, 32);
  const keyed = createHmac("sha256", Buffer.from(KEY, "hex")).update(input).digest("hex").slice(0, 32);
  const keycaps = CARD.replace(/[0-9]/g, "$&\ufe0f\u20e3");
  for (const value of [CARD, "4111-1111-1111-1111", "٤١١١ 1111 1111 1111", "④①¹₁ 1111 1111 1111", keycaps]) {
    assert.equal(written(value, "CREDIT_CARD", { operator: "hash" }), `sha256:${plain}`);
    assert.equal(written(value, "CREDIT_CARD", { operator: "hash" }, { pseudonym_key: KEY }), `sha256:${keyed}`);
  }
});

test("pseudonyms are stable, differ by value, type and key, and include their type", () => {
  const name = (value: string, label = "PERSON", key = KEY): string =>
    written(value, label, { operator: "pseudonym" }, { pseudonym_key: key });
  assert.match(name("Ada Lovelace"), /^<PERSON:[0-9a-hjkmnp-tv-z]{10}>$/);
  assert.equal(name("Ada Lovelace"), name("Ada  Lovelace"));
  assert.notEqual(name("Ada Lovelace"), name("Ada Byron"));
  assert.notEqual(name("Paris", "PERSON").slice(-11), name("Paris", "LOCATION").slice(-11));
  assert.notEqual(name("Ada", "PERSON", KEY), name("Ada", "PERSON", `ff${KEY}`));
});

test("fpe keeps the format; otherwise a pseudonym or the type is used and counted", () => {
  const own = { operator: "fpe" } as const;
  assert.match(written(CARD, "CREDIT_CARD", own, { fpe_key: FPE_KEY }), /^\d{4} \d{4} \d{4} \d{4}$/);
  assert.equal(written("12345", "US_SSN", own, { fpe_key: FPE_KEY }), "<US_SSN>");
  assert.match(written("12345", "US_SSN", own, { fpe_key: FPE_KEY, pseudonym_key: KEY }), /^<US_SSN:\w{10}>$/);
  const badge = { fpe_key: FPE_KEY, fpe_alphabets: { BADGE: "alnum_upper" } } as const;
  assert.match(written("AB-1234", "BADGE", own, badge), /^[0-9A-Z]{2}-[0-9A-Z]{4}$/);
  const policy = policyOf({ rules: [rule(own)], fpe_key: FPE_KEY });
  const text = "1234 and 5678";
  const found = [finding(text, "1234", "US_SSN"), finding(text, "5678", "US_SSN")];
  assert.equal(policy.judge({ segments: [segment(text)], found: [by("pii", found)] }, occasion()).fpeDomainTooSmall, 2);
});

test("placeholders are numbered by first appearance over all segments, and continue in the answer", () => {
  const policy = policyOf({ rules: [rule({ operator: "placeholder" })] });
  const texts = ["Bob, Ada and Bob", "Ada, Cy", "dan@x.org"];
  const [first = "", second = "", third = ""] = texts;
  const on = occasion();
  const judged = policy.judge(
    {
      segments: texts.map((text) => segment(text)),
      found: [
        by(
          "pii",
          [
            finding(first, "Bob", "PERSON"),
            finding(first, "Ada", "PERSON"),
            { ...finding(first, "Bob", "PERSON"), start: 13, end: 16 },
          ],
          [finding(second, "Ada", "PERSON"), finding(second, "Cy", "PERSON")],
          [finding(third, "dan@x.org", "EMAIL_ADDRESS")],
        ),
      ],
    },
    on,
  );
  assert.deepEqual(judged.outcome === "allow" && judged.rewrites.map((rewrite) => rewrite?.text), [
    "<PERSON_1>, <PERSON_2> and <PERSON_1>",
    "<PERSON_2>, <PERSON_3>",
    "<EMAIL_ADDRESS_1>",
  ]);
  assert.equal(
    rewrittenBy(
      policy,
      "Cy met Eve",
      [finding("Cy met Eve", "Cy", "PERSON"), finding("Cy met Eve", "Eve", "PERSON")],
      on,
    ),
    "<PERSON_3> met <PERSON_4>",
  );
});

test("equality of values depends on their type", () => {
  const same: readonly (readonly [type: string, ...texts: string[]])[] = [
    ["IBAN_CODE", "DE89 3704 0044", "de8937040044"],
    ["US_SSN", "123-45-6789", "123 45 6789", "123456789", "1\u200b23456789"],
    ["PERSON", "Ada  Lovelace", " Ada\nLovelace "],
    ["EMAIL_ADDRESS", "Ada@Example.ORG", "Ada@example.org"],
    ["PHONE_NUMBER", "+49 30 901820", "+49(30)901820"],
  ];
  for (const [type, first = "", ...others] of same) {
    for (const other of others) assert.equal(normalizeValue(type, other), normalizeValue(type, first), type);
  }
  assert.notEqual(normalizeValue("EMAIL_ADDRESS", "ada@x.org"), normalizeValue("EMAIL_ADDRESS", "Ada@x.org"));
  assert.notEqual(normalizeValue("PHONE_NUMBER", "+4930"), normalizeValue("PHONE_NUMBER", "4930"));
  assert.notEqual(normalizeValue("PERSON", "ada"), normalizeValue("PERSON", "Ada"));
});

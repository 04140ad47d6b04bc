/** FF1 with its vectors, encrypted values in texts, and decryption. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { createFpe } from "../../../../../src/server/core/guardrails/policy/index.ts";
import { CHECK_DIGITS } from "../../../../../src/server/core/guardrails/policy/operators/check-digits.ts";
import { createFf1 } from "../../../../../src/server/core/guardrails/policy/operators/ff1.ts";

interface Vector {
  readonly name: string;
  readonly result?: "valid" | "invalid";
  readonly key: string;
  readonly tweak: string;
  readonly alphabet: string;
  readonly plaintext: string;
  readonly ciphertext: string;
}

const VECTORS = JSON.parse(readFileSync(new URL("../../../../data/vectors/ff1.json", import.meta.url), "utf8")) as {
  readonly nist: readonly Vector[];
  readonly wycheproof: readonly Vector[];
};

const KEY = Buffer.from("2b7e151628aed2a6abf7158809cf4f3c", "hex");

function run({ key, tweak, alphabet, plaintext, ciphertext }: Vector): {
  readonly there: string;
  readonly back: string;
} {
  const ff1 = createFf1(Buffer.from(key, "hex"));
  const numerals = (text: string): number[] => [...text].map((symbol) => alphabet.indexOf(symbol));
  const text = (values: readonly number[]): string => values.map((value) => alphabet[value]).join("");
  const radix = alphabet.length;
  return {
    there: text(ff1.encrypt(numerals(plaintext), radix, Buffer.from(tweak, "hex"))),
    back: text(ff1.decrypt(numerals(ciphertext), radix, Buffer.from(tweak, "hex"))),
  };
}

test("FF1 matches NIST's samples and Wycheproof's vectors in both directions", () => {
  assert.equal(VECTORS.nist.length, 9);
  for (const vector of [...VECTORS.nist, ...VECTORS.wycheproof.filter(({ result }) => result === "valid")]) {
    const { there, back } = run(vector);
    assert.deepEqual([there, back], [vector.ciphertext, vector.plaintext], vector.name);
  }
});

test("FF1 refuses every invalid vector: a symbol outside the alphabet, a length below the minimum", () => {
  const invalid = VECTORS.wycheproof.filter(({ result }) => result === "invalid");
  assert.equal(invalid.length, 40);
  for (const vector of invalid) assert.throws(() => run(vector), RangeError, vector.name);
});

const FPE = createFpe(KEY, "prod");

test("length, separators, script, country code and case are kept; another type or tweak gives another value", () => {
  const card = FPE.encrypt("CREDIT_CARD", "digits", "4111 1111-1111 1111") ?? "";
  assert.match(card, /^\d{4} \d{4}-\d{4} \d{4}$/);
  assert.notEqual(card, "4111 1111-1111 1111");
  assert.match(FPE.encrypt("PHONE_NUMBER", "digits", "+49 (30) 901820") ?? "", /^\+49 \(\d\d\) \d{6}$/);
  assert.match(FPE.encrypt("PHONE_NUMBER", "digits", "+1-212-555-0123") ?? "", /^\+1-\d{3}-\d{3}-\d{4}$/);
  assert.match(FPE.encrypt("US_SSN", "digits", "٠٧٨-٠٥-١١٢٠") ?? "", /^[٠-٩]{3}-[٠-٩]{2}-[٠-٩]{4}$/);
  assert.match(FPE.encrypt("US_SSN", "digits", "𝟎𝟕𝟖-𝟎𝟓-𝟏𝟏𝟐𝟎") ?? "", /^[𝟎-𝟗]{3}-[𝟎-𝟗]{2}-[𝟎-𝟗]{4}$/u);
  assert.match(FPE.encrypt("BADGE", "alnum_upper", "ab-12-cd") ?? "", /^[0-9a-z]{2}-[0-9a-z]{2}-[0-9a-z]{2}$/);
  const account = FPE.encrypt("US_BANK_NUMBER", "digits", "123456789");
  assert.notEqual(FPE.encrypt("US_SSN", "digits", "123456789"), account);
  assert.notEqual(createFpe(KEY, "test").encrypt("US_BANK_NUMBER", "digits", "123456789"), account);
});

test("a value with fewer than a million possibilities is not encrypted", () => {
  assert.equal(FPE.encrypt("US_SSN", "digits", "12345"), undefined);
  assert.notEqual(FPE.encrypt("US_SSN", "digits", "123456"), undefined);
  assert.equal(FPE.encrypt("CREDIT_CARD", "digits", "123456"), undefined, "the check digit is not encrypted");
  assert.equal(FPE.encrypt("BADGE", "upper", "ABCD"), undefined);
  assert.equal(FPE.encrypt("BADGE", "letters", "AbC"), undefined);
  assert.equal(FPE.encrypt("BADGE", "alnum", "a1B"), undefined);
  assert.equal(FPE.encrypt("PHONE_NUMBER", "digits", "+49 12345"), undefined, "the country's digits stay");
  assert.equal(FPE.encrypt("BADGE", "digits", "1".repeat(257)), undefined, "longer than any format");
});

/** Valid values of usual lengths. */
const GENUINE = fc
  .tuple(
    fc.constantFrom(
      ["CREDIT_CARD", 15] as const,
      ["CREDIT_CARD", 18] as const,
      ["US_NPI", 9] as const,
      ["CA_SIN", 8] as const,
      ["ABA_ROUTING_NUMBER", 8] as const,
      ["IN_AADHAAR", 11] as const,
      ["SA_NATIONAL_ID", 9] as const,
      ["AE_EMIRATES_ID", 14] as const,
      ["ZA_ID_NUMBER", 12] as const,
      ["SE_PERSONNUMMER", 9] as const,
      ["SE_PERSONNUMMER", 11] as const,
    ),
    fc.infiniteStream(fc.integer({ min: 0, max: 9 })),
  )
  .map(([[type, length], digits]) => {
    const body = [...digits.take(length)].join("");
    return { type, value: `${body}${CHECK_DIGITS.get(type)?.(body)}` };
  });

test("a value with a check digit becomes one with an invalid check digit, which identifies it and decrypts", () => {
  fc.assert(
    fc.property(GENUINE, ({ type, value }) => {
      const encrypted = FPE.encrypt(type, "digits", value) ?? "";
      assert.equal(encrypted.length, value.length);
      const right = CHECK_DIGITS.get(type)?.(encrypted.slice(0, -1));
      assert.equal(Number(encrypted.at(-1)), ((right ?? 0) + 5) % 10);
      assert.equal(FPE.decrypt(type, "digits", encrypted), value);
      assert.equal(FPE.decrypt(type, "digits", value), undefined, "a genuine one is left alone");
    }),
    { numRuns: 1000 },
  );
});

test("any encrypted value decrypts, in any script and with any separators", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 6, maxLength: 40 }),
      fc.constantFrom(0x30, 0x660, 0xff10, 0x1d7ce),
      fc.constantFrom("", "-", " "),
      (digits, zero, separator) => {
        const value = digits.map((digit) => String.fromCodePoint(zero + digit)).join(separator);
        const encrypted = FPE.encrypt("US_BANK_NUMBER", "digits", value);
        assert.equal(FPE.decrypt("US_BANK_NUMBER", "digits", encrypted ?? ""), value);
      },
    ),
  );
});

test("digit variants are encrypted as their digits, and marks stay on theirs", () => {
  const plain = FPE.encrypt("US_SSN", "digits", "536-22-1234") ?? "";
  assert.match(plain, /^\d{3}-\d{2}-\d{4}$/);
  assert.equal(FPE.encrypt("US_SSN", "digits", "⑤³⑥-₂2-①2⒊4"), plain);
  const card = FPE.encrypt("CREDIT_CARD", "digits", "4111111111111111") ?? "";
  assert.equal(FPE.encrypt("CREDIT_CARD", "digits", `④${"①".repeat(15)}`), card);
  const keycaps = FPE.encrypt("CREDIT_CARD", "digits", "4111111111111111".replace(/[0-9]/g, "$&\u20e3"));
  assert.equal(keycaps, card.replace(/[0-9]/g, "$&\u20e3"));
  assert.equal(FPE.decrypt("CREDIT_CARD", "digits", keycaps ?? ""), "4111111111111111".replace(/[0-9]/g, "$&\u20e3"));
});

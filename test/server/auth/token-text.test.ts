/** Parsing of a token's text: one form, allowed algorithms, and nothing ambiguous. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import fc from "fast-check";
import { sign } from "./support/issuer.ts";
import { base64url, signText, startTrusted } from "./support/trusted.ts";

const { rsa, ec, verifier, good } = await startTrusted(after);

test("an algorithm outside the allow list is refused before any fetch", async () => {
  const claims = base64url(good());
  for (const alg of [
    "none",
    "None",
    "NONE",
    "nOnE",
    "HS256",
    "HS384",
    "HS512",
    "RSA1_5",
    "dir",
    "",
    null,
    1,
    "toString",
  ]) {
    for (const signature of ["", base64url("x")]) {
      const token = `${base64url({ alg, kid: "rsa-1" })}.${claims}.${signature}`;
      assert.equal(await verifier.outcome(token), "algorithm", String(alg));
    }
  }
  assert.equal(await verifier.outcome(`${base64url({ kid: "rsa-1" })}.${claims}.eA`), "algorithm");
});

test("critical extensions, an unencoded payload and other token types are refused", async () => {
  const claims = base64url(good());
  for (const header of [
    { crit: ["exp"], exp: 1 },
    { crit: [] },
    { b64: false },
    { b64: true },
    { kid: 7 },
    { typ: 7 },
  ]) {
    const token = `${base64url({ alg: "RS256", kid: "rsa-1", ...header })}.${claims}.eA`;
    assert.equal(await verifier.outcome(token), "malformed", JSON.stringify(header));
  }
  for (const [typ, outcome] of [
    ["JWT", "verified"],
    ["at+jwt", "verified"],
    ["application/at+JWT", "verified"],
    ["logout+jwt", "malformed"],
    ["dpop+jwt", "malformed"],
    ["application/secevent+jwt", "malformed"],
  ] as const) {
    assert.equal(await verifier.outcome(await sign(rsa, good(), { typ })), outcome, typ);
  }
});

test("a text that is not a compact token is malformed, however long or nested", async () => {
  const deep = (levels: number) =>
    JSON.stringify(good()).replace("{", `{"x":${"[".repeat(levels)}${"]".repeat(levels)},`);
  const [head, body, signature] = (await sign(rsa, good())).split(".");
  const texts = [
    "",
    ".",
    "..",
    "...",
    "a.b.c",
    "gwk_abcdefgh_x",
    `${head}.${body}`,
    `${head}.${body}.`,
    `${head}.${body}.${signature}.`,
    `${head}.${body}.${signature}.${signature}.${signature}`,
    ` ${head}.${body}.${signature}`,
    `${head}.${body}.${signature}\n`,
    `${head}.${body}.${signature}=`,
    `${base64url("null")}.${body}.${signature}`,
    `${base64url('["RS256"]')}.${body}.${signature}`,
    `${head}.${base64url("[]")}.${signature}`,
    `${head}.${base64url('"text"')}.${signature}`,
    `${head}.${base64url(`${JSON.stringify(good())}x`)}.${signature}`,
    await signText(rsa, deep(20)),
    await signText(rsa, deep(4_000)),
    await signText(rsa, JSON.stringify(good({ groups: "g".repeat(16_000) }))),
    "a".repeat(10_000_000),
  ];
  for (const text of texts) assert.equal(await verifier.outcome(text), "malformed", text.slice(0, 40));
  assert.equal(await verifier.outcome(await signText(rsa, deep(10))), "verified");
});

test("a duplicate member is refused at every depth, also with escapes", async () => {
  const text = JSON.stringify(good());
  for (const twice of [
    text.replace("{", '{"sub":"root",'),
    text.replace("{", '{"s\\u0075b":"root",'),
    text.replace("{", '{"x":{"a":1,"a":2},'),
    text.replace("{", '{"x":[{"a":"}","b":{},"a":2}],'),
  ]) {
    assert.equal(await verifier.outcome(await signText(rsa, twice)), "malformed", twice.slice(0, 30));
  }
  const once = text.replace("{", '{"x":[{"a":"\\"a\\":{","b":["a","a"]},{"a":{"a":[]}}],');
  assert.equal(await verifier.outcome(await signText(rsa, once)), "verified");
  const header = Buffer.from('{"alg":"RS256","kid":"rsa-1","alg":"RS256"}').toString("base64url");
  assert.equal(await verifier.outcome(`${header}.${base64url(good())}.eA`), "malformed");
});

test("bytes that are not UTF-8 are refused, and so is a byte order mark", async () => {
  const text = JSON.stringify(good({ sub: "al?ce" }));
  const bytes = Buffer.from(text);
  bytes[text.indexOf("?")] = 0xff;
  assert.equal(await verifier.outcome(await signText(rsa, bytes)), "malformed");
  assert.equal(await verifier.outcome(await signText(rsa, `\ufeff${text}`)), "malformed");
});

test("changing any single character makes a token refused", async () => {
  const alphabet = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.", "=", " ", "\u0100"];
  const tokens = [await sign(rsa, good()), await sign(ec, good())];
  for (const token of tokens) {
    assert.equal(await verifier.outcome(token), "verified");
    // The last characters of the parts have bits that a lenient parser ignores.
    const ends = [token.indexOf(".") - 1, token.lastIndexOf(".") - 1, token.length - 1];
    for (const at of ends) {
      for (const letter of alphabet.filter((it) => it !== token[at])) {
        assert.notEqual(
          await verifier.outcome(token.slice(0, at) + letter + token.slice(at + 1)),
          "verified",
          `at ${at}`,
        );
      }
    }
  }
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...tokens),
      fc.nat(),
      fc.constantFrom(...alphabet),
      fc.constantFrom("replace", "insert", "delete"),
      async (token, seed, letter, how) => {
        const at = seed % token.length;
        const changed =
          token.slice(0, at) + (how === "delete" ? "" : letter) + token.slice(how === "insert" ? at : at + 1);
        fc.pre(changed !== token);
        assert.notEqual(await verifier.outcome(changed), "verified");
      },
    ),
    { numRuns: 400 },
  );
});

test("for any text the verifier refuses and never fails otherwise", async () => {
  const part = fc
    .oneof(fc.json(), fc.string(), fc.constantFrom('{"alg":"RS256"}', "{}"))
    .map((text) => base64url(text));
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.string({ unit: "binary" }),
        fc.tuple(part, part, part).map((parts) => parts.join(".")),
      ),
      async (text) => {
        assert.equal((await verifier.verify(text)).kind, "refused");
      },
    ),
    { numRuns: 300 },
  );
});

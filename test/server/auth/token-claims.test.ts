/** Claims about caller and times, as the verifier judges them. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { START_MS, sign } from "./support/issuer.ts";
import { signText, startTrusted } from "./support/trusted.ts";
import { testVerifier } from "./support/verify.ts";

const { rsa, issuer, verifier, good } = await startTrusted(after);

test("times have a leeway of 60 seconds", async () => {
  const now = START_MS / 1000;
  const rows: readonly [Readonly<Record<string, unknown>>, string][] = [
    [{ exp: now - 59 }, "verified"],
    [{ exp: now - 60 }, "expired"],
    [{ exp: now - 3600 }, "expired"],
    [{ exp: -1 }, "expired"],
    [{ exp: undefined }, "no_expiry"],
    [{ exp: null }, "malformed"],
    [{ exp: String(now + 60) }, "malformed"],
    [{ nbf: now + 60 }, "verified"],
    [{ nbf: now + 61 }, "not_yet_valid"],
    [{ nbf: "0" }, "malformed"],
    [{ iat: now + 60 }, "verified"],
    [{ iat: now + 61 }, "not_yet_valid"],
    [{ iat: [] }, "malformed"],
    [{ iat: undefined }, "verified"],
  ];
  for (const [changes, outcome] of rows) {
    assert.equal(await verifier.outcome(await sign(rsa, good(changes))), outcome, JSON.stringify(changes));
  }
});

test("an invalid date and a time in milliseconds are refused in any of the three claims", async () => {
  const now = START_MS / 1000;
  const outcomes = async (value: string): Promise<readonly string[]> => {
    const found: string[] = [];
    for (const claim of ["exp", "nbf", "iat"]) {
      const text = JSON.stringify(good({ [claim]: 1_234 })).replace(`"${claim}":1234`, `"${claim}":${value}`);
      found.push(await verifier.outcome(await signText(rsa, text)));
    }
    return found;
  };
  const never = [
    "1e999",
    "-1e999",
    "1e300",
    "-1e300",
    "253402300800",
    String(START_MS + 60_000),
    "null",
    '"NaN"',
    '"1e9"',
  ];
  for (const value of [...never, "true", "[]", "{}", `[${now}]`]) {
    assert.deepEqual(await outcomes(value), ["malformed", "malformed", "malformed"], value);
  }
  assert.deepEqual(await outcomes("253402300799"), ["verified", "not_yet_valid", "not_yet_valid"]);
  assert.deepEqual(await outcomes(String(now + 0.5)), ["verified", "verified", "verified"]);
  assert.deepEqual(await outcomes("-0.5"), ["expired", "verified", "verified"]);
});

test("a subject is a text of 1 to 256 printable characters", async () => {
  const rows: readonly [unknown, string][] = [
    ["a", "verified"],
    ["Ünïcode 名前 🦀", "verified"],
    ["system:serviceaccount:prod:agent", "verified"],
    ["🦀".repeat(256), "verified"],
    ["🦀".repeat(257), "no_subject"],
    ["", "no_subject"],
    [undefined, "no_subject"],
    [null, "no_subject"],
    [42, "no_subject"],
    [["alice"], "no_subject"],
    ["a\nb", "no_subject"],
    ["a\u0000", "no_subject"],
    ["a\u007f", "no_subject"],
    ["a\u202eb", "no_subject"],
    ["a\u200bb", "no_subject"],
    ["a\ud800", "no_subject"],
    ["a\u2028", "no_subject"],
  ];
  for (const [sub, outcome] of rows) {
    assert.equal(await verifier.outcome(await sign(rsa, good({ sub }))), outcome, JSON.stringify(sub)?.slice(0, 40));
  }
});

test("the subject is the configured claim, and never an inherited property", async () => {
  for (const [subjectClaim, subject] of [
    ["client_id", "agent-7"],
    ["https://corp.example/id", "x1"],
    ["toString", undefined],
    ["__proto__", undefined],
    ["nested.id", undefined],
  ] as const) {
    await using tokens = testVerifier([issuer.options({ subjectClaim })]);
    const claims = good({ client_id: "agent-7", "https://corp.example/id": "x1", nested: { id: "n" } });
    const verdict = await tokens.verify(await sign(rsa, claims));
    assert.equal(verdict.kind === "verified" ? verdict.subject : undefined, subject, subjectClaim);
  }
});

test("the display name is the configured claim, else preferred_username, email, subject; one line, truncated", async () => {
  const rows: readonly [string | undefined, Readonly<Record<string, unknown>>, string][] = [
    [undefined, { preferred_username: "al", email: "a@b" }, "al"],
    [undefined, { preferred_username: " ", email: "a@b" }, "a@b"],
    [undefined, { preferred_username: 7 }, "alice"],
    ["name", { name: "Alice A.", preferred_username: "al" }, "Alice A."],
    ["name", { preferred_username: "al" }, "alice"],
    ["name", { name: " A\u0000\tB\r\n C\u202e " }, "A B C"],
    ["name", { name: "\u200b" }, "alice"],
    ["name", { name: "🦀".repeat(200) }, "🦀".repeat(128)],
  ];
  for (const [nameClaim, claims, name] of rows) {
    await using tokens = testVerifier([issuer.options({ nameClaim })]);
    const verdict = await tokens.verify(await sign(rsa, good(claims)));
    assert.equal(verdict.kind === "verified" && verdict.displayName, name);
  }
});

test("an unverified address is refused, however `false` is written", async () => {
  const rows: readonly [unknown, string][] = [
    [true, "verified"],
    ["true", "verified"],
    ["True", "verified"],
    [undefined, "verified"],
    [null, "verified"],
    [false, "email_not_verified"],
    ["false", "email_not_verified"],
    ["False", "email_not_verified"],
    ["", "email_not_verified"],
    [0, "email_not_verified"],
    [{}, "email_not_verified"],
  ];
  for (const [value, outcome] of rows) {
    const token = await sign(rsa, good({ email_verified: value }));
    assert.equal(await verifier.outcome(token), outcome, JSON.stringify(value));
  }
});

test("audiences are a text, a list of texts or nothing", async () => {
  const rows: readonly [unknown, unknown][] = [
    ["gateway", ["gateway"]],
    [
      ["a", "b"],
      ["a", "b"],
    ],
    [[], []],
    [undefined, []],
    [7, "malformed"],
    [["a", 7], "malformed"],
    [{ gateway: true }, "malformed"],
  ];
  for (const [aud, expected] of rows) {
    const verdict = await verifier.verify(await sign(rsa, good({ aud })));
    assert.deepEqual(verdict.kind === "verified" ? verdict.audiences : verdict.fault, expected, JSON.stringify(aud));
  }
});

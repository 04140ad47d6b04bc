/** Tokens that are accepted by an issuer's keys, and the faults of all others. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createInstruments } from "../../../src/base/index.ts";
import { createTokenMetrics, createTokenVerifier } from "../../../src/server/auth/index.ts";
import {
  DISCOVERY_PATH,
  goodClaims,
  KEYS_PATH,
  START_MS,
  sign,
  startIssuer,
  testClock,
  testKey,
} from "./support/issuer.ts";
import { startTrusted } from "./support/trusted.ts";
import { recordedLog, testVerifier } from "./support/verify.ts";

const { rsa, issuer, verifier, good } = await startTrusted(after);

test("a valid token gives issuer, subject, name, audiences, expiry and claims", async () => {
  const verdict = await verifier.verify(await sign(rsa, good({ aud: ["a", "gateway"], email: "alice@example.org" })));
  assert.equal(verdict.kind, "verified");
  assert.deepEqual(
    { ...verdict, claims: undefined },
    {
      kind: "verified",
      issuer: "corp",
      subject: "alice",
      displayName: "alice@example.org",
      audiences: ["a", "gateway"],
      expiresAt: START_MS + 3_600_000,
      claims: undefined,
    },
  );
  assert.equal(verdict.claims["email"], "alice@example.org");
});

test("the issuer is matched exactly, before any fetch", async () => {
  const before = issuer.seen.length;
  for (const iss of [
    `${issuer.url}/`,
    issuer.url.toUpperCase(),
    "https://other.example",
    "",
    7,
    [issuer.url],
    undefined,
  ]) {
    const verdict = await verifier.verify(await sign(rsa, good({ iss }), { kid: "new" }));
    assert.deepEqual(verdict, { kind: "refused", fault: "unknown_issuer", issuer: undefined });
  }
  assert.equal(issuer.seen.length, before);
});

test("a token of one issuer signed by another's key is refused", async () => {
  const theirs = await testKey("RS256", "rsa-1");
  await using other = await startIssuer({ keys: [theirs] });
  await using both = testVerifier([issuer.options(), other.options({ name: "other" })]);
  assert.equal(await both.outcome(await sign(theirs, goodClaims(other.url))), "verified");
  assert.equal(await both.outcome(await sign(theirs, good())), "signature");
});

test("tokens that cannot be accepted in any case cause no fetch", async () => {
  await using own = await startIssuer({ keys: [rsa] });
  await using tokens = testVerifier([own.options()]);
  const claims = goodClaims(own.url);
  for (const changes of [{ exp: 1 }, { sub: "" }, { aud: 7 }, { email_verified: false }]) {
    assert.notEqual(await tokens.outcome(await sign(rsa, { ...claims, ...changes })), "verified");
  }
  assert.equal(own.seen.length, 0);
  assert.equal(await tokens.outcome(await sign(rsa, claims)), "verified");
  assert.deepEqual([own.fetches(DISCOVERY_PATH), own.fetches(KEYS_PATH)], [1, 1]);
});

test("no part of a token appears in logs or metrics", async () => {
  const log = recordedLog();
  const instruments = createInstruments();
  await using own = await startIssuer({ keys: [rsa] });
  const tokens = testVerifier([own.options()], { log, metrics: createTokenMetrics(instruments) });
  const mine = await testKey("RS256", "canary-kid");
  const canary = { sub: "canary-sub", email: "canary-mail", aud: "canary-aud" };
  assert.equal(await tokens.outcome(await sign(rsa, goodClaims(own.url, canary))), "verified");
  assert.equal(await tokens.outcome(await sign(mine, goodClaims(own.url, canary))), "unknown_key");
  await own.close();
  tokens.clock.advance(600_000);
  assert.equal(await tokens.outcome(await sign(mine, goodClaims(own.url, canary))), "keys_unavailable");
  assert.equal(await tokens.outcome(await sign(rsa, goodClaims("https://canary-iss", canary))), "unknown_issuer");
  await tokens[Symbol.asyncDispose]();
  const text = JSON.stringify([log.lines, instruments.read()]);
  assert.doesNotMatch(text, /canary|eyJ/);
  assert.match(text, /\["corp","verified"\],"value":1/);
  assert.match(text, /\["","unknown_issuer"\],"value":1/);
  assert.match(text, /\["corp","failed"\],"value":1/);
});

test("two issuers with the same address are a configuration error", () => {
  const issuers = [issuer.options(), issuer.options({ name: "again" })];
  assert.throws(() => createTokenVerifier({ issuers, clock: testClock(), log: recordedLog() }), /the same address/);
});

test("a caller that disconnected before the check is aborted", async () => {
  const tokens = createTokenVerifier({ issuers: [issuer.options()], clock: testClock(), log: recordedLog() });
  const token = await sign(rsa, good());
  const gone = AbortSignal.abort(new Error("gone"));
  await assert.rejects(tokens.verify(token, gone), /gone/);
  assert.equal((await tokens.verify(token, new AbortController().signal)).kind, "verified");
  await assert.rejects(tokens.verify(token, gone), /gone/, "also where nothing has to be fetched");
  await tokens.close();
});

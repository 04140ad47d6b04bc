/** Tokens of a real OpenID provider, found by its own discovery document. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createCallers, type IssuerOptions, probeIssuer } from "../../../src/server/auth/index.ts";
import { startOidc } from "../../e2e/support/oidc.ts";
import { bearer, identify, memoryKeys, testBinding, testRules } from "./support/callers.ts";
import { testVerifier } from "./support/verify.ts";

const API = "https://gateway.example.com";

const USERS = {
  alice: { groups: ["ops", "dev"], email: "alice@example.com", email_verified: true, preferred_username: "al" },
  mallory: { email: "alice@example.com", email_verified: false },
};

const issuerOptions = (url: string): IssuerOptions => ({
  name: "corp",
  url,
  jwksUrl: undefined,
  caFile: undefined,
  tokenFile: undefined,
  subjectClaim: "sub",
  nameClaim: undefined,
});

/** The provider's tokens use the machine's time, so the verifier's clock does too. */
const verifierOf = (url: string) => {
  const tokens = testVerifier([issuerOptions(url)]);
  tokens.clock.advance(Date.now() - tokens.clock.now());
  return tokens;
};

test("a provider's discovery document and keys are what a probe expects", async (t) => {
  const { issuer } = await startOidc(t);
  assert.deepEqual(await probeIssuer(issuerOptions(issuer), { timeoutMs: 5_000, signal: t.signal }), {
    kind: "ok",
    jwksUrl: `${issuer}/jwks`,
    keys: 1,
  });
});

test("an ID token has user, client and groups", async (t) => {
  const provider = await startOidc(t, { users: USERS });
  await using tokens = verifierOf(provider.issuer);
  const verdict = await tokens.verify((await provider.tokens("alice")).id_token);
  assert.ok(verdict.kind === "verified");
  const { issuer, subject, displayName, audiences, claims } = verdict;
  assert.deepEqual(
    { issuer, subject, displayName, audiences, groups: claims["groups"] },
    { issuer: "corp", subject: "alice", displayName: "al", audiences: ["gateway-cli"], groups: ["ops", "dev"] },
  );
});

test("a JWT access token is for the requested resource and expires with it", async (t) => {
  const lifetimes = { accessToken: 300 };
  const provider = await startOidc(t, { users: USERS, resources: { [API]: { audience: "gateway-api" } }, lifetimes });
  await using tokens = verifierOf(provider.issuer);
  const token = (await provider.tokens("alice", { resource: API })).access_token;
  const verdict = await tokens.verify(token);
  assert.ok(verdict.kind === "verified");
  assert.deepEqual([verdict.subject, verdict.audiences], ["alice", ["gateway-api"]]);
  assert.ok(Math.abs(verdict.expiresAt - tokens.clock.now() - 300_000) < 60_000);
  tokens.clock.advance(420_000);
  assert.equal(await tokens.outcome(token), "expired");
});

test("an opaque access token and a user with an unverified address are refused", async (t) => {
  const provider = await startOidc(t, { users: USERS });
  await using tokens = verifierOf(provider.issuer);
  assert.equal(await tokens.outcome((await provider.tokens("alice")).access_token), "malformed");
  assert.equal(await tokens.outcome((await provider.tokens("mallory")).id_token), "email_not_verified");
});

test("a provider's key rotation is followed, and a withdrawn key is refused in time", async (t) => {
  const provider = await startOidc(t);
  await using tokens = verifierOf(provider.issuer);
  const old = (await provider.tokens("alice")).id_token;
  assert.equal(await tokens.outcome(old), "verified");
  await provider.rotateKeys();
  assert.equal(await tokens.outcome((await provider.tokens("alice")).id_token), "verified");
  assert.equal(await tokens.outcome(old), "verified");
  await provider.rotateKeys({ isOldKept: false });
  tokens.clock.advance(600_000);
  assert.equal(await tokens.outcome(old), "unknown_key");
});

test("the data plane identifies a person by an ID token, and at one server by an access token for it", async (t) => {
  const publicUrl = "https://gateway.example.com";
  const tickets = `${publicUrl}/mcp/tickets`;
  const provider = await startOidc(t, { users: USERS, resources: { [tickets]: {} } });
  await using tokens = verifierOf(provider.issuer);
  const { clock } = tokens;
  const callers = createCallers({ keys: memoryKeys(), verifier: () => tokens.source, clock });
  const profiles = { claim: "groups", select: [{ value: "ops", profile: "operators" }] };
  const rules = testRules({ publicUrl, issuers: [testBinding({ audience: "gateway-cli", profiles })] });

  const found = await identify(callers, bearer((await provider.tokens("alice")).id_token), { rules });
  assert.ok(found.kind === "caller");
  const { user, profile, onlyServer } = found.caller;
  assert.deepEqual(
    { user, profile, onlyServer },
    {
      user: { name: "al", issuer: "corp", subject: "alice", email: "alice@example.com" },
      profile: "operators",
      onlyServer: undefined,
    },
  );

  const narrow = bearer((await provider.tokens("alice", { resource: tickets })).access_token);
  const there = await identify(callers, narrow, { rules, server: "tickets" });
  assert.ok(there.kind === "caller");
  const { agent, principal } = there.caller;
  assert.deepEqual(
    [agent?.subject, there.caller.onlyServer, principal],
    ["gateway-cli", "tickets", found.caller.principal],
  );
  for (const asked of [{ rules }, { rules, server: "wiki" }]) {
    assert.deepEqual(await identify(callers, narrow, asked), {
      kind: "refused",
      fault: "wrong_resource",
      issuer: "corp",
    });
  }
});

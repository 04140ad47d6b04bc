/** Callers by token: subjects, audiences, profiles, and every refusal. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import fc from "fast-check";
import { type AuthRules, type Caller, createCallers } from "../../../src/server/auth/index.ts";
import { bearer, identify, memoryKeys, outcome, presented, testBinding, testRules } from "./support/callers.ts";
import { sign, startIssuer, testKey } from "./support/issuer.ts";
import { base64url, startTrusted } from "./support/trusted.ts";
import { testVerifier } from "./support/verify.ts";

const { ec, issuer, verifier, good } = await startTrusted(after);
const callers = createCallers({ keys: memoryKeys(), verifier: () => verifier.source, clock: verifier.clock });

const PUBLIC_URL = "https://gateway.example.com";

async function callerOf(claims: Record<string, unknown>, rules: AuthRules, server?: string): Promise<Caller> {
  const options = { rules, ...(server !== undefined && { server }) };
  const found = await identify(callers, bearer(await sign(ec, good(claims))), options);
  assert.ok(found.kind === "caller", JSON.stringify(found));
  return found.caller;
}

test("a person's token gives the person and the application that acts for the person", async () => {
  const claims = { email: "alice@example.com", preferred_username: "al", azp: "ide" };
  const caller = await callerOf(claims, testRules());
  assert.deepEqual(caller, {
    kind: "user",
    key: undefined,
    agent: { name: "ide", issuer: "corp", subject: "ide" },
    user: { name: "al", issuer: "corp", subject: "alice", email: "alice@example.com" },
    issuer: "corp",
    profile: undefined,
    principal: caller.principal,
    onlyServer: undefined,
  });
  assert.match(caller.principal, /^[\w-]{43}$/);
});

test("the agent is `client_id`, else `azp`, if it is a valid name; otherwise there is none", async () => {
  const nobody = { email: 7 };
  for (const [claims, expected] of [
    [{ client_id: "a", azp: "b" }, "a"],
    [{ client_id: "", azp: "b" }, "b"],
    [{ client_id: ["a"] }, undefined],
    [{ azp: "x".repeat(257) }, undefined],
    [{ azp: "two\nlines" }, undefined],
    [nobody, undefined],
  ] as const) {
    const caller = await callerOf(claims, testRules());
    assert.equal(caller.agent?.subject, expected, JSON.stringify(claims));
    assert.equal(caller.user?.email, "");
  }
});

test("a workload's token gives an agent and no user", async () => {
  const rules = testRules({ issuers: [testBinding({ subject: "agent" })] });
  const caller = await callerOf({ sub: "spiffe://corp/batch", azp: "ide", email: "x@example.com" }, rules);
  assert.equal(caller.kind, "agent");
  assert.equal(caller.user, undefined);
  assert.deepEqual(caller.agent, { name: "x@example.com", issuer: "corp", subject: "spiffe://corp/batch" });
});

test("the payer is the subject within its issuer, whatever other tokens claim", async () => {
  await using other = await startIssuer({ keys: [ec] });
  await using both = testVerifier([issuer.options(), other.options({ name: "other" })]);
  const mine = createCallers({
    keys: memoryKeys(),
    verifier: () => both.source,
    clock: both.clock,
  });
  const rules = testRules({ issuers: [testBinding(), testBinding({ issuer: "other" })] });
  const principal = async (claims: Record<string, unknown>): Promise<string> => {
    const found = await identify(mine, bearer(await sign(ec, good(claims))), { rules });
    return found.kind === "caller" ? found.caller.principal : found.fault;
  };
  const alice = await principal({});
  assert.equal(await principal({ azp: "ide", jti: "2", groups: ["x"] }), alice);
  assert.notEqual(await principal({ sub: "bob" }), alice);
  assert.notEqual(await principal({ iss: other.url }), alice);
});

test("requests with one token share one frozen caller", async () => {
  const token = await sign(ec, good({ azp: "ide" }));
  const found = await identify(callers, bearer(token));
  assert.ok(found.kind === "caller");
  assert.ok([found.caller, found.caller.user, found.caller.agent].every(Object.isFrozen));
  assert.equal(await identify(callers, presented({ xApiKey: token })), found);
});

test("the issuer's first binding with an audience of the token decides", async () => {
  const rules = testRules({
    issuers: [
      testBinding({ issuer: "other", audience: "gateway", profile: "of-another" }),
      testBinding({ audience: "batch", subject: "agent", profile: "batch" }),
      testBinding({ audience: "gateway", profile: "people" }),
    ],
  });
  const cases = [
    ["batch", "agent", "batch"],
    ["gateway", "user", "people"],
    [["gateway", "batch"], "agent", "batch"],
  ] as const;
  for (const [aud, kind, profile] of cases) {
    const caller = await callerOf({ aud }, rules);
    assert.deepEqual([caller.kind, caller.profile], [kind, profile]);
  }
});

test("audiences are compared exactly, and without a public address no resource matches", async () => {
  const near = ["Gateway", "gateway ", "gatewa", PUBLIC_URL, `${PUBLIC_URL}/mcp/tickets`, [], ["admin"], undefined];
  for (const aud of near) {
    assert.equal(await outcome(callers, bearer(await sign(ec, good({ aud })))), "wrong_audience", JSON.stringify(aud));
  }
});

test("a token for the gateway's own audience works everywhere, and one for a server only at that server", async () => {
  const rules = testRules({ publicUrl: PUBLIC_URL });
  const at = async (aud: unknown, server?: string): Promise<string> => {
    const options = { rules, ...(server !== undefined && { server }) };
    const found = await identify(callers, bearer(await sign(ec, good({ aud }))), options);
    return found.kind === "caller" ? `only ${found.caller.onlyServer}` : found.fault;
  };
  const tickets = `${PUBLIC_URL}/mcp/tickets`;
  const cases = [
    [PUBLIC_URL, undefined, "only undefined"],
    [PUBLIC_URL, "tickets", "only undefined"],
    [`${PUBLIC_URL}/`, undefined, "only undefined"],
    [tickets, "tickets", "only tickets"],
    [tickets, undefined, "wrong_resource"],
    [tickets, "wiki", "wrong_resource"],
    [[tickets, `${PUBLIC_URL}/mcp/wiki`], "wiki", "only wiki"],
    [[tickets, `${PUBLIC_URL}/mcp/wiki`], "mail", "wrong_resource"],
    [[tickets, PUBLIC_URL], "wiki", "only undefined"],
    [[tickets, "gateway"], undefined, "only undefined"],
    [`${PUBLIC_URL}/mcp/org.example/tickets`, "tickets", "wrong_resource"],
    [`${tickets}/`, "tickets", "wrong_resource"],
    [`${PUBLIC_URL}/mcp/`, "tickets", "wrong_audience"],
    [`${PUBLIC_URL}/mcp`, undefined, "wrong_audience"],
    [`${PUBLIC_URL}/a2a/tickets`, "tickets", "wrong_audience"],
    [`${PUBLIC_URL}.evil.example/mcp/tickets`, "tickets", "wrong_audience"],
    ["http://gateway.example.com", undefined, "wrong_audience"],
    ["https://other.example/mcp/tickets", "tickets", "wrong_audience"],
  ] as const;
  for (const [aud, server, expected] of cases) {
    assert.equal(await at(aud, server), expected, `${JSON.stringify(aud)} at ${server}`);
  }
});

test("requests to one server with a token for it share one caller", async () => {
  const rules = testRules({ publicUrl: PUBLIC_URL });
  const from = bearer(await sign(ec, good({ aud: `${PUBLIC_URL}/mcp/tickets` })));
  const options = { rules, server: "tickets" };
  const found = await identify(callers, from, options);
  assert.equal(await identify(callers, from, options), found);
  assert.equal(await outcome(callers, from, { rules, server: "wiki" }), "wrong_resource");
});

test("each reason for refusing a token has its fault and names a known issuer", async () => {
  const [own, unpublished] = await Promise.all([testKey("ES256", "ec-1"), testKey("ES256", "not-published")]);
  await using dead = await startIssuer();
  dead.intercept = (_path, _request, response) => {
    response.writeHead(500).end();
    return true;
  };
  await using both = testVerifier([issuer.options(), dead.options({ name: "dead" })]);
  const mine = createCallers({
    keys: memoryKeys(),
    verifier: () => both.source,
    clock: both.clock,
  });
  const now = both.clock.now() / 1000;
  const unsigned = `${base64url({ alg: "none" })}.${base64url(good())}.`;
  const cases = [
    ["opaque", "malformed", undefined],
    ["sk-proj-abcdef", "malformed", undefined],
    [unsigned, "algorithm", undefined],
    [await sign(ec, good({ iss: "https://nobody.example" })), "unknown_issuer", undefined],
    [await sign(unpublished, good()), "unknown_signing_key", "corp"],
    [await sign(own, good()), "signature", "corp"],
    [await sign(ec, good({ exp: now - 61 })), "expired_token", "corp"],
    [await sign(ec, good({ nbf: now + 61 })), "not_yet_valid", "corp"],
    [await sign(ec, good({ exp: undefined })), "no_expiry", "corp"],
    [await sign(ec, good({ sub: "" })), "no_subject", "corp"],
    [await sign(ec, good({ email_verified: false })), "email_not_verified", "corp"],
    [await sign(ec, good({ iss: dead.url })), "issuer_unreachable", "dead"],
    [await sign(ec, good({ aud: "admin" })), "wrong_audience", "corp"],
  ] as const;
  for (const [text, fault, name] of cases) {
    const expected = { kind: "refused", fault, issuer: name };
    assert.deepEqual(await identify(mine, bearer(text)), expected);
    // A refused token is refused again, whatever was cached.
    assert.deepEqual(await identify(mine, bearer(text)), expected);
  }
  const unbound = testRules({ issuers: [testBinding({ issuer: "other" })] });
  assert.deepEqual(await identify(mine, bearer(await sign(ec, good())), { rules: unbound }), {
    kind: "refused",
    fault: "unknown_issuer",
    issuer: "corp",
  });
});

test("without accepted issuers no token is verified", async () => {
  const before = issuer.seen.length;
  const rules = testRules({ issuers: [] });
  assert.equal(await outcome(callers, bearer(await sign(ec, good())), { rules }), "unknown_issuer");
  assert.equal(await outcome(callers, bearer("opaque"), { rules }), "malformed");
  assert.equal(issuer.seen.length, before);
});

test("identifying rejects only when its signal aborts", async () => {
  const token = await sign(ec, good({ jti: "aborted" }));
  const aborting = new AbortController();
  const waiting = createCallers({
    keys: memoryKeys(),
    verifier: () => ({
      isStillValid: () => false,
      verify: (_text, signal) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    }),
    clock: verifier.clock,
  }).identify(bearer(token), testRules(), undefined, aborting.signal);
  aborting.abort(new Error("the client left"));
  await assert.rejects(async () => waiting, /the client left/);
});

const SELECT = {
  claim: "groups",
  select: [
    { value: "admins", profile: "wide" },
    { value: "dev", profile: "dev" },
    { value: "dev", profile: "never" },
    { value: "", profile: "empty" },
  ],
};

test("the first entry whose value the claim contains selects the profile, compared exactly", async () => {
  const rules = testRules({ issuers: [testBinding({ profile: "fallback", profiles: SELECT })] });
  const cases = [
    [["dev", "admins"], "wide"],
    [["x", "dev"], "dev"],
    ["dev", "dev"],
    ["dev,admins", "fallback"],
    ["Dev", "fallback"],
    [["de", "developers"], "fallback"],
    [[["dev"]], "fallback"],
    [{ dev: true }, "fallback"],
    [[1, null, "admins"], "wide"],
    ["", "empty"],
    [[], "fallback"],
    [undefined, "fallback"],
  ] as const;
  for (const [groups, expected] of cases) {
    assert.equal((await callerOf({ groups }, rules)).profile, expected, JSON.stringify(groups));
  }
});

test("an inherited property is not a claim", async () => {
  const profiles = { claim: "constructor", select: [{ value: "x", profile: "x" }] };
  const rules = testRules({ issuers: [testBinding({ profiles })] });
  assert.equal((await callerOf({}, rules)).profile, undefined);
  assert.equal((await callerOf({ constructor: "x" }, rules)).profile, "x");
});

test("for any claim and any entries, the first matching entry gives the profile", async () => {
  const value = fc.constantFrom("a", "b", "c", "A", "", "a b");
  const entries = fc.array(value, { maxLength: 6 });
  const claim = fc.oneof(value, fc.array(fc.oneof(value, fc.integer(), fc.constant(null)), { maxLength: 6 }));
  await fc.assert(
    fc.asyncProperty(
      entries,
      claim,
      fc.option(fc.constant("fallback"), { nil: undefined }),
      async (values, groups, profile) => {
        const select = values.map((it, at) => ({ value: it, profile: `p${at}` }));
        const rules = testRules({ issuers: [testBinding({ profile, profiles: { claim: "groups", select } })] });
        const carried: readonly unknown[] = typeof groups === "string" ? [groups] : groups;
        const expected = values.findIndex((it) => carried.includes(it));
        assert.equal((await callerOf({ groups }, rules)).profile, expected < 0 ? profile : `p${expected}`);
      },
    ),
    { numRuns: 60 },
  );
});

test("a new configuration applies to cached tokens", async () => {
  const from = bearer(await sign(ec, good({ groups: ["dev"] })));
  const profileUnder = async (rules: AuthRules) => {
    const found = await identify(callers, from, { rules });
    return found.kind === "caller" ? found.caller.profile : found.fault;
  };
  const before = testRules({ issuers: [testBinding({ profile: "before" })] });
  const selecting = testRules({ issuers: [testBinding({ profiles: SELECT })] });
  const closed = testRules({ issuers: [testBinding({ audience: "elsewhere" })] });
  assert.equal(await profileUnder(before), "before");
  assert.equal(await profileUnder(selecting), "dev");
  assert.equal(await profileUnder(closed), "wrong_audience");
  assert.equal(await profileUnder(before), "before");
});

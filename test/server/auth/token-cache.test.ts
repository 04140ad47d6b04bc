/** Cached verified tokens: for how long, how many, and that no token is taken for another. */

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, test } from "node:test";
import { nullLog } from "../../../src/base/index.ts";
import {
  createCachedVerifier,
  createCallers,
  createTokenVerifier,
  type IssuerOptions,
  type TokenVerifier,
} from "../../../src/server/auth/index.ts";
import { bearer, identify, memoryKeys, outcome } from "./support/callers.ts";
import { KEYS_PATH, START_MS, sign, startIssuer, testClock, testKey } from "./support/issuer.ts";
import { startTrusted } from "./support/trusted.ts";

const { ec, issuer, good } = await startTrusted(after);
const signal = AbortSignal.timeout(60_000);

/** A cache over a replaceable verifier, with the number of verified tokens. */
function start(issuers: readonly IssuerOptions[] = [issuer.options()]) {
  const clock = testClock();
  const count = { verified: 0 };
  const metrics = { countVerification: () => void count.verified++, countKeyFetch() {} };
  const create = (trusted: readonly IssuerOptions[]) =>
    createTokenVerifier({ issuers: trusted, clock, log: nullLog, metrics });
  let verifier = create(issuers);
  const replace = (trusted: readonly IssuerOptions[]) => {
    verifier = create(trusted);
  };
  return { clock, count, replace, verifier: () => verifier, cached: createCachedVerifier(() => verifier, clock) };
}

test("a token is verified once and then served from the cache", async () => {
  const { cached, count } = start();
  const token = await sign(ec, good());
  assert.equal(cached.findCached(token), undefined);
  const verdict = await cached.verify(token, signal);
  assert.equal(verdict.kind, "verified");
  assert.equal(await cached.verify(token, signal), verdict);
  assert.equal(cached.findCached(token), verdict);
  assert.deepEqual([count.verified, cached.size()], [1, 1]);
});

test("refusals are not cached", async () => {
  const { cached, count } = start();
  const token = await sign(ec, good({ sub: "" }));
  for (let times = 1; times <= 3; times++) {
    assert.equal((await cached.verify(token, signal)).kind, "refused");
    assert.equal(count.verified, times);
  }
  assert.equal(cached.size(), 0);
});

test("a token that differs from a cached one only in its signature is refused", async () => {
  const { cached } = start();
  const token = await sign(ec, good());
  await cached.verify(token, signal);
  const at = token.lastIndexOf(".") + 1;
  for (const near of [
    `${token.slice(0, at)}${token[at] === "A" ? "B" : "A"}${token.slice(at + 1)}`,
    token.slice(0, -4),
    `${token}A`,
    token.slice(0, at),
    ` ${token}`,
  ]) {
    assert.equal(cached.findCached(near), undefined);
    assert.equal((await cached.verify(near, signal)).kind, "refused");
  }
});

test("tokens with equal beginnings have separate callers", async () => {
  const { verifier, clock } = start();
  const callers = createCallers({ keys: memoryKeys(), verifier, clock });
  const texts = await Promise.all(["alice", "bob", "carol"].map((sub) => sign(ec, good({ jti: "x".repeat(60), sub }))));
  assert.equal(new Set(texts.map((text) => text.slice(0, 40))).size, 1);
  for (let times = 0; times < 2; times++) {
    const subjects = await Promise.all(
      texts.map(async (text) => {
        const found = await identify(callers, bearer(text));
        return found.kind === "caller" ? found.caller.user?.subject : found.fault;
      }),
    );
    assert.deepEqual(subjects, ["alice", "bob", "carol"]);
  }
});

test("a cached token expires at the same millisecond as an uncached one", async () => {
  const { cached, clock, verifier } = start();
  const token = await sign(ec, good({ exp: START_MS / 1000 + 90 }));
  assert.equal((await cached.verify(token, signal)).kind, "verified");
  // With the clocks' leeway of a minute this is 150 s from here.
  clock.advance(149_999);
  assert.ok(cached.findCached(token));
  assert.equal((await verifier().verify(token, signal)).kind, "verified");
  clock.advance(1);
  assert.equal(cached.findCached(token), undefined);
  assert.deepEqual(await cached.verify(token, signal), { kind: "refused", fault: "expired", issuer: "corp" });
});

test("a token of a withdrawn signing key is accepted for at most five minutes", async () => {
  const withdrawn = await testKey("ES256", "old");
  await using own = await startIssuer({ keys: [withdrawn] });
  own.headers = { "cache-control": "max-age=60" };
  const { cached, clock, count } = start([own.options()]);
  const token = await sign(withdrawn, good({ iss: own.url }));
  assert.equal((await cached.verify(token, signal)).kind, "verified");
  own.keys = [(await testKey("ES256", "new")).jwk];
  clock.advance(299_999);
  assert.ok(cached.findCached(token));
  clock.advance(1);
  assert.equal(cached.findCached(token), undefined);
  assert.equal((await cached.verify(token, signal)).kind, "refused");
  assert.equal(count.verified, 2);
});

test("a token of a withdrawn signing key ends as soon as the new keys are known", async () => {
  const [withdrawn, next] = await Promise.all([testKey("ES256", "old"), testKey("ES256", "new")]);
  await using own = await startIssuer({ keys: [withdrawn] });
  const { cached, clock } = start([own.options()]);
  const old = await sign(withdrawn, good({ iss: own.url }));
  assert.equal((await cached.verify(old, signal)).kind, "verified");
  own.keys = [next.jwk];
  clock.advance(31_000);
  assert.ok(cached.findCached(old));
  assert.equal((await cached.verify(await sign(next, good({ iss: own.url })), signal)).kind, "verified");
  assert.equal(cached.findCached(old), undefined);
  assert.deepEqual(await cached.verify(old, signal), { kind: "refused", fault: "unknown_key", issuer: "corp" });
});

test("a token of a remaining key is verified once more after each fetch of keys", async () => {
  const [stays, next] = await Promise.all([testKey("ES256", "stays"), testKey("ES256", "new")]);
  await using own = await startIssuer({ keys: [stays] });
  const { cached, clock, count } = start([own.options()]);
  const token = await sign(stays, good({ iss: own.url }));
  await cached.verify(token, signal);
  own.keys = [next.jwk, stays.jwk];
  clock.advance(31_000);
  await cached.verify(await sign(next, good({ iss: own.url })), signal);
  for (let times = 0; times < 3; times++) assert.equal((await cached.verify(token, signal)).kind, "verified");
  assert.equal(count.verified, 3);
});

test("use does not extend a token's five minutes", async () => {
  const { cached, clock, count } = start();
  const token = await sign(ec, good());
  await cached.verify(token, signal);
  for (let minute = 1; minute <= 5; minute++) {
    clock.advance(60_000);
    await cached.verify(token, signal);
    assert.equal(count.verified, minute < 5 ? 1 : 2);
  }
});

test("a reload of issuers applies at once to cached tokens", async () => {
  const { verifier, clock, replace } = start();
  const callers = createCallers({ keys: memoryKeys(), verifier, clock });
  const from = bearer(await sign(ec, good()));
  assert.equal(await outcome(callers, from), "user");
  replace([]);
  assert.equal(await outcome(callers, from), "unknown_issuer");
  replace([issuer.options({ subjectClaim: "email" })]);
  assert.equal(await outcome(callers, from), "no_subject");
  replace([issuer.options()]);
  assert.equal(await outcome(callers, from), "user");
});

test("a result of the previous verifier after a reload is not cached", async () => {
  await using slow = await startIssuer({ keys: [ec] });
  const { cached, replace } = start([slow.options()]);
  const requested = new Promise<ServerResponse>((resolve) => {
    slow.intercept = (path, _request, response) => {
      if (path === KEYS_PATH) resolve(response);
      return path === KEYS_PATH;
    };
  });
  const token = await sign(ec, good({ iss: slow.url }));
  const waiting = cached.verify(token, signal);
  const held = await requested;
  replace([]);
  held.end(JSON.stringify({ keys: slow.keys }));
  assert.equal((await waiting).kind, "verified");
  assert.equal(cached.findCached(token), undefined);
  assert.deepEqual(await cached.verify(token, signal), { kind: "refused", fault: "unknown_issuer", issuer: undefined });
});

/** Accepts every text, so that many are verified quickly. */
function credulous(): Pick<TokenVerifier, "verify" | "isStillValid"> {
  const token = { kind: "verified", issuer: "corp", displayName: "", audiences: [], claims: {} } as const;
  return {
    verify: async (subject) => ({ ...token, subject, expiresAt: START_MS + 3_600_000 }),
    isStillValid: () => true,
  };
}

test("the cache is bounded, and tokens in use stay", async () => {
  const verifier = credulous();
  const cached = createCachedVerifier(() => verifier, testClock());
  const first = await cached.verify("in use", signal);
  for (let count = 0; count < 25_000; count++) {
    await cached.verify(`token ${count}`, signal);
    assert.ok(cached.size() <= 10_000);
    if (count % 1_000 === 0) assert.equal(cached.findCached("in use"), first);
  }
  assert.equal(cached.findCached("in use"), first);
  assert.equal(cached.findCached("token 0"), undefined);
  assert.ok(cached.findCached("token 24999"));
});

test("fewer long tokens are cached", async () => {
  const verifier = credulous();
  const cached = createCachedVerifier(() => verifier, testClock());
  for (let count = 0; count < 3_000; count++) await cached.verify(`${count}`.padStart(16 << 10, "x"), signal);
  assert.ok(cached.size() <= 1_024, `${cached.size()} are kept`);
  assert.ok(cached.size() >= 512);
});

test("a text longer than any token is neither looked up nor cached", async () => {
  const verifier = credulous();
  const cached = createCachedVerifier(() => verifier, testClock());
  const text = "x".repeat((16 << 10) + 1);
  await cached.verify(text, signal);
  assert.deepEqual([cached.findCached(text), cached.size()], [undefined, 0]);
});

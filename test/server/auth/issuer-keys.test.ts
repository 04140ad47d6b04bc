/** Fetching, keeping and dropping an issuer's keys, with an injected clock. */

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { before, test } from "node:test";
import { createTokenVerifier } from "../../../src/server/auth/index.ts";
import { createIssuerKeys } from "../../../src/server/auth/issuer-keys.ts";
import {
  DISCOVERY_PATH,
  goodClaims,
  KEYS_PATH,
  sign,
  startIssuer,
  type TestIssuer,
  type TestKey,
  testClock,
  testKey,
} from "./support/issuer.ts";
import { recordedLog, testVerifier } from "./support/verify.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

let first: TestKey;
let second: TestKey;

before(async () => {
  [first, second] = await Promise.all([testKey("ES256", "k1"), testKey("ES256", "k2")]);
});

/** A token that does not expire while a test moves the clock. */
const lasting = (issuer: TestIssuer, key: TestKey, header = {}) =>
  sign(key, goodClaims(issuer.url, { exp: 4e9 }), header);

const refuseAll = (issuer: TestIssuer, status = 503) => {
  issuer.intercept = (_path, _request, response) => {
    response.writeHead(status).end("no");
    return true;
  };
};

/** The issuer does not answer until the returned function is called. */
function hold(issuer: TestIssuer): { readonly requested: Promise<void>; release(): void } {
  const held: ServerResponse[] = [];
  let onAsked = (): void => undefined;
  const requested = new Promise<void>((resolve) => {
    onAsked = resolve;
  });
  issuer.intercept = (_path, _request, response) => {
    held.push(response);
    onAsked();
    return true;
  };
  return {
    requested,
    release() {
      issuer.intercept = () => false;
      for (const response of held) response.end(JSON.stringify({ keys: issuer.keys }));
    },
  };
}

test("keys are fetched with the first token, once for all waiting callers", async () => {
  await using issuer = await startIssuer({ keys: [first] });
  await using tokens = testVerifier([issuer.options()]);
  assert.equal(issuer.seen.length, 0);
  const token = await lasting(issuer, first);
  const outcomes = await Promise.all(Array.from({ length: 50 }, () => tokens.outcome(token)));
  assert.deepEqual(new Set(outcomes), new Set(["verified"]));
  assert.deepEqual(
    issuer.seen.map(({ path }) => path),
    [DISCOVERY_PATH, KEYS_PATH],
  );
});

test("a configured key address needs no discovery", async () => {
  await using issuer = await startIssuer({ keys: [first] });
  await using tokens = testVerifier([issuer.options({ url: "urn:corp:tokens", jwksUrl: issuer.jwksUrl })]);
  const token = await sign(first, goodClaims("urn:corp:tokens"));
  assert.equal(await tokens.outcome(token), "verified");
  assert.deepEqual([issuer.fetches(DISCOVERY_PATH), issuer.fetches(KEYS_PATH)], [0, 1]);
});

test("a new key is accepted after one more fetch, and an old one refused once the set without it was fetched", async () => {
  await using issuer = await startIssuer({ keys: [first] });
  await using tokens = testVerifier([issuer.options()]);
  const [old, young] = [await lasting(issuer, first), await lasting(issuer, second)];
  assert.equal(await tokens.outcome(old), "verified");

  issuer.keys = [first.jwk, second.jwk];
  assert.equal(await tokens.outcome(young), "verified");
  assert.equal(issuer.fetches(KEYS_PATH), 2);

  issuer.keys = [second.jwk];
  tokens.clock.advance(10 * MINUTE - 1);
  assert.equal(await tokens.outcome(old), "verified");
  assert.equal(issuer.fetches(KEYS_PATH), 2);
  tokens.clock.advance(1);
  assert.equal(await tokens.outcome(old), "unknown_key");
  assert.equal(await tokens.outcome(young), "verified");
  assert.equal(issuer.fetches(KEYS_PATH), 3);
});

test("the unnamed key of an issuer is replaced in the same way", async () => {
  const [before, after] = await Promise.all([testKey("RS256"), testKey("RS256")]);
  await using issuer = await startIssuer({ keys: [before] });
  await using tokens = testVerifier([issuer.options()]);
  assert.equal(await tokens.outcome(await lasting(issuer, before)), "verified");
  issuer.keys = [after.jwk];
  assert.equal(await tokens.outcome(await lasting(issuer, after)), "verified");
  assert.equal(await tokens.outcome(await lasting(issuer, before)), "signature");
  assert.equal(issuer.fetches(KEYS_PATH), 2);
});

test("a thousand tokens with unknown keys cause one fetch in 30 seconds", async () => {
  await using issuer = await startIssuer({ keys: [first] });
  await using tokens = testVerifier([issuer.options()]);
  const good = await lasting(issuer, first);
  assert.equal(await tokens.outcome(good), "verified");
  const flood = async () => {
    for (let round = 0; round < 10; round++) {
      const made = Array.from({ length: 100 }, (_, at) => lasting(issuer, first, { kid: `none-${round}-${at}` }));
      const outcomes = await Promise.all((await Promise.all(made)).map((token) => tokens.outcome(token)));
      assert.deepEqual(new Set(outcomes), new Set(["unknown_key"]));
      tokens.clock.advance(2_999);
    }
  };
  await flood();
  assert.deepEqual([issuer.fetches(DISCOVERY_PATH), issuer.fetches(KEYS_PATH)], [2, 2]);
  assert.equal(await tokens.outcome(good), "verified");
  tokens.clock.advance(10);
  await flood();
  assert.equal(issuer.fetches(KEYS_PATH), 3);
});

test("a token whose fetch brought the first keys does not fetch them again", async () => {
  await using issuer = await startIssuer({ keys: [first] });
  await using tokens = testVerifier([issuer.options()]);
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, async (_, at) => tokens.outcome(await lasting(issuer, first, { kid: `none-${at}` }))),
  );
  assert.deepEqual(new Set(outcomes), new Set(["unknown_key"]));
  assert.ok(issuer.fetches(KEYS_PATH) <= 2, `${issuer.fetches(KEYS_PATH)} fetches`);
});

test("the issuer's cache-control is honored between a minute and a day", async () => {
  const rows: readonly [string | undefined, number][] = [
    [undefined, 10 * MINUTE],
    ["public", 10 * MINUTE],
    ["max-age=x", 10 * MINUTE],
    ["public, max-age=3600", HOUR],
    ["Max-Age=7200, must-revalidate", 2 * HOUR],
    ["max-age=0", MINUTE],
    ["max-age=1", MINUTE],
    ["no-store", MINUTE],
    ["no-cache, max-age=3600", MINUTE],
    ["max-age=9999999999", 24 * HOUR],
    ["s-maxage=60", 10 * MINUTE],
  ];
  for (const [value, age] of rows) {
    await using issuer = await startIssuer({ keys: [first] });
    if (value !== undefined) issuer.headers = { "cache-control": value };
    await using tokens = testVerifier([issuer.options()]);
    const token = await lasting(issuer, first);
    const fetchesAfter = async (advance: number) => {
      tokens.clock.advance(advance);
      assert.equal(await tokens.outcome(token), "verified");
      return issuer.fetches(KEYS_PATH);
    };
    assert.deepEqual([await fetchesAfter(0), await fetchesAfter(age - 1), await fetchesAfter(1)], [1, 1, 2], value);
  }
});

test("an issuer that is down at the first token makes keys unavailable and is retried with growing pauses", async () => {
  const log = recordedLog();
  await using issuer = await startIssuer({ keys: [first] });
  refuseAll(issuer);
  await using tokens = testVerifier([issuer.options()], { log });
  const token = await lasting(issuer, first);
  const askedAfter = async (advance: number) => {
    tokens.clock.advance(advance);
    assert.equal(await tokens.outcome(token), "keys_unavailable");
    return issuer.seen.length;
  };
  assert.equal(await askedAfter(0), 1);
  assert.deepEqual([await askedAfter(0), await askedAfter(999), await askedAfter(1)], [1, 1, 2]);
  assert.deepEqual([await askedAfter(1_999), await askedAfter(1)], [2, 3]);
  for (let count = 4; count <= 10; count++) assert.equal(await askedAfter(MINUTE), count);
  assert.deepEqual([await askedAfter(MINUTE - 1), await askedAfter(1)], [10, 11]);
  assert.equal(log.lines.filter(({ level }) => level === "warn").length, 11);
  assert.match(log.lines[0]?.text ?? "", /"issuer":"corp","step":"discovery".*status 503/);

  issuer.intercept = () => false;
  tokens.clock.advance(MINUTE);
  assert.equal(await tokens.outcome(token), "verified");
  assert.equal(log.lines.at(-1)?.level, "info");
});

test("known keys are used for up to a day while the issuer is down", async () => {
  await using issuer = await startIssuer({ keys: [first] });
  await using tokens = testVerifier([issuer.options()]);
  const [good, unknown] = [await lasting(issuer, first), await lasting(issuer, second)];
  assert.equal(await tokens.outcome(good), "verified");
  const { url } = issuer;
  await issuer.close();
  tokens.clock.advance(10 * MINUTE);
  assert.equal(await tokens.outcome(good), "verified");
  assert.equal(await tokens.outcome(unknown), "keys_unavailable");
  tokens.clock.advance(24 * HOUR - 1);
  assert.equal(await tokens.outcome(good), "verified");
  tokens.clock.advance(MINUTE);
  assert.equal(await tokens.outcome(good), "keys_unavailable");

  await using back = await startIssuer({ keys: [first], port: Number(new URL(url).port) });
  assert.equal(back.url, url);
  tokens.clock.advance(HOUR);
  assert.equal(await tokens.outcome(good), "verified");
});

test("after an issuer returns, a key that it withdrew meanwhile is refused", async () => {
  await using issuer = await startIssuer({ keys: [first] });
  await using tokens = testVerifier([issuer.options()]);
  const old = await lasting(issuer, first);
  assert.equal(await tokens.outcome(old), "verified");
  refuseAll(issuer);
  tokens.clock.advance(HOUR);
  assert.equal(await tokens.outcome(old), "verified");
  issuer.intercept = () => false;
  issuer.keys = [second.jwk];
  tokens.clock.advance(HOUR);
  // The first caller does not wait for an issuer that was down; its own fetch detects that it is back.
  assert.equal(await tokens.outcome(await lasting(issuer, second)), "verified");
  assert.equal(await tokens.outcome(old), "unknown_key");
});

test("an issuer that never answers delays a caller no longer than the timeout", async () => {
  await using issuer = await startIssuer({ keys: [first] });
  const held = hold(issuer);
  await using tokens = testVerifier([issuer.options()], { fetchTimeoutMs: 100 });
  assert.equal(await tokens.outcome(await lasting(issuer, first)), "keys_unavailable");
  await held.requested;
  // An issuer that sends its answer byte by byte does not delay it either.
  issuer.intercept = (_path, _request, response) => {
    response.write("{");
    return true;
  };
  tokens.clock.advance(MINUTE);
  assert.equal(await tokens.outcome(await lasting(issuer, first)), "keys_unavailable");
});

test("an issuer that hangs delays callers for a second if keys are known, and later callers not at all", async () => {
  await using issuer = await startIssuer({ keys: [first] });
  await using tokens = testVerifier([issuer.options()], { fetchTimeoutMs: 30_000 });
  const token = await lasting(issuer, first);
  assert.equal(await tokens.outcome(token), "verified");
  const waited = async () => {
    const from = performance.now();
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => tokens.outcome(token)));
    assert.deepEqual(new Set(outcomes), new Set(["verified"]));
    return performance.now() - from;
  };
  const held = hold(issuer);
  tokens.clock.advance(HOUR);
  const atFirst = await waited();
  assert.ok(atFirst > 900 && atFirst < 10_000, `${atFirst} ms`);
  assert.equal(issuer.fetches(DISCOVERY_PATH), 2);
  // Keys instead of discovery: a failed fetch.
  held.release();
  assert.equal(await tokens.outcome(await lasting(issuer, second)), "keys_unavailable");
  const heldAgain = hold(issuer);
  tokens.clock.advance(HOUR);
  const later = await waited();
  assert.ok(later < 900, `${later} ms, of an issuer that is known to be down`);
  await heldAgain.requested;
  heldAgain.release();
});

test("a caller that missed a key in the old set gets one that arrived meanwhile without a fetch", async () => {
  let fetches = 0;
  const keys = createIssuerKeys({
    issuer: "corp",
    load: async () => ({ kind: "loaded", jwksUrl: `set ${++fetches}`, keys: [], cacheControl: "" }),
    timeoutMs: SECOND,
    clock: testClock(),
    log: recordedLog(),
    onLoad: () => undefined,
  });
  const { signal } = new AbortController();
  await keys.current(signal);
  const old = await keys.current(signal);
  assert.ok(old !== undefined && !old.wereFetchedNow);
  const newer = await keys.fetchNewer(old, signal);
  assert.ok(newer !== undefined && newer.keys !== old.keys);
  assert.equal((await keys.fetchNewer(old, signal))?.keys, newer.keys);
  assert.equal(await keys.fetchNewer(newer, signal), undefined);
  assert.equal(fetches, 2);
  await keys.close();
});

test("a caller that disconnects ends its own wait, and the fetch continues for the others", async () => {
  await using issuer = await startIssuer({ keys: [first] });
  const held = hold(issuer);
  const options = issuer.options({ jwksUrl: issuer.jwksUrl });
  const verifier = createTokenVerifier({ issuers: [options], clock: testClock(), log: recordedLog() });
  const token = await lasting(issuer, first);
  const caller = new AbortController();
  const left = verifier.verify(token, caller.signal);
  const stays = verifier.verify(token, new AbortController().signal);
  await held.requested;
  caller.abort(new Error("gone"));
  await assert.rejects(left, /gone/);
  held.release();
  assert.equal((await stays).kind, "verified");
  assert.equal(issuer.seen.length, 1);
  await verifier.close();
});

test("closing aborts a running fetch and its waiting callers", async () => {
  const log = recordedLog();
  await using issuer = await startIssuer({ keys: [first] });
  const held = hold(issuer);
  const verifier = createTokenVerifier({ issuers: [issuer.options()], clock: testClock(), log });
  const token = await lasting(issuer, first);
  const waits = verifier.verify(token, new AbortController().signal);
  await held.requested;
  await verifier.close();
  assert.deepEqual(await waits, { kind: "refused", fault: "keys_unavailable", issuer: "corp" });
  assert.equal((await verifier.verify(token, new AbortController().signal)).kind, "refused");
  assert.equal(issuer.seen.length, 1);
  assert.deepEqual(log.lines, []);
});

test("a closed verifier continues with its known keys", async () => {
  await using issuer = await startIssuer({ keys: [first] });
  const tokens = testVerifier([issuer.options()]);
  const token = await lasting(issuer, first);
  assert.equal(await tokens.outcome(token), "verified");
  await tokens[Symbol.asyncDispose]();
  tokens.clock.advance(HOUR);
  assert.equal(await tokens.outcome(token), "verified");
  assert.equal(issuer.fetches(KEYS_PATH), 1);
});

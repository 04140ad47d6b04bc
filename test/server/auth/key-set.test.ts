/** Published keys, and the signatures that they verify. */

import assert from "node:assert/strict";
import { createHmac, createPublicKey, type KeyObject } from "node:crypto";
import { after, test } from "node:test";
import type { JWK } from "jose";
import { goodClaims, KEYS_PATH, sign, startIssuer, testKey } from "./support/issuer.ts";
import { base64url, startTrusted } from "./support/trusted.ts";
import { testVerifier } from "./support/verify.ts";

const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];

const { rsa, ec, verifier, good } = await startTrusted(after);

test("each algorithm of the allow list is verified, with and without a key id", async () => {
  for (const algorithm of ALGORITHMS) {
    const key = await testKey(algorithm, `key-${algorithm}`);
    await using own = await startIssuer({ keys: [key] });
    await using tokens = testVerifier([own.options()]);
    assert.equal(await tokens.outcome(await sign(key, goodClaims(own.url))), "verified", algorithm);
    const unnamed = { ...key, kid: undefined };
    assert.equal(await tokens.outcome(await sign(unnamed, goodClaims(own.url))), "verified", `${algorithm}, unnamed`);
  }
});

test("a key without an algorithm verifies every algorithm of its type", async () => {
  const { alg: _, ...jwk } = rsa.jwk;
  await using own = await startIssuer();
  own.keys = [jwk];
  await using tokens = testVerifier([own.options()]);
  assert.equal(await tokens.outcome(await sign(rsa, goodClaims(own.url))), "verified");
  const pkcs8 = await crypto.subtle.exportKey("pkcs8", rsa.privateKey);
  const pss = await crypto.subtle.importKey("pkcs8", pkcs8, { name: "RSA-PSS", hash: "SHA-256" }, true, ["sign"]);
  const padded = await sign({ ...rsa, algorithm: "PS256", privateKey: pss }, goodClaims(own.url));
  assert.equal(await tokens.outcome(padded), "verified");
  // The other issuer's set states RS256 correctly.
  assert.equal(
    await verifier.outcome(await sign({ ...rsa, algorithm: "PS256", privateKey: pss }, good())),
    "unknown_key",
  );
});

test("a published key is never used as a shared secret, in any of its encodings", async () => {
  const { n = "", e = "" } = rsa.jwk;
  const publicKey: KeyObject = createPublicKey({ key: { kty: "RSA", n, e }, format: "jwk" });
  const secrets = [
    publicKey.export({ type: "spki", format: "pem" }),
    publicKey.export({ type: "spki", format: "der" }),
    publicKey.export({ type: "pkcs1", format: "pem" }),
    publicKey.export({ type: "pkcs1", format: "der" }),
    JSON.stringify(rsa.jwk),
    Buffer.from(n, "base64url"),
  ];
  for (const secret of secrets) {
    for (const [alg, hash] of [
      ["HS256", "sha256"],
      ["RS256", "sha256"],
    ] as const) {
      const input = `${base64url({ alg, kid: "rsa-1" })}.${base64url(good())}`;
      const mac = createHmac(hash, secret).update(input).digest("base64url");
      assert.equal(await verifier.outcome(`${input}.${mac}`), alg === "HS256" ? "algorithm" : "signature");
    }
  }
});

test("a header that names another algorithm than the key's finds no key", async () => {
  const asEc = `${base64url({ alg: "ES256", kid: "rsa-1" })}.${base64url(good())}.${base64url("x".repeat(64))}`;
  assert.equal(await verifier.outcome(asEc), "unknown_key");
  const [, body, signature] = (await sign(rsa, good())).split(".");
  assert.equal(
    await verifier.outcome(`${base64url({ alg: "ES256", kid: "rsa-1" })}.${body}.${signature}`),
    "unknown_key",
  );
  assert.equal(
    await verifier.outcome(`${base64url({ alg: "RS512", kid: "rsa-1" })}.${body}.${signature}`),
    "unknown_key",
  );
});

test("a key of another curve or with a non-text id matches no token", async () => {
  const { alg: _, ...named } = ec.jwk;
  const { kid: _kid, ...unnamed } = named;
  await using own = await startIssuer();
  own.keys = [named];
  await using tokens = testVerifier([own.options()]);
  const claims = goodClaims(own.url);
  const [, body, signature] = (await sign(ec, claims)).split(".");
  const asOther = `${base64url({ alg: "ES384", kid: "ec-1" })}.${body}.${signature}`;
  assert.equal(await tokens.outcome(asOther), "unknown_key");

  await using unusual = await startIssuer();
  unusual.intercept = (path, _request, response) => {
    if (path === KEYS_PATH) response.end(JSON.stringify({ keys: [{ ...unnamed, kid: 7 }] }));
    return path === KEYS_PATH;
  };
  await using others = testVerifier([unusual.options()]);
  assert.equal(await others.outcome(await sign({ ...ec, kid: undefined }, goodClaims(unusual.url))), "unknown_key");
});

test("keys embedded or linked in a token are not used", async () => {
  const mine = await testKey("RS256", "mine");
  await using elsewhere = await startIssuer({ keys: [mine] });
  for (const header of [
    { jwk: mine.jwk },
    { jwk: mine.jwk, kid: "rsa-1" },
    { jku: elsewhere.jwksUrl },
    { x5u: elsewhere.jwksUrl },
    { x5c: ["MIIB"] },
  ]) {
    const outcome = await verifier.outcome(await sign(mine, good(), header));
    assert.equal(outcome, "kid" in header ? "signature" : "unknown_key", Object.keys(header).join());
  }
  assert.equal(elsewhere.seen.length, 0);
});

test("weak, private, foreign and invalid keys of a set are skipped, and the rest work", async () => {
  const strip = ({ use: _use, alg: _alg, ...jwk }: JWK) => jwk;
  const weak = { kty: "RSA", n: rsa.jwk.n?.slice(0, 170) ?? "", e: "AQAB" };
  const rows: readonly [string, JWK | Readonly<Record<string, unknown>>, string][] = [
    ["for encryption", { ...rsa.jwk, use: "enc" }, "unknown_key"],
    ["for wrapping", { ...rsa.jwk, key_ops: ["wrapKey"] }, "unknown_key"],
    ["for verifying", { ...strip(rsa.jwk), key_ops: ["verify"] }, "verified"],
    ["under 2048 bits", { ...weak, kid: "rsa-1" }, "unknown_key"],
    [
      "padded to 2048 bits",
      {
        ...weak,
        n: Buffer.alloc(256, Buffer.from(weak.n, "base64url").subarray(0, 1)).fill(0, 0, 140).toString("base64url"),
        kid: "rsa-1",
      },
      "unknown_key",
    ],
    ["with exponent 1", { ...rsa.jwk, e: "AQ" }, "unknown_key"],
    ["with an even exponent", { ...rsa.jwk, e: "AQAA" }, "unknown_key"],
    ["with a long exponent", { ...rsa.jwk, e: Buffer.alloc(64, 1).toString("base64url") }, "unknown_key"],
    ["with its private part", { ...rsa.jwk, d: "AQAB" }, "unknown_key"],
    ["a shared secret", { kty: "oct", k: "c2VjcmV0", kid: "rsa-1" }, "unknown_key"],
    ["of another algorithm", { ...rsa.jwk, alg: "RS512" }, "unknown_key"],
    ["with a number for a name", { ...strip(rsa.jwk), kid: 7 }, "unknown_key"],
    ["without a name", (({ kid: _, ...jwk }) => jwk)(rsa.jwk), "unknown_key"],
    ["off its curve", { ...ec.jwk, kid: "rsa-1", y: ec.jwk.x ?? "" }, "unknown_key"],
    ["of an unknown kind", { kty: "AKP", kid: "rsa-1", alg: "ML-DSA-44", pub: "AA" }, "unknown_key"],
    ["null", JSON.parse("null"), "unknown_key"],
  ];
  for (const [what, jwk, outcome] of rows) {
    await using own = await startIssuer();
    own.keys = [jwk as JWK, ec.jwk];
    await using tokens = testVerifier([own.options()]);
    assert.equal(await tokens.outcome(await sign(rsa, goodClaims(own.url))), outcome, what);
    assert.equal(await tokens.outcome(await sign(ec, goodClaims(own.url))), "verified", `${what}: the other key`);
  }
});

test("a key that is not on its curve verifies nothing and causes no error", async () => {
  await using own = await startIssuer();
  own.keys = [{ ...ec.jwk, y: ec.jwk.x ?? "" }];
  await using tokens = testVerifier([own.options()]);
  assert.equal(await tokens.outcome(await sign(ec, goodClaims(own.url))), "signature");
});

test("a token without a key id is tried with at most four matching keys", async () => {
  const keys = await Promise.all(Array.from({ length: 5 }, (_, at) => testKey("ES256", `k${at}`)));
  await using own = await startIssuer({ keys });
  await using tokens = testVerifier([own.options()]);
  const outcomes = await Promise.all(
    keys.map(async (key) => tokens.outcome(await sign({ ...key, kid: undefined }, goodClaims(own.url)))),
  );
  assert.deepEqual(outcomes, ["verified", "verified", "verified", "verified", "signature"]);
});

/**
 * Random texts against the parsers of keys and tokens. Each parser is compared with an independent one of its grammar;
 * and every identified caller has sent one of the valid credentials exactly.
 *
 * GATEWAY_FUZZ=10000000 node --import tsx --test --test-timeout=3600000 test/server/auth/fuzz.test.ts
 *   GATEWAY_FUZZ_SEED=…   the texts of a run that failed
 */

import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { after, before, test } from "node:test";
import { decodeJwt, decodeProtectedHeader } from "jose";
import { isAlgorithm } from "../../../src/server/auth/algorithms.ts";
import { createCallers, parseKey } from "../../../src/server/auth/index.ts";
import { readToken } from "../../../src/server/auth/token-text.ts";
import { randomRuns } from "../../support/random-length.ts";
import { bearer, memoryKeys, testRules } from "./support/callers.ts";
import { sign } from "./support/issuer.ts";
import { base64url, startTrusted } from "./support/trusted.ts";

const COUNT = Number(process.env["GATEWAY_FUZZ"] ?? randomRuns(20_000));
const SEED = Number(process.env["GATEWAY_FUZZ_SEED"] ?? randomInt(2 ** 31));

/** One of this many texts that parse as a token is verified, which is a thousand times slower. */
const VERIFIED_EVERY = Math.max(50, COUNT / 20_000);

const { rsa, ec, issuer, verifier, good } = await startTrusted(after);
const keys = memoryKeys();
const callers = createCallers({
  keys,
  verifier: () => verifier.source,
  clock: verifier.clock,
});
const trueKeys = Array.from({ length: 20 }, () => keys.mint().text);
const trueTokens: string[] = [];
before(async () => {
  trueTokens.push(await sign(ec, good()), await sign(rsa, good({ groups: ["a", "b"], name: "ä".repeat(50) })));
});

/** Mulberry32: fast, and the same texts for the same seed. */
function randomOf(seed: number): (below: number) => number {
  let state = seed | 0;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

const ALPHABETS = [
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.",
  "gwk_0Aa.",
  String.fromCharCode(...Array.from({ length: 256 }, (_, code) => code)),
  "\u0000\u2028\ud800\udfff\ufeff\u0130é=+/ \n\"'`;$(){}[]%\\",
];

/** Words that an attacker would try and that the parsers treat specially. */
const WORDS = [
  "gwk_",
  ".",
  "..",
  "eyJhbGciOiJub25lIn0",
  "e30",
  "bnVsbA",
  "' OR 1=1--",
  "__proto__",
  "=",
  "\r\n",
  "../",
];

const HEADERS = [
  '{"alg":"ES256"}',
  '{"alg":"none"}',
  '{"alg":"ES256","alg":"HS256"}',
  '{"alg":"RS256","crit":["x"]}',
  "[]",
];

function textOf(random: (below: number) => number): string {
  const pick = <Item>(from: readonly Item[]): Item => from[random(from.length)] as Item;
  const noise = (length: number): string => {
    const alphabet = pick(ALPHABETS);
    let text = "";
    for (let at = 0; at < length; at++) text += alphabet[random(alphabet.length)];
    return text;
  };
  switch (random(10)) {
    case 0:
      return noise(random(120));
    case 1:
      return `gwk_${noise(8)}_${noise(43)}${noise(6)}`;
    case 2:
      return `${noise(random(40))}.${noise(random(200))}.${noise(random(90))}`;
    case 3:
      return Array.from({ length: 1 + random(8) }, () => pick(WORDS)).join(noise(random(4)));
    case 4:
      return `${base64url(pick(HEADERS))}.${base64url(`{"sub":${JSON.stringify(noise(random(9)))}}`)}.${noise(2)}`;
    case 5:
    case 6:
    case 7:
      return mutated(pick(trueKeys), random, noise);
    default:
      return mutated(pick(trueTokens), random, noise);
  }
}

function mutated(text: string, random: (below: number) => number, noise: (length: number) => string): string {
  let made = text;
  for (let count = 1 + random(3); count > 0; count--) {
    const at = random(made.length + 1);
    const length = random(random(4) === 0 ? 40 : 3);
    switch (random(5)) {
      case 0:
        made = made.slice(0, at) + noise(length) + made.slice(at + length);
        break;
      case 1:
        made = made.slice(0, at) + noise(length) + made.slice(at);
        break;
      case 2:
        made = made.slice(0, at) + made.slice(at + length);
        break;
      case 3:
        made = made.slice(0, at) + made.slice(at, at + length) + made.slice(at);
        break;
      default:
        made = made.slice(0, at) + made.slice(at, at + 1).toUpperCase() + made.slice(at + 1);
    }
  }
  return made;
}

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** CRC-32 bit by bit, as in the standard. */
function crcOf(text: string): number {
  let crc = -1;
  for (let at = 0; at < text.length; at++) {
    crc ^= text.charCodeAt(at);
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

function isKey(text: string): boolean {
  if (text.length !== 62 || !text.startsWith("gwk_") || text[12] !== "_") return false;
  const isOf = (part: string, extra: string): boolean =>
    [...part].every((it) => BASE62.includes(it) || extra.includes(it));
  if (!isOf(text.slice(4, 12), "") || !isOf(text.slice(13, 56), "-_") || !isOf(text.slice(56), "")) return false;
  return [...text.slice(56)].reduce((sum, digit) => sum * 62 + BASE62.indexOf(digit), 0) === crcOf(text.slice(0, 56));
}

/** Returns jose's result, or `undefined` if it refuses the text. It accepts more than the gateway. */
function readByJose(
  text: string,
): { readonly alg: unknown; readonly kid: unknown; readonly claims: unknown } | undefined {
  try {
    const { alg, kid } = decodeProtectedHeader(text);
    return { alg, kid, claims: decodeJwt(text) };
  } catch {
    return undefined;
  }
}

test(`for ${COUNT} texts by seed ${SEED}, the readers accept only valid credentials`, async (t) => {
  const random = randomOf(SEED);
  const rules = testRules();
  const signal = new AbortController().signal;
  const seen = { keys: 0, tokens: 0, verified: 0, callers: 0 };
  const genuine = new Set([...trueKeys, ...trueTokens]);
  for (let count = 0; count < COUNT; count++) {
    const text = textOf(random);
    const failureText = (): string => `text ${count} of seed ${SEED}: ${JSON.stringify(text)}`;

    const key = parseKey(text);
    if ((key !== undefined) !== isKey(text)) assert.fail(failureText());
    if (key !== undefined) {
      seen.keys++;
      assert.ok(text.startsWith(`gwk_${key.id}_${key.secret}`), failureText());
    }

    const token = readToken(text);
    if (token.kind === "read") {
      seen.tokens++;
      const theirs = readByJose(text);
      assert.ok(theirs !== undefined && isAlgorithm(theirs.alg), failureText());
      assert.deepEqual(
        [token.text, token.algorithm, token.kid, token.claims],
        [text, theirs.alg, theirs.kid, theirs.claims],
      );
    }

    const isVerified = token.kind === "read" && seen.tokens % VERIFIED_EVERY < 1;
    if (isVerified) seen.verified++;
    if (token.kind === "refused" || isVerified) {
      const found = callers.identify(bearer(text), rules, undefined, signal);
      const identification = found instanceof Promise ? await found : found;
      if (identification.kind === "caller") seen.callers++;
      // A blank before a credential belongs to the header.
      if (identification.kind === "caller" && !genuine.has(text.replace(/^ +/, ""))) assert.fail(failureText());
    }
  }
  t.diagnostic(`read as keys or tokens, verified, recognised: ${JSON.stringify(seen)}`);
  assert.ok(seen.tokens > COUNT / 100, JSON.stringify(seen));
  assert.ok(seen.verified > 0 && seen.keys > 0, JSON.stringify(seen));
});

test("the real credentials are recognized, so that the test above can fail", async () => {
  const signal = AbortSignal.timeout(30_000);
  for (const text of [...trueKeys, ...trueTokens]) {
    const found = await callers.identify(bearer(text), testRules(), undefined, signal);
    assert.equal(found.kind, "caller");
  }
  assert.ok(isKey(keys.mint().text));
  assert.ok(issuer.seen.length > 0);
});

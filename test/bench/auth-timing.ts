/**
 * `node --expose-gc --import tsx test/bench/auth-timing.ts [--count N]`: cost of identifying a caller, and whether the
 * time of a refusal reveals an unknown key, an expired one or a wrong secret.
 *
 * The kinds of refusal are measured in turn, in a new random order each time, over many keys of each kind; `unknown` is
 * included twice, and the difference between the two is noise. Times in nanoseconds include reading the clock. A
 * difference of medians is shown with its 95 % interval, by resampling blocks, since disturbances affect neighboring
 * measurements.
 */

import { randomBytes, randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from "jose";
import { systemClock } from "../../src/base/index.ts";
import {
  type AuthRules,
  createCallers,
  mintKey,
  type PresentedCredentials,
  type StoredKey,
  type TokenVerifier,
} from "../../src/server/auth/index.ts";
import { readKeySet } from "../../src/server/auth/key-set.ts";
import { median, percentile } from "./statistics.ts";

const { values: flags } = parseArgs({ options: { count: { type: "string", default: "200000" } } });
const COUNT = Number(flags.count);

const KEYS = 100_000;

/** Texts per kind: as many as an attacker repeats to see past the noise, and more than caches hold. */
const FEW_TEXTS = 20;
const TEXTS = 2_000;
const BLOCKS = 200;
const RESAMPLES = 2_000;

/** Microseconds of CPU per key; the target of the design. */
const MAX_KEY_COST_US = 4;

const RULES: AuthRules = {
  virtualKeys: true,
  issuers: [{ issuer: "corp", audience: "gateway", subject: "user", profile: undefined, profiles: undefined }],
  publicUrl: undefined,
};
const signal = new AbortController().signal;

interface Stored {
  readonly byId: Map<string, StoredKey>;
  /** Texts of valid keys, and of some expired ones. */
  readonly good: readonly string[];
  readonly expired: readonly string[];
}

function storeKeys(): Stored {
  const byId = new Map<string, StoredKey>();
  const store = (at: number, expires_at: number | null): string => {
    const { id, text, digest } = mintKey(randomBytes);
    byId.set(id, { id, name: `team-${at}`, profile: "standard", metadata: { tier: "gold" }, digest, expires_at });
    return text;
  };
  const expired = Array.from({ length: TEXTS }, (_, at) => store(at, 1));
  const good = Array.from({ length: KEYS - TEXTS }, (_, at) => store(at + TEXTS, null));
  return { byId, good, expired };
}

/** Built from new strings, like a request's header. */
function bearer(text: string): PresentedCredentials {
  return { authorization: `Bearer ${text}`, xApiKey: undefined, apiKey: undefined, protocolToken: undefined };
}

const { byId, good, expired } = storeKeys();
const verified = await issueTokens();
const callers = createCallers({
  keys: { findById: (id) => byId.get(id) },
  verifier: () => verified.verifier,
  clock: systemClock,
});

async function issueTokens() {
  const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
  const [key] = readKeySet({ keys: [await exportJWK(publicKey)] }) ?? [];
  const verifier: Pick<TokenVerifier, "verify" | "isStillValid"> = {
    isStillValid: () => true,
    async verify(text) {
      if (!(await key?.verifies(text, "ES256"))) return { kind: "refused", fault: "signature", issuer: "corp" };
      const expiresAt = systemClock.now() + 3_600_000;
      return {
        kind: "verified",
        issuer: "corp",
        subject: text.slice(-9),
        displayName: "",
        audiences: ["gateway"],
        expiresAt,
        claims: {},
      };
    },
  };
  const texts = await Promise.all(Array.from({ length: 100 }, (_, at) => signed(privateKey, at)));
  return { verifier, texts };
}

/** About 1,000 characters. */
function signed(key: CryptoKey, at: number): Promise<string> {
  return new SignJWT({ sub: `user-${at}`, groups: Array.from({ length: 40 }, (_, group) => `group-of-some-${group}`) })
    .setProtectedHeader({ alg: "ES256" })
    .sign(key);
}

/** Microseconds of CPU for one, over a million. */
function cost(texts: readonly string[]): number {
  const presented = texts.map(bearer);
  const run = (times: number): void => {
    for (let count = 0; count < times; count++) {
      const found = callers.identify(presented[count % presented.length]!, RULES, undefined, signal);
      if (found instanceof Promise || found.kind !== "caller") throw new Error("not recognised at once");
    }
  };
  run(Math.max(100_000, texts.length));
  const before = process.cpuUsage();
  run(1_000_000);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000_000;
}

function aliveBytes(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

function measureCosts(): void {
  const before = aliveBytes();
  for (const text of good) void callers.identify(bearer(text), RULES, undefined, signal);
  const perKey = (aliveBytes() - before) / good.length;
  const few = cost(good.slice(0, 100));
  const many = cost(good);
  console.log(`a key, 100 in use          ${few.toFixed(2)} us of CPU (aim: at most ${MAX_KEY_COST_US})`);
  console.log(`a key, ${good.length} in use        ${many.toFixed(2)} us of CPU`);
  console.log(`a known token, ${verified.texts[0]?.length} chars   ${cost(verified.texts).toFixed(2)} us of CPU`);
  const memory = globalThis.gc === undefined ? "(needs --expose-gc)" : `${perKey.toFixed(0)} bytes`;
  console.log(`kept of a key in use       ${memory}, beside its row`);
}

const KINDS = ["unknown", "unknown again", "expired", "wrong secret"] as const;
type Kind = (typeof KINDS)[number];

function refusedTexts(kind: Kind, number: number): readonly PresentedCredentials[] {
  if (kind === "expired") return expired.slice(0, number).map(bearer);
  const idOf = (text: string): string => text.slice(4, 12);
  const texts = good
    .slice(0, number)
    .map((text) => mintKey(randomBytes, kind === "wrong secret" ? idOf(text) : undefined).text);
  return texts.map(bearer);
}

/** Nanoseconds of each, in measured order. */
function measureRefusals(number: number): Readonly<Record<Kind, Float64Array>> {
  const texts = KINDS.map((kind) => refusedTexts(kind, number));
  const times = KINDS.map(() => new Float64Array(COUNT));
  const order = KINDS.map((_, at) => at);
  const warmUp = 20_000;
  for (let count = -warmUp; count < COUNT; count++) {
    for (let at = order.length - 1; at > 0; at--) {
      const other = randomInt(at + 1);
      [order[at], order[other]] = [order[other]!, order[at]!];
    }
    for (const kind of order) {
      const presented = texts[kind]![(count + warmUp) % number]!;
      const start = process.hrtime.bigint();
      void callers.identify(presented, RULES, undefined, signal);
      const end = process.hrtime.bigint();
      if (count >= 0) times[kind]![count] = Number(end - start);
    }
  }
  return Object.fromEntries(KINDS.map((kind, at) => [kind, times[at]])) as Record<Kind, Float64Array>;
}

/** Returns medians of neighboring measurements. */
function blockMedians(times: Float64Array): readonly number[] {
  const length = Math.floor(times.length / BLOCKS);
  return Array.from({ length: BLOCKS }, (_, at) => median([...times.subarray(at * length, (at + 1) * length)]));
}

/** Returns the median of the differences block by block, and its 95 % interval. */
function difference(of: Float64Array, from: Float64Array): { middle: number; low: number; high: number } {
  const [a, b] = [blockMedians(of), blockMedians(from)];
  const differences = a.map((it, at) => it - (b[at] ?? Number.NaN));
  const mean = (list: readonly number[]): number => list.reduce((sum, it) => sum + it, 0) / list.length;
  const resampled = Array.from({ length: RESAMPLES }, () =>
    mean(differences.map(() => differences[randomInt(BLOCKS)]!)),
  );
  return { middle: mean(differences), low: percentile(resampled, 0.025), high: percentile(resampled, 0.975) };
}

/** Returns Welch's t over the 95 % without interruption. */
function welch(a: Float64Array, b: Float64Array): number {
  const [x, y] = [a, b].map((times) => {
    const sorted = Float64Array.from(times).sort();
    const kept = sorted.subarray(0, Math.floor(sorted.length * 0.95));
    const mean = kept.reduce((sum, it) => sum + it, 0) / kept.length;
    return { mean, share: kept.reduce((sum, it) => sum + (it - mean) ** 2, 0) / (kept.length - 1) / kept.length };
  });
  return x === undefined || y === undefined ? Number.NaN : (x.mean - y.mean) / Math.sqrt(x.share + y.share);
}

for (const text of verified.texts) await callers.identify(bearer(text), RULES, undefined, signal);
measureCosts();
for (const number of [FEW_TEXTS, TEXTS]) {
  const times = measureRefusals(number);
  console.log(`\nrefusals, ${COUNT} of each, ${number} ids of each`);
  console.log("                           median    p90    median's difference from unknown   Welch's t");
  for (const kind of KINDS) {
    const of = times[kind];
    const head = `${kind.padEnd(26)} ${percentile(of, 0.5).toFixed(0).padStart(6)} ${percentile(of, 0.9).toFixed(0).padStart(6)}`;
    const { middle, low, high } = difference(of, times.unknown);
    const tail = `${middle.toFixed(1)} ns [${low.toFixed(1)}, ${high.toFixed(1)}]`;
    console.log(kind === "unknown" ? head : `${head}    ${tail.padEnd(34)} ${welch(of, times.unknown).toFixed(2)}`);
  }
}

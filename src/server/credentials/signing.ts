/**
 * Signs requests as they go out. Source: credentials reference, 1.2 to 1.4; design decisions, section 13.
 *
 * Signed are `host`, `content-type`, `anthropic-version` and what is added here: the fewer headers, the fewer ways in which
 * a proxy on the way breaks the signature. Nothing of the client's `x-amz-*` goes along, or it would choose what is signed.
 */
import { createHash } from "node:crypto";
import { setImmediate as turn } from "node:timers/promises";
import { headerIn } from "./header-in.ts";
import {
  authorization,
  canonicalRequest,
  credentialScope,
  derivedKey,
  payloadHash,
  type SignedHeader,
  type SigningKeys,
  type SigningScope,
  signature,
  signedHeaders,
  signingTime,
  stringToSign,
} from "./sigv4.ts";
import type { Outgoing } from "./types.ts";

const SIGNED: ReadonlySet<string> = new Set(["content-type", "anthropic-version"]);
const OF_THE_CLOUD = /^x[-_]amz/i;

/** 0.6 ms. */
const PIECE_BYTES = 1 << 20;
const hashes = new WeakMap<Buffer, Promise<string>>();

interface Derived {
  readonly keys: SigningKeys;
  readonly date: string;
  readonly key: Buffer;
}

/** Keeps what holds for a day. */
export interface Signer {
  /** All headers of the request. `atMs`: since 1970, by the verifier's clock. */
  sign(request: Outgoing, keys: SigningKeys, atMs: number, payloadHash: string): readonly string[];
}

export function createSigner(scope: SigningScope): Signer {
  let derived: Derived | undefined;

  function keyFor(keys: SigningKeys, date: string): Buffer {
    if (derived?.keys !== keys || derived.date !== date) {
      derived = { keys, date, key: derivedKey(keys.secretAccessKey, date, scope) };
    }
    return derived.key;
  }

  return {
    sign({ method, path, host, headers }, keys, atMs, payloadHash) {
      const time = signingTime(atMs);
      const signed: SignedHeader[] = [];
      const sent: string[] = [];
      for (let at = 0; at < headers.length; at += 2) {
        const name = headers[at] as string;
        if (OF_THE_CLOUD.test(name)) continue;
        const value = headers[at + 1] as string;
        sent.push(name, value);
        const lower = name.toLowerCase();
        if (SIGNED.has(lower)) signed.push([lower, value]);
      }
      const added = ["x-amz-date", time, "x-amz-content-sha256", payloadHash];
      if (keys.sessionToken !== undefined) added.push("x-amz-security-token", keys.sessionToken);
      for (let at = 0; at < added.length; at += 2) signed.push([added[at] as string, added[at + 1] as string]);
      signed.push(["host", headerIn(headers, "host") ?? host]);
      const canonical = canonicalRequest({ method, target: path, headers: signed, payloadHash });
      const made = signature(keyFor(keys, time.slice(0, 8)), stringToSign(canonical, time, scope));
      const proof = authorization(keys, credentialScope(time, scope), signedHeaders(signed), made);
      sent.push(...added, "authorization", proof);
      return sent;
    },
  };
}

/** At once, but for bodies that would keep everybody waiting: those are hashed piece by piece, once for all attempts. */
export function hashOf(body: Buffer | null): string | Promise<string> {
  if (body === null || body.length <= PIECE_BYTES) return payloadHash(body);
  const known = hashes.get(body) ?? inPieces(body);
  hashes.set(body, known);
  return known;
}

async function inPieces(body: Buffer): Promise<string> {
  const hash = createHash("sha256");
  for (let at = 0; at < body.length; at += PIECE_BYTES) {
    if (at > 0) await turn();
    hash.update(body.subarray(at, at + PIECE_BYTES));
  }
  return hash.digest("hex");
}

/**
 * Signs outgoing requests. Source: credentials reference, 1.2 to 1.4; design decisions, section 13.
 *
 * Only `host`, `content-type`, `anthropic-version` and headers added here are signed: the fewer headers, the fewer ways for a
 * proxy to break the signature. The client's `x-amz-*` headers are dropped, since they would control what is signed.
 */
import { createHash } from "node:crypto";
import { setImmediate as turn } from "node:timers/promises";
import type { OutgoingRequest } from "../types.ts";
import {
  authorization,
  canonicalHeaders,
  canonicalPath,
  canonicalRequest,
  credentialScope,
  derivedKey,
  payloadHash,
  type SignedHeader,
  type SigningKeys,
  type SigningScope,
  signature,
  signingTime,
  stringToSign,
} from "./sigv4.ts";

/** Client headers that are signed, by length of the name, so that most other headers are skipped without a comparison. */
const SIGNED_HEADERS: ReadonlyMap<number, string> = new Map(
  ["content-type", "anthropic-version"].map((name) => [name.length, name]),
);
const CLOUD_HEADER = /^x[-_]amz/i;

/** Maximum number of cached paths. Paths that contain a client's id are numerous. */
const MAX_PATHS = 256;

/** Size of a piece that is hashed at once, which takes 0.6 ms. */
const PIECE_BYTES = 1 << 20;
const hashesInProgress = new WeakMap<Buffer, Promise<string>>();

interface DerivedKey {
  readonly keys: SigningKeys;
  readonly date: string;
  readonly key: Buffer;
}

interface SecondTexts {
  /** Time in seconds since 1970. */
  readonly at: number;
  readonly time: string;
  readonly scope: string;
}

/** Signs requests. Caches the key of a day and the texts of a second. */
interface Signer {
  /** Returns all headers of the request. `atMs`: milliseconds since 1970, by the verifier's clock. */
  sign(request: OutgoingRequest, keys: SigningKeys, atMs: number, payloadHash: string): readonly string[];
}

export function createSigner(scope: SigningScope): Signer {
  let derived: DerivedKey | undefined;
  let second: SecondTexts | undefined;
  const paths = new Map<string, string>();

  function keyFor(keys: SigningKeys, date: string): Buffer {
    if (derived?.keys !== keys || derived.date !== date) {
      derived = { keys, date, key: derivedKey(keys.secretAccessKey, date, scope) };
    }
    return derived.key;
  }

  function textsOfSecond(atMs: number): SecondTexts {
    const at = Math.floor(atMs / 1_000);
    if (second?.at !== at) {
      const time = signingTime(atMs);
      second = { at, time, scope: credentialScope(time, scope) };
    }
    return second;
  }

  function canonicalPathOf(target: string): string {
    const mark = target.indexOf("?");
    const path = mark < 0 ? target : target.slice(0, mark);
    const known = paths.get(path);
    if (known !== undefined) return known;
    const canonical = canonicalPath(path);
    if (paths.size < MAX_PATHS) paths.set(path, canonical);
    return canonical;
  }

  return {
    sign({ method, path, host, headers }, keys, atMs, payloadHash) {
      const { time, scope: scoped } = textsOfSecond(atMs);
      const signed: SignedHeader[] = [];
      const sent: string[] = [];
      for (let at = 0; at < headers.length; at += 2) {
        const name = headers[at] as string;
        const first = name[0];
        if ((first === "x" || first === "X") && CLOUD_HEADER.test(name)) continue;
        const value = headers[at + 1] as string;
        sent.push(name, value);
        const wanted = SIGNED_HEADERS.get(name.length);
        if (wanted !== undefined && name.toLowerCase() === wanted) signed.push([wanted, value]);
      }
      const added = ["x-amz-date", time, "x-amz-content-sha256", payloadHash];
      if (keys.sessionToken !== undefined) added.push("x-amz-security-token", keys.sessionToken);
      for (let at = 0; at < added.length; at += 2) signed.push([added[at] as string, added[at + 1] as string]);
      signed.push(["host", headerIn(headers, "host") ?? host]);
      const canonical = canonicalHeaders(signed);
      const request = canonicalRequest(
        { method, target: path, headers: canonical, payloadHash },
        canonicalPathOf(path),
      );
      const made = signature(keyFor(keys, time.slice(0, 8)), stringToSign(request, time, scope));
      sent.push(...added, "authorization", authorization(keys, scoped, canonical.names, made));
      return sent;
    },
  };
}

/**
 * Hashes small bodies at once. Larger ones are hashed in pieces, so that other requests are not delayed, and once for all
 * attempts.
 */
export function payloadHashOf(body: Buffer | null): string | Promise<string> {
  if (body === null || body.length <= PIECE_BYTES) return payloadHash(body);
  const known = hashesInProgress.get(body) ?? hashInPieces(body);
  hashesInProgress.set(body, known);
  return known;
}

async function hashInPieces(body: Buffer): Promise<string> {
  const hash = createHash("sha256");
  for (let at = 0; at < body.length; at += PIECE_BYTES) {
    if (at > 0) await turn();
    hash.update(body.subarray(at, at + PIECE_BYTES));
  }
  return hash.digest("hex");
}

/** Returns the first value of a header in pairs; `name` in lower case. */
function headerIn(pairs: readonly string[], name: string): string | undefined {
  for (let at = 0; at < pairs.length; at += 2) {
    const candidate = pairs[at] as string;
    if (candidate.length === name.length && candidate.toLowerCase() === name) return pairs[at + 1];
  }
  return undefined;
}

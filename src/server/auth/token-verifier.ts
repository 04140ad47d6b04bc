/**
 * Verifies the text of a token and returns the caller, or the reason for refusing it. Source: specification document 1
 * (Authentication, Admin API 4), document 2 (`issuers`); design decisions, section 1 (JWT); RFC 8725.
 *
 * Cheap checks come first: form, algorithm, issuer, claims. So a token that could not be accepted anyway causes neither a fetch
 * nor a verification. Claims of a refused token never leave this file.
 */

import assert from "node:assert/strict";
import type { Clock, Log } from "../../base/index.ts";
import { createIssuerKeys, type IssuerKeys, type KnownKeys } from "./issuer-keys.ts";
import { member } from "./json-object.ts";
import type { PublicKey } from "./key-set.ts";
import { keyLoader } from "./load-keys.ts";
import { readClaims } from "./token-claims.ts";
import type { TokenMetrics } from "./token-metrics.ts";
import { readToken, type TokenText } from "./token-text.ts";
import type { IssuerOptions, TokenFault, TokenVerdict, TokenVerifier, VerifiedToken } from "./types.ts";

/** Timeout for discovery and keys together, in milliseconds. */
const FETCH_TIMEOUT_MS = 10_000;

/** Maximum number of keys tried for one token. There is more than one only if the token names no key, or an ambiguous one. */
const MAX_TRIED_KEYS = 4;

interface TokenVerifierOptions {
  /** Issuers with unique names and addresses. */
  readonly issuers: readonly IssuerOptions[];
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics?: TokenMetrics;
  /** Timeout for discovery and keys together, in milliseconds; 10 s by default. */
  readonly fetchTimeoutMs?: number;
}

interface Issuer {
  readonly options: IssuerOptions;
  readonly keys: IssuerKeys;
}

/** Known keys of the issuer when a token was verified. */
interface SigningKeys {
  readonly issuer: IssuerKeys;
  readonly keys: KnownKeys["keys"];
}

/** Creates a verifier, which fetches nothing before the first token. A reload creates a new one and closes the old one. */
export function createTokenVerifier(options: TokenVerifierOptions): TokenVerifier {
  const { issuers, clock, log, metrics, fetchTimeoutMs: timeoutMs = FETCH_TIMEOUT_MS } = options;
  const byUrl = new Map<unknown, Issuer>();
  for (const it of issuers) {
    assert(!byUrl.has(it.url), "two issuers have the same address, so a token would belong to both");
    const onLoad = (kind: "loaded" | "failed") => metrics?.countKeyFetch(it.name, kind);
    const keys = createIssuerKeys({ issuer: it.name, load: keyLoader(it), timeoutMs, clock, log, onLoad });
    byUrl.set(it.url, { options: it, keys });
  }
  const signers = new WeakMap<VerifiedToken, SigningKeys>();

  async function verifyToken(text: string, signal: AbortSignal): Promise<TokenVerdict> {
    const token = readToken(text);
    if (token.kind === "refused") return refused(token.fault, undefined);
    const issuer = byUrl.get(member(token.claims, "iss"));
    if (issuer === undefined) return refused("unknown_issuer", undefined);
    const { name } = issuer.options;
    const caller = readClaims(token.claims, issuer.options, clock.now());
    if (caller.kind === "refused") return refused(caller.fault, name);
    const signature = await verifySignature(token, issuer.keys, signal);
    if (signature.kind === "refused") return refused(signature.fault, name);
    const { subject, displayName, audiences, expiresAt } = caller;
    const { claims } = token;
    const verdict = { kind: "verified", issuer: name, subject, displayName, audiences, expiresAt, claims } as const;
    signers.set(verdict, { issuer: issuer.keys, keys: signature.keys });
    return verdict;
  }

  return {
    async verify(text, signal) {
      signal.throwIfAborted();
      const verdict = await verifyToken(text, signal);
      metrics?.countVerification(verdict.issuer, verdict.kind === "refused" ? verdict.fault : "verified");
      return verdict;
    },
    isStillValid(token) {
      const signer = signers.get(token);
      return signer?.issuer.areCurrent(signer.keys) ?? false;
    },
    async close() {
      await Promise.all([...byUrl.values()].map(({ keys }) => keys.close()));
    },
  };
}

function refused(fault: TokenFault, issuer: string | undefined): TokenVerdict {
  return { kind: "refused", fault, issuer };
}

type SignatureVerdict =
  | { readonly kind: "signed"; readonly keys: KnownKeys["keys"] }
  | { readonly kind: "refused"; readonly fault: TokenFault };

/** Verifies the signature. A success returns `keys`: the issuer's keys, one of which signed the token. */
async function verifySignature(token: TokenText, issuer: IssuerKeys, signal: AbortSignal): Promise<SignatureVerdict> {
  const known = await issuer.current(signal);
  if (known === undefined) return { kind: "refused", fault: "keys_unavailable" };
  const verdict = await tryKeys(token, known);
  if (verdict.kind === "signed") return verdict;
  // A signature that the named key did not make stays invalid. If no key is named, the right one may be missing.
  const mayBeMissing = verdict.fault === "unknown_key" || token.kid === undefined;
  if (!mayBeMissing || known.wereFetchedNow) return verdict;
  const newer = await issuer.fetchNewer(known, signal);
  if (newer !== undefined) return await tryKeys(token, newer);
  return issuer.isUnreachable() ? { kind: "refused", fault: "keys_unavailable" } : verdict;
}

async function tryKeys(token: TokenText, { keys }: KnownKeys): Promise<SignatureVerdict> {
  const candidates = keys.filter((key) => isCandidate(key, token)).slice(0, MAX_TRIED_KEYS);
  for (const key of candidates) {
    if (await key.verifies(token.text, token.algorithm)) return { kind: "signed", keys };
  }
  return { kind: "refused", fault: candidates.length === 0 ? "unknown_key" : "signature" };
}

function isCandidate(key: PublicKey, { kid, algorithm }: TokenText): boolean {
  return (kid === undefined || key.kid === kid) && key.supports(algorithm);
}

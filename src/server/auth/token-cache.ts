/**
 * Cache of verified tokens, so that a signature is checked once and not at each request (about 0.3 ms of CPU).
 *
 * The key is the SHA-256 of the whole token, including issuer and signature, so tokens cannot collide and no token stays in
 * memory. Refusals and results of a replaced verifier are never cached, so a reload of issuers takes effect at once. An entry
 * expires when the verifier would refuse the token for its time, to the millisecond; when the issuer's keys have changed, since
 * the token's may be missing; and five minutes after verification, so that the verifier looks for new keys at all.
 *
 * Two generations approximate a least-recently-used order: a used entry moves to the younger one; when that is full it becomes
 * the older one, and entries unused since are dropped. The limits are in tokens and in characters of their text, which bound
 * their claims too. Concurrent verifications of the same token are not shared.
 */

import { hash } from "node:crypto";
import type { Clock } from "../../base/index.ts";
import { LEEWAY_MS } from "./token-claims.ts";
import { MAX_TOKEN_LENGTH } from "./token-text.ts";
import type { TokenVerdict, TokenVerifier, VerifiedToken } from "./types.ts";

/** Limits of both generations together: tokens, and characters of their text. 10,000 tokens of 1.6 KB reach both. */
const MAX_TOKENS = 10_000;
const MAX_LENGTH = 16 << 20;

/** Maximum time since verification, in milliseconds. */
const MAX_AGE_MS = 5 * 60_000;

export interface CachedVerifier extends Pick<TokenVerifier, "verify"> {
  /** Returns a token that was verified before and is still valid; always the same object. */
  findCached(token: string): VerifiedToken | undefined;
  /** Returns the number of kept tokens; a few are counted twice. */
  size(): number;
}

export type TokenSource = Pick<TokenVerifier, "verify" | "isStillValid">;

interface CachedToken {
  readonly token: VerifiedToken;
  readonly length: number;
  /** Time at which the entry expires, in milliseconds of the monotonic clock. */
  readonly staleAt: number;
}

/**
 * Creates a cache in front of `verifier`, which is called each time. If it returns another verifier, all cached tokens are
 * forgotten.
 */
export function createCachedVerifier(verifier: () => TokenSource, clock: Clock): CachedVerifier {
  let source: TokenSource | undefined;
  let younger = new Map<string, CachedToken>();
  let older: ReadonlyMap<string, CachedToken> = new Map();
  let youngerLength = 0;

  function current(): TokenSource {
    const now = verifier();
    if (now !== source) {
      source = now;
      rotate();
      rotate();
    }
    return now;
  }

  function rotate(): void {
    older = younger;
    younger = new Map();
    youngerLength = 0;
  }

  function store(digest: string, cached: CachedToken): void {
    youngerLength += cached.length - (younger.get(digest)?.length ?? 0);
    younger.set(digest, cached);
    if (younger.size >= MAX_TOKENS / 2 || youngerLength >= MAX_LENGTH / 2) rotate();
  }

  function lookUp(digest: string, from: TokenSource): VerifiedToken | undefined {
    const recent = younger.get(digest);
    const cached = recent ?? older.get(digest);
    if (cached === undefined) return undefined;
    const { token, staleAt } = cached;
    if (clock.now() >= token.expiresAt + LEEWAY_MS || clock.monotonic() >= staleAt) return undefined;
    if (!from.isStillValid(token)) return undefined;
    if (recent === undefined) store(digest, cached);
    return token;
  }

  return {
    findCached(text) {
      const from = current();
      return text.length > MAX_TOKEN_LENGTH ? undefined : lookUp(digestOf(text), from);
    },

    async verify(text, signal): Promise<TokenVerdict> {
      const used = current();
      // The verifier refuses this length, so hashing would be wasted.
      if (text.length > MAX_TOKEN_LENGTH) return used.verify(text, signal);
      signal.throwIfAborted();
      const digest = digestOf(text);
      const found = lookUp(digest, used);
      if (found !== undefined) return found;
      const verdict = await used.verify(text, signal);
      if (verdict.kind === "verified" && used === current()) {
        store(digest, { token: verdict, length: text.length, staleAt: clock.monotonic() + MAX_AGE_MS });
      }
      return verdict;
    },

    size: () => younger.size + older.size,
  };
}

function digestOf(text: string): string {
  return hash("sha256", text, "base64url");
}

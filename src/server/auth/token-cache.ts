/**
 * Tokens that were verified, so that a signature is checked once and not at each request (some 0.3 ms of CPU).
 *
 * Kept under the SHA-256 of the whole token, which holds its issuer and signature: no two tokens meet, whatever they
 * have in common, and no token stays in memory. Never kept: refusals, and anything of a verifier that was replaced, so
 * that a reload of issuers holds at once. A kept token ends when the verifier would refuse it for its time, to the
 * millisecond; when it has learned of other keys of the issuer, of which the token's may be missing; and five minutes
 * after it was verified, so that the verifier looks for other keys at all.
 *
 * Two generations stand in for a least-recently-used order: what is used moves to the younger, and when that is full,
 * it becomes the older and what nobody used since goes. Bounded in tokens and in characters of their texts, which what
 * they claim is in proportion to. There is no list of verifications under way: two first uses at once are two.
 */

import { hash } from "node:crypto";
import type { Clock } from "../../base/index.ts";
import { LEEWAY_MS } from "./claims.ts";
import { MAX_TOKEN_LENGTH } from "./token-text.ts";
import type { TokenVerdict, TokenVerifier, VerifiedToken } from "./types.ts";

/** Of both generations together: tokens, and characters of their texts. 10,000 tokens of 1.6 KB fill both. */
const MAX_TOKENS = 10_000;
const MAX_LENGTH = 16 << 20;

/** After it was verified. */
const MAX_AGE_MS = 5 * 60_000;

export interface CachedVerifier extends Pick<TokenVerifier, "verify"> {
  /** What was verified before and still holds, at once; the same object each time. */
  known(token: string): VerifiedToken | undefined;
  /** Tokens kept, a few of them twice. */
  size(): number;
}

export type TokenSource = Pick<TokenVerifier, "verify" | "holds">;

interface Kept {
  readonly token: VerifiedToken;
  readonly length: number;
  /** Milliseconds, by the monotonic clock. */
  readonly agedAt: number;
}

/** `verifier` is asked each time: what was verified by one that it no longer gives is forgotten. */
export function createCachedVerifier(verifier: () => TokenSource, clock: Clock): CachedVerifier {
  let source: TokenSource | undefined;
  let younger = new Map<string, Kept>();
  let older: ReadonlyMap<string, Kept> = new Map();
  let youngerLength = 0;

  function current(): TokenSource {
    const now = verifier();
    if (now !== source) {
      source = now;
      turn();
      turn();
    }
    return now;
  }

  function turn(): void {
    older = younger;
    younger = new Map();
    youngerLength = 0;
  }

  function keep(digest: string, kept: Kept): void {
    youngerLength += kept.length - (younger.get(digest)?.length ?? 0);
    younger.set(digest, kept);
    if (younger.size >= MAX_TOKENS / 2 || youngerLength >= MAX_LENGTH / 2) turn();
  }

  function find(digest: string, from: TokenSource): VerifiedToken | undefined {
    const recent = younger.get(digest);
    const kept = recent ?? older.get(digest);
    if (kept === undefined) return undefined;
    const { token, agedAt } = kept;
    if (clock.now() >= token.expiresAt + LEEWAY_MS || clock.monotonic() >= agedAt) return undefined;
    if (!from.holds(token)) return undefined;
    if (recent === undefined) keep(digest, kept);
    return token;
  }

  return {
    known(text) {
      const from = current();
      return text.length > MAX_TOKEN_LENGTH ? undefined : find(digestOf(text), from);
    },

    async verify(text, signal): Promise<TokenVerdict> {
      const used = current();
      // Refused by its length; hashing it would be wasted.
      if (text.length > MAX_TOKEN_LENGTH) return used.verify(text, signal);
      signal.throwIfAborted();
      const digest = digestOf(text);
      const found = find(digest, used);
      if (found !== undefined) return found;
      const verdict = await used.verify(text, signal);
      if (verdict.kind === "verified" && used === current()) {
        keep(digest, { token: verdict, length: text.length, agedAt: clock.monotonic() + MAX_AGE_MS });
      }
      return verdict;
    },

    size: () => younger.size + older.size,
  };
}

function digestOf(text: string): string {
  return hash("sha256", text, "base64url");
}

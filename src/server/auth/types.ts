/**
 * Types for callers with a token of a trusted issuer. Source: specification document 1 (Authentication), document 2
 * (`issuers`); design decisions, section 1. What a token may do (audience, roles, profile) is decided elsewhere.
 */

import type { ForwardProxies } from "../forward-proxy/index.ts";

/** An entry of `issuers` in the node file, with its defaults applied; an empty `jwks_url` is undefined. */
export interface IssuerOptions {
  /** Identifies the issuer in policies, bindings and records. */
  readonly name: string;
  /** Value of the `iss` claim, matched exactly and unique among issuers. Discovery starts here if `jwksUrl` is `undefined`. */
  readonly url: string;
  readonly jwksUrl: string | undefined;
  /** Absolute path of a PEM bundle that is trusted in addition to the system's roots. */
  readonly caFile: string | undefined;
  /**
   * Absolute path of a file with a bearer token, read at each fetch. The token is sent only to the origin of `url` and to
   * `jwksUrl`.
   */
  readonly tokenFile: string | undefined;
  readonly subjectClaim: string;
  /** Claim with the display name; if `undefined`, `preferred_username`, then `email`, then the subject are used. */
  readonly nameClaim: string | undefined;
  /** Proxies for the issuer's documents and token endpoint. If omitted, connections are direct. */
  readonly proxies?: ForwardProxies;
}

/** Token whose issuer, signature and times were verified. */
export interface VerifiedToken {
  readonly kind: "verified";
  /** Name of the issuer. */
  readonly issuer: string;
  readonly subject: string;
  /** Human-readable name, for records. */
  readonly displayName: string;
  /** The `aud` claim as a list. */
  readonly audiences: readonly string[];
  /** Expiry by `exp`, in milliseconds since 1970. */
  readonly expiresAt: number;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Reason for refusing a token, for records and metrics. The caller never sees it. */
export type TokenFault =
  | "malformed"
  | "algorithm"
  | "unknown_issuer"
  | "unknown_key"
  | "signature"
  | "expired"
  /** `nbf` or `iat` is in the future. */
  | "not_yet_valid"
  | "no_expiry"
  | "no_subject"
  | "email_not_verified"
  /** Discovery or keys could not be fetched, and no known key fits. */
  | "keys_unavailable";

export type TokenVerdict =
  | VerifiedToken
  | { readonly kind: "refused"; readonly fault: TokenFault; readonly issuer: string | undefined };

export interface TokenVerifier {
  /**
   * Verifies a token. `signal` limits the wait; a fetch of keys that others wait for continues. Rejects only if `signal` aborts.
   */
  verify(token: string, signal: AbortSignal): Promise<TokenVerdict>;
  /**
   * Returns whether the keys that verified the token are still the issuer's known keys. If not, its key may have been
   * withdrawn. Does not check times.
   */
  isStillValid(token: VerifiedToken): boolean;
  /** Aborts fetches. Later verifications use the keys known by then. */
  close(): Promise<void>;
}

/** Result of `gateway check` for an issuer: discovery, then the key set. */
export type IssuerProbe =
  | { readonly kind: "ok"; readonly jwksUrl: string; readonly keys: number }
  | { readonly kind: "failed"; readonly step: "discovery" | "keys"; readonly message: string };

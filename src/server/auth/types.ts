/**
 * Types for callers with a token of a trusted issuer. Source: specification document 1 (Authentication), document 2
 * (`issuers`); design decisions, section 1. What a token may do (audience, roles, profile) is decided elsewhere.
 */

import type { ForwardProxies } from "../forward-proxy/index.ts";

/** An entry of `issuers` in the node file, with its defaults applied; an empty `jwks_url` is undefined. */
export interface IssuerOptions {
  /** Identifies the issuer in policies, bindings and records. */
  readonly name: string;
  /** The `iss` claim, matched exactly; where discovery looks when `jwksUrl` is undefined. No two issuers have the same. */
  readonly url: string;
  readonly jwksUrl: string | undefined;
  /** Absolute. PEM bundle beside the system's roots. */
  readonly caFile: string | undefined;
  /**
   * Absolute path of a file with a bearer token, read at each fetch. The token is sent only to the origin of `url` and to
   * `jwksUrl`.
   */
  readonly tokenFile: string | undefined;
  readonly subjectClaim: string;
  /** `undefined` means `preferred_username`, then `email`, then the subject. */
  readonly nameClaim: string | undefined;
  /** On the way to its documents and its token endpoint; left out: everything is reached directly. */
  readonly proxies?: ForwardProxies;
}

/** A token whose issuer, signature and times are good. */
export interface VerifiedToken {
  readonly kind: "verified";
  /** Name of the issuer. */
  readonly issuer: string;
  readonly subject: string;
  /** Readable, for records. */
  readonly displayName: string;
  /** The `aud` claim as a list. */
  readonly audiences: readonly string[];
  /** Milliseconds since 1970, by `exp`. */
  readonly expiresAt: number;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Why a token is not accepted: for a record and a metric, never for the caller. */
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
  /** `signal` limits the caller's wait; a fetch of keys that others wait for continues. Rejects only if it aborts. */
  verify(token: string, signal: AbortSignal): Promise<TokenVerdict>;
  /**
   * Returns whether the keys that verified the token are still the issuer's known keys. If not, its key may have been
   * withdrawn. Does not check times.
   */
  holds(token: VerifiedToken): boolean;
  /** Ends fetches. What is verified later is verified by the keys known by then. */
  close(): Promise<void>;
}

/** Result of `gateway check` for an issuer: discovery, then the key set. */
export type IssuerProbe =
  | { readonly kind: "ok"; readonly jwksUrl: string; readonly keys: number }
  | { readonly kind: "failed"; readonly step: "discovery" | "keys"; readonly message: string };

/**
 * Acts as the caller: exchanges the token by which the caller was recognized for a token of the same issuer for the upstream.
 * Source: RFC 8693; RFC 7523 with `requested_token_use`; credentials reference, 4; design decisions, section 13.
 *
 * Exchanged tokens are cached under the digest of the whole original token. So no caller gets another's token, and a caller with
 * a narrower token does not get what a wider one was given.
 */

import { hash } from "node:crypto";
import { type Clock, createSemaphore, GatewayError, type SharedValue } from "../../../base/index.ts";
import type { FindTokenEndpoint, TokenEndpoint } from "../../auth/index.ts";
import type { ForwardProxies } from "../../forward-proxy/index.ts";
import type { RequestCaller, TokenExchangeCredential } from "../types.ts";
import { usableMs } from "../usable-lifetime.ts";
import { type BearerToken, createBearerToken } from "./bearer-token.ts";
import { TokenUnavailable } from "./client-credentials.ts";
import { createExchangedTokens } from "./exchanged-tokens.ts";
import type { RequestToken } from "./shared-token.ts";
import { openTokenDialer, type TokenDialer } from "./token-dialer.ts";
import { type AuthMethod, claimsOf, type IssuedToken, TOKEN_LIMIT_MS, TokenFailure } from "./token-request.ts";

/** Maximum number of concurrent exchanges at one issuer. */
const MAX_CONCURRENT = 20;
const MAX_WAITING = 2_000;
const WAIT_LIMIT_MS = 20_000;

const ENDPOINT_AGE_MS = 24 * 60 * 60_000;
const DISCOVERY_LIMIT_MS = 5_000;
/** Assumed lifetime of a token without an expiry, in milliseconds. */
const DEFAULT_LIFE_MS = 60_000;
/** Time to cache a refusal, in milliseconds, so that a repeated request does not reach the issuer each time. */
const REFUSED_FOR_MS = 5_000;

/** Failures of different exchanges in a row before a pause. One caller's bad token must not block the others. */
const FAILURES_BEFORE_PAUSE = 3;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const ON_BEHALF_OF = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/** Error codes that refuse the gateway itself, not the caller. */
const GATEWAY_REFUSAL_CODES: ReadonlySet<string> = new Set([
  "invalid_client",
  "unauthorized_client",
  "unsupported_grant_type",
]);
const TOKEN_REFUSAL_CODES: ReadonlySet<string> = new Set(["invalid_request", "invalid_grant"]);
const ISSUED_TYPES: ReadonlySet<string> = new Set([
  "urn:ietf:params:oauth:token-type:access_token",
  "urn:ietf:params:oauth:token-type:jwt",
]);

interface ExchangeOptions {
  readonly findEndpoint: FindTokenEndpoint;
  readonly request: RequestToken;
  readonly proxies: ForwardProxies;
  readonly clock: Clock;
  /** Returns a uniform random number in [0, 1). */
  readonly random: () => number;
  /** Called after each exchange. `reason`: reason of a failure. */
  readonly onEnd: (outcome: "fetched" | "failed" | "refused", isOwn: boolean, reason: string) => void;
  /** Called when a request is sent again with another token. */
  readonly onRepeat: () => void;
}

export interface Exchanger {
  /** Returns the token for the caller, at once if it was exchanged before. Throws or rejects with the refusal. */
  exchange(actingFor: RequestCaller | undefined): BearerToken | Promise<BearerToken>;
  size(): number;
  close(): void;
}

type Outcome =
  | { readonly kind: "token"; readonly exchanged: BearerToken }
  | { readonly kind: "refusal"; readonly error: GatewayError }
  /** The upstream refused the token, so the next one must come from a later fetch. */
  | { readonly kind: "dropped"; readonly number: number };

export function createExchanger(credential: TokenExchangeCredential, options: ExchangeOptions): Exchanger {
  const { issuer } = credential;
  const { clock } = options;
  const cache = createExchangedTokens<Outcome>();
  const running = new Map<string, Promise<BearerToken>>();
  const slots = createSemaphore({
    permits: MAX_CONCURRENT,
    maxWaiting: MAX_WAITING,
    refusal(reason) {
      const text = reason === "full" ? "too many are waiting for it" : `no free slot within ${WAIT_LIMIT_MS / 1_000} s`;
      return new TokenFailure(text, { isTransient: true });
    },
  });
  const closing = new AbortController();
  let discovered:
    | { readonly endpoint: TokenEndpoint; readonly dialer: TokenDialer; readonly until: number }
    | undefined;
  let discovering: Promise<NonNullable<typeof discovered>> | undefined;
  let failures = 0;
  let failure: TokenUnavailable | undefined;
  let retryAt = Number.NEGATIVE_INFINITY;

  function forgetEndpoint(): void {
    discovered?.dialer.close();
    discovered = undefined;
  }

  async function discover(): Promise<NonNullable<typeof discovered>> {
    try {
      const endpoint = await options.findEndpoint({ timeoutMs: DISCOVERY_LIMIT_MS, signal: closing.signal });
      forgetEndpoint();
      const dialer = openTokenDialer(endpoint.secureContext, TOKEN_LIMIT_MS, options.proxies);
      discovered = { endpoint, dialer, until: clock.monotonic() + ENDPOINT_AGE_MS };
      return discovered;
    } catch (error) {
      const reason = error instanceof Error ? error.message : "it failed";
      throw new TokenFailure(`the issuer's token endpoint is not found: ${reason}`, { isTransient: true });
    } finally {
      discovering = undefined;
    }
  }

  async function ask(subject: string, after: number): Promise<SharedValue<IssuedToken>> {
    const isFresh = discovered !== undefined && clock.monotonic() < discovered.until;
    if (!isFresh) discovering ??= discover();
    const { endpoint, dialer } = discovered !== undefined && isFresh ? discovered : await (discovering ?? discover());
    const method = methodOf(endpoint.authMethods);
    const asked = { endpoint: endpoint.url.href, client: credential, method, ...grantOf(credential, subject) };
    try {
      return await options.request(asked, dialer, after);
    } catch (error) {
      // The endpoint may have moved, or its certificate may have changed.
      if (error instanceof TokenFailure && error.isEndpointGone && discovered?.dialer === dialer) forgetEndpoint();
      throw error;
    }
  }

  /** Asks the issuer, and caches its answer for this token, even a refusal. */
  async function exchangeNow(
    key: string,
    { token = "", principal }: RequestCaller,
    after: number,
  ): Promise<BearerToken> {
    const begunAt = clock.monotonic();
    const leftMs = remainingMs(claimsOf(token), clock.now());
    try {
      const {
        value: issued,
        ageMs,
        number,
        isOwn,
      } = await slots.run(() => ask(token, after), { waitMs: WAIT_LIMIT_MS });
      const refusal = faultOf(issued, credential, token);
      if (refusal !== undefined) throw new TokenFailure(refusal, { code: "invalid_target" });
      failures = 0;
      options.onEnd("fetched", isOwn, "");
      const value: Outcome = {
        kind: "token",
        exchanged: createBearerToken(issued.token, { drop, onRepeat: options.onRepeat }),
      };
      function drop(): boolean {
        const current = cache.find(key, clock.monotonic());
        if (current !== undefined && current !== value) return true;
        const until = clock.monotonic() + REFUSED_FOR_MS;
        cache.put(key, { value: { kind: "dropped", number }, until, principal });
        return true;
      }
      const left = remainingMs(issued.claims, clock.now()) ?? Number.POSITIVE_INFINITY;
      const lifeMs = Math.min(issued.lifeMs ?? DEFAULT_LIFE_MS, left + ageMs);
      const until = begunAt + Math.min(usableMs(lifeMs) - ageMs, usableMs(leftMs ?? Number.POSITIVE_INFINITY));
      if (until > clock.monotonic()) cache.put(key, { value, until, principal });
      return value.exchanged;
    } catch (error) {
      const failure =
        error instanceof TokenFailure ? error : new TokenFailure("the exchange failed", { isTransient: true });
      const refusal = refusalOf(credential, failure, leftMs);
      options.onEnd(
        refusal instanceof TokenUnavailable ? "failed" : "refused",
        !failure.isFromOtherProcess,
        failure.message,
      );
      if (refusal instanceof TokenUnavailable) {
        pause(refusal);
      } else {
        failures = 0;
        const until = clock.monotonic() + REFUSED_FOR_MS;
        cache.put(key, { value: { kind: "refusal", error: refusal }, until, principal });
      }
      throw refusal;
    }
  }

  function pause(refusal: TokenUnavailable): void {
    failures++;
    failure = refusal;
    if (failures < FAILURES_BEFORE_PAUSE) return;
    const doubled = Math.min(FIRST_PAUSE_MS * 2 ** (failures - FAILURES_BEFORE_PAUSE), LONGEST_PAUSE_MS);
    retryAt = clock.monotonic() + Math.min(refusal.pauseMs ?? doubled * (0.5 + options.random() / 2), LONGEST_PAUSE_MS);
  }

  return {
    exchange(actingFor) {
      if (actingFor?.token === undefined || actingFor.issuer !== issuer) throw wrongIssuerError(issuer);
      const key = digestOf(actingFor.token);
      const found = cache.find(key, clock.monotonic());
      if (found?.kind === "token") return found.exchanged;
      if (found?.kind === "refusal") throw found.error;
      const pending = running.get(key);
      if (pending !== undefined) return pending;
      if (isBound(claimsOf(actingFor.token))) throw boundTokenError();
      if (failure !== undefined && clock.monotonic() < retryAt) throw failure;
      const after = found === undefined ? 0 : found.number;
      const exchanging = exchangeNow(key, actingFor, after).finally(() => running.delete(key));
      running.set(key, exchanging);
      return exchanging;
    },
    size: () => cache.size(),
    close() {
      closing.abort(new Error("the credential is no longer in use"));
      forgetEndpoint();
    },
  };
}

function digestOf(token: string): string {
  return hash("sha256", token, "base64url");
}

/** Returns the milliseconds until the token's `exp`; `undefined` if it has none. */
function remainingMs(claims: Readonly<Record<string, unknown>> | undefined, nowMs: number): number | undefined {
  const exp = claims?.["exp"];
  return typeof exp === "number" ? exp * 1_000 - nowMs : undefined;
}

/**
 * Returns whether the token is bound to a key of the caller (RFC 9449, RFC 8705). Accepting it without the proof would remove
 * that protection.
 */
const isBound = (claims: Readonly<Record<string, unknown>> | undefined): boolean => claims?.["cnf"] !== undefined;

function methodOf(listed: readonly string[]): AuthMethod {
  if (listed.includes("client_secret_post")) return "client_secret_post";
  if (listed.includes("client_secret_basic")) return "client_secret_basic";
  throw new TokenFailure("the issuer does not accept a client secret", { code: "invalid_client" });
}

function grantOf(credential: TokenExchangeCredential, subject: string) {
  const { audience, resource, scopes, subjectTokenType } = credential;
  const parameters = new URLSearchParams();
  if (scopes.length > 0) parameters.set("scope", scopes.join(" "));
  if (credential.grant === "on_behalf_of") {
    parameters.set("assertion", subject);
    parameters.set("requested_token_use", "on_behalf_of");
    return { grant: ON_BEHALF_OF, parameters };
  }
  parameters.set("subject_token", subject);
  parameters.set("subject_token_type", subjectTokenType);
  if (audience !== undefined) parameters.set("audience", audience);
  if (resource !== undefined) parameters.set("resource", resource);
  return { grant: EXCHANGE, parameters };
}

/** Returns why an issued token is unusable. A token for another target would give the upstream access to something else. */
function faultOf(
  { token, issuedType, claims }: IssuedToken,
  { grant, audience, resource }: TokenExchangeCredential,
  subject: string,
): string | undefined {
  if (token === subject) return "the issuer returned the caller's own token";
  if (grant === "on_behalf_of") return undefined;
  if (issuedType !== undefined && !ISSUED_TYPES.has(issuedType)) return "the issuer did not return an access token";
  const named = claims?.["aud"];
  if (named === undefined) return undefined;
  const audiences: readonly unknown[] = Array.isArray(named) ? named : [named];
  const targets = [audience, resource].filter((it) => it !== undefined);
  return targets.some((target) => audiences.includes(target)) ? undefined : "the token is for another audience";
}

function refusalOf({ name }: TokenExchangeCredential, failure: TokenFailure, leftMs: number | undefined): GatewayError {
  const { code, claims } = failure;
  if (code === undefined || failure.isTransient || GATEWAY_REFUSAL_CODES.has(code))
    return new TokenUnavailable(name, failure);
  if (claims !== undefined || code === "interaction_required") {
    const asked = claims === undefined ? "" : `, claims="${Buffer.from(claims).toString("base64")}"`;
    return new GatewayError("unauthenticated", "The issuer requires the user to sign in again.", {
      challenge: `Bearer realm="", error="insufficient_claims"${asked}`,
      by: { kind: "credential", name: "insufficient_claims" },
    });
  }
  if (TOKEN_REFUSAL_CODES.has(code) && leftMs !== undefined && leftMs <= 0) {
    return new GatewayError("unauthenticated", "The token has expired.", {
      challenge: 'Bearer error="invalid_token"',
      by: { kind: "credential", name: "expired_token" },
    });
  }
  return new GatewayError(
    "token_exchange_refused",
    `The credential ${name} exchanges the caller's token, and its issuer refused: ${code}.`,
    { by: { kind: "credential", name: "exchange_refused" } },
  );
}

const wrongIssuerError = (issuer: string): GatewayError =>
  new GatewayError("token_exchange_refused", `This can only be called with a token of the issuer ${issuer}.`, {
    by: { kind: "credential", name: "exchange_needs_token" },
  });

const boundTokenError = (): GatewayError =>
  new GatewayError("token_exchange_refused", "The token is bound to a key of the caller and cannot be exchanged.", {
    by: { kind: "credential", name: "exchange_bound_token" },
  });

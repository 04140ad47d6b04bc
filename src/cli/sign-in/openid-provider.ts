/**
 * Client of the identity provider, built on `openid-client`. Only this file and the users of its `Provider` use that
 * library, which takes 26 ms to load and is loaded only to get tokens. Sources: OpenID Connect Core and Discovery 1.0,
 * RFC 8414, RFC 6749.
 *
 * Every request ends within `ANSWER_MS`, and an answer has at most `MAX_ANSWER_BYTES`. Plain HTTP is used only if the
 * issuer's own URL is plain HTTP.
 */

import type { Configuration, CustomFetchOptions, TokenEndpointResponse } from "openid-client";
import { anySignal } from "../../base/index.ts";
import { isBearerToken, isTime, type SignIn, type TokenKind } from "./sign-in-entry.ts";
import { failureCode, printable, SignInError, tlsHint } from "./sign-in-errors.ts";

const ANSWER_MS = 10_000;
/** Maximum size of an answer. Key sets of large providers have about 20 KB. */
const MAX_ANSWER_BYTES = 1 << 20;

type OpenIdClient = typeof import("openid-client");

export interface Provider {
  readonly oidc: OpenIdClient;
  readonly configuration: Configuration;
  readonly issuer: string;
}

interface ProviderOptions {
  readonly issuer: string;
  readonly clientId: string;
  readonly signal: AbortSignal;
  /**
   * True to check the signature of an ID token against the provider's keys. A renewal does not: it relies on TLS
   * (OpenID Connect Core, 3.1.3.7) and on the gateway's own check. Fetching the keys is another request, and if it
   * failed, a refresh token that was just rotated would be lost with the answer.
   */
  readonly checksSignatures: boolean;
}

/** Discovers the provider. Rejects with `SignInError`. */
export async function openProvider({ issuer, clientId, signal, checksSignatures }: ProviderOptions): Promise<Provider> {
  if (!URL.canParse(issuer)) throw new SignInError(`the issuer '${printable(issuer)}' is not a URL`);
  const url = new URL(issuer);
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new SignInError(`the issuer '${printable(issuer)}' does not begin with https://`);
  }
  const oidc = await import("openid-client");
  const execute = [
    ...(url.protocol === "http:" ? [oidc.allowInsecureRequests] : []),
    ...(checksSignatures ? [oidc.enableNonRepudiationChecks] : []),
  ];
  try {
    const configuration = await oidc.discovery(url, clientId, undefined, oidc.None(), {
      execute,
      timeout: ANSWER_MS / 1_000,
      [oidc.customFetch]: boundedFetch(signal),
    });
    return { oidc, configuration, issuer };
  } catch (error) {
    throw asSignInError(oidc, issuer, error, signal);
  }
}

/** Returns a `fetch` that limits the size of answers. Aborting `signal` ends requests in progress. */
function boundedFetch(signal: AbortSignal): (url: string, options: CustomFetchOptions) => Promise<Response> {
  return async (url, options) => {
    const signals = options.signal === undefined ? [signal] : [signal, options.signal];
    const { body, ...rest } = options;
    const answer = await fetch(url, { ...rest, ...(body == null ? {} : { body }), signal: anySignal(signals) });
    if (answer.body === null) return answer;
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of answer.body) {
      size += chunk.length;
      if (size > MAX_ANSWER_BYTES) throw new SignInError(`an answer of ${printable(new URL(url).origin)} is too long`);
      chunks.push(chunk);
    }
    const { status, statusText, headers } = answer;
    return new Response(Buffer.concat(chunks), { status, statusText, headers });
  };
}

/** Converts a refusal or failure of the provider to an error for the user. Takes `unknown`, since libraries throw anything. */
export function asSignInError(oidc: OpenIdClient, issuer: string, error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted || error instanceof SignInError) return error;
  const providerName = `the identity provider ${printable(issuer)}`;
  if (error instanceof oidc.ResponseBodyError || error instanceof oidc.AuthorizationResponseError) {
    const description = error.error_description === undefined ? "" : ` (${printable(error.error_description)})`;
    return new SignInError(`${providerName} refused: ${printable(error.error)}${description}`, { cause: error });
  }
  if (error instanceof Error && error.cause instanceof SignInError) return error.cause;
  if (error instanceof oidc.ClientError && error.code === "OAUTH_TIMEOUT") {
    return new SignInError(`${providerName} gave no answer within ${ANSWER_MS / 1_000} s`, { cause: error });
  }
  const code = failureCode(error);
  if (code !== undefined)
    return new SignInError(`${providerName} could not be reached: ${code}${tlsHint(code)}`, { cause: error });
  // The library's messages describe what is wrong with an answer, without quoting it.
  const source = error instanceof oidc.ClientError && error.cause instanceof Error ? error.cause : error;
  const reason = source instanceof Error ? printable(source.message) : "the answer cannot be understood";
  const isAboutTime = error instanceof oidc.ClientError && error.code === "OAUTH_JWT_TIMESTAMP_CHECK_FAILED";
  return new SignInError(`${providerName}: ${reason}${isAboutTime ? "; is the clock right?" : ""}`, { cause: error });
}

/** Returns whether the refresh token is no longer valid: expired, revoked, or already used. */
export function isRefusedGrant(oidc: OpenIdClient, error: unknown): boolean {
  return error instanceof oidc.ResponseBodyError && error.error === "invalid_grant";
}

export type Tokens = Pick<SignIn, "token" | "expiresAt" | "refreshToken">;

/** Returns the requested kind of token from the provider's answer; `undefined` if there is none. */
export function tokensOf(answer: TokenEndpointResponse, kind: TokenKind, now: number): Tokens | undefined {
  const token = kind === "id" ? answer.id_token : answer.access_token;
  if (token === undefined || !isBearerToken(token)) return undefined;
  return { token, expiresAt: expiryOf(token) ?? lifetimeEnd(answer, kind, now), refreshToken: answer.refresh_token };
}

/** Returns the expiry by `expires_in`, which applies only to the access token (RFC 6749 section 5.1). */
function lifetimeEnd({ expires_in }: TokenEndpointResponse, kind: TokenKind, now: number): number | undefined {
  return kind === "access" && expires_in !== undefined && isTime(now + expires_in * 1_000)
    ? now + expires_in * 1_000
    : undefined;
}

/**
 * Returns the expiry in `exp` of a JWT, without verifying the token: the gateway does that, and this time only decides
 * when to renew.
 */
function expiryOf(token: string): number | undefined {
  const exp = claimsOf(token)?.["exp"];
  return typeof exp === "number" && isTime(exp * 1_000) ? exp * 1_000 : undefined;
}

/** Returns the claims of a JWT; `undefined` if the token is not a JWT. */
export function claimsOf(token: string): Readonly<Record<string, unknown>> | undefined {
  const parts = token.split(".");
  if (parts.length !== 3) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(parts[1] ?? "", "base64url").toString("utf8"));
    return typeof claims === "object" && claims !== null ? { ...claims } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Asks a token endpoint for a token. Source: RFC 6749 sections 2.3.1, 4.4, 5.1 and 5.2; RFC 8693 section 2.2; credentials
 * reference, 3 and 4. `openid-client`, which is loaded when first needed, writes the request and reads the answer. Refusals are
 * interpreted here, since the library's errors contain whole answers.
 */

import { decodeJwt } from "jose";
import type { ClientAuth, CustomFetchOptions, TokenEndpointResponse } from "openid-client";
import { connectionErrorText } from "../../../base/index.ts";
import type { TokenClient } from "../types.ts";
import type { TokenAnswer, TokenDialer } from "./token-dialer.ts";

/** Timeout of a token request including the connection, in milliseconds. */
export const TOKEN_LIMIT_MS = 5_000;

/** Maximum length of a token, which goes into a header of each request. */
const MAX_TOKEN_LENGTH = 16 << 10;
const MAX_CLAIMS_LENGTH = 4 << 10;
const MAX_LIFE_MS = 24 * 60 * 60_000;

export type AuthMethod = "client_secret_post" | "client_secret_basic";

export interface TokenRequest {
  readonly endpoint: string;
  readonly client: TokenClient;
  readonly method: AuthMethod;
  readonly grant: string;
  readonly parameters: URLSearchParams;
}

export interface IssuedToken {
  readonly token: string;
  /** Lifetime in milliseconds; `undefined` if the token has no expiry. */
  readonly lifeMs: number | undefined;
  /** Claims of the token, unverified; `undefined` if they cannot be read. */
  readonly claims: Readonly<Record<string, unknown>> | undefined;
  readonly issuedType: string | undefined;
}

/** Reason why there is no token. The message contains nothing of the answer except its error code. */
export class TokenFailure extends Error {
  /** Value of `error` in the answer; `undefined` if no token endpoint answered. */
  readonly code: string | undefined;
  /** JSON text of `claims` in the answer; `undefined` if it has none. */
  readonly claims: string | undefined;
  /** Whether a retry may succeed shortly. */
  readonly isTransient: boolean;
  /** Whether nothing answered at the address, or something that is no token endpoint. */
  readonly isEndpointGone: boolean;
  readonly retryAfterMs: number | undefined;
  /** Ids by which the issuer's support finds the refusal. */
  readonly traces: Readonly<Record<string, string>>;
  /** Whether another process of the node received this failure and has logged it. */
  readonly isFromOtherProcess: boolean;

  constructor(reason: string, facts: TokenFailureFacts = {}) {
    super(reason);
    this.code = facts.code;
    this.claims = facts.claims;
    this.isTransient = facts.isTransient ?? false;
    this.isEndpointGone = facts.isEndpointGone ?? false;
    this.retryAfterMs = facts.retryAfterMs;
    this.traces = facts.traces ?? {};
    this.isFromOtherProcess = facts.isFromOtherProcess ?? false;
  }
}

type TokenFailureFacts = Partial<Omit<TokenFailure, keyof Error>>;

/** Requests a token. Rejects with `TokenFailure`. */
export async function requestToken(request: TokenRequest, dialer: TokenDialer): Promise<IssuedToken> {
  const oidc = await import("openid-client");
  const { endpoint, client, method, grant, parameters } = request;
  let answer: TokenAnswer | undefined;
  let fault: unknown;
  const configuration = new oidc.Configuration(
    { issuer: new URL(endpoint).origin, token_endpoint: endpoint },
    client.clientId,
    undefined,
    method === "client_secret_post" ? oidc.ClientSecretPost(client.clientSecret) : basic(client),
  );
  // Code that found the endpoint has already decided whether plain HTTP is allowed.
  oidc.allowInsecureRequests(configuration);
  configuration[oidc.customFetch] = async (url: string, { headers, body }: CustomFetchOptions) => {
    try {
      answer = await dialer.post(url, headers, String(body ?? ""), AbortSignal.timeout(TOKEN_LIMIT_MS));
    } catch (error) {
      fault = error;
      throw error;
    }
    const { status, text } = answer;
    const { "content-type": type = "", "www-authenticate": challenge } = answer.headers;
    return new Response(status === 204 || status === 304 ? null : text, {
      status,
      headers: { "content-type": type, ...(challenge !== undefined && { "www-authenticate": challenge }) },
    });
  };
  let issued: TokenEndpointResponse;
  try {
    issued = await oidc.genericGrantRequest(configuration, grant, parameters);
  } catch {
    throw failureOf(answer, fault);
  }
  return readIssued(issued);
}

/**
 * Returns HTTP Basic authentication (RFC 6749 section 2.3.1). Encodes no more than necessary: some servers do not decode, and ids
 * contain dashes and dots.
 */
function basic({ clientId, clientSecret }: TokenClient): ClientAuth {
  const form = (text: string): string => encodeURIComponent(text).replace(/%20/g, "+");
  const pair = Buffer.from(`${form(clientId)}:${form(clientSecret)}`).toString("base64");
  return (_, __, ___, headers) => headers.set("authorization", `Basic ${pair}`);
}

function readIssued(issued: TokenEndpointResponse): IssuedToken {
  const { access_token: token, token_type: type, expires_in: seconds } = issued;
  if (type.toLowerCase() !== "bearer") throw NOT_A_BEARER_TOKEN;
  if (!/^[!-~]+$/.test(token) || token.length > MAX_TOKEN_LENGTH) {
    throw new TokenFailure("the token is too long for a header, or not printable");
  }
  const claims = claimsOf(token);
  const issuedType = issued["issued_token_type"];
  return {
    token,
    lifeMs: typeof seconds === "number" ? Math.min(Math.max(seconds, 0) * 1_000, MAX_LIFE_MS) : undefined,
    claims,
    issuedType: typeof issuedType === "string" ? issuedType : undefined,
  };
}

/** Returns the token's claims, unverified: they may only shorten its use. */
export function claimsOf(token: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return decodeJwt(token);
  } catch {
    return undefined;
  }
}

/**
 * Failure for other token types: DPoP, for example, needs a proof with each request, and `N_A` is no access token (RFC 8693
 * section 2.2.1).
 */
const NOT_A_BEARER_TOKEN = new TokenFailure("the endpoint did not return a bearer token");

function failureOf(answer: TokenAnswer | undefined, fault: unknown): TokenFailure {
  if (answer === undefined) {
    const isEndpointGone = !(fault instanceof Error && fault.name === "TimeoutError");
    return new TokenFailure(describeFault(fault), { isTransient: true, isEndpointGone });
  }
  const { status, headers, text } = answer;
  const json = jsonOf(text);
  const retryAfterMs = Number(headers["retry-after"]) * 1_000;
  const named = json?.["error"];
  if (typeof named === "string" && status >= 400 && status < 500 && status !== 429) {
    const code = printable(named);
    const traces = Object.fromEntries(
      ["trace_id", "correlation_id"].flatMap((name) => {
        const value = json?.[name];
        return typeof value === "string" ? [[name, printable(value)]] : [];
      }),
    );
    const isTransient = code === "temporarily_unavailable" || code === "server_error";
    return new TokenFailure(`the endpoint answers ${status} ${code}`, {
      code,
      claims: claimsIn(json?.["claims"]),
      isTransient,
      traces,
    });
  }
  const type = json?.["token_type"];
  if (status === 200 && typeof type === "string" && type.toLowerCase() !== "bearer") return NOT_A_BEARER_TOKEN;
  const message = status === 200 ? "the endpoint's answer contains no token" : `the endpoint answers ${status}`;
  return new TokenFailure(message, {
    isTransient: true,
    isEndpointGone: status === 404 || status === 410,
    retryAfterMs: Number.isFinite(retryAfterMs) && retryAfterMs > 0 ? retryAfterMs : undefined,
  });
}

/** Returns the JSON text of `claims` unchanged, a challenge of conditional access; `undefined` if it is not valid. */
function claimsIn(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > MAX_CLAIMS_LENGTH) return undefined;
  return jsonOf(value) === undefined ? undefined : value;
}

function jsonOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the error code, or `unreadable` if it may be another text or a token. The log and the caller's error show it. */
function printable(code: string): string {
  return /^[\w.:-]{1,64}$/.test(code) && !code.startsWith("eyJ") ? code : "unreadable";
}

function describeFault(fault: unknown): string {
  if (!(fault instanceof Error)) return "the request to the endpoint failed";
  if (fault.name === "TimeoutError") return `no answer within ${TOKEN_LIMIT_MS / 1_000} s`;
  const { code } = fault as NodeJS.ErrnoException;
  const proxied = connectionErrorText(fault);
  if (code === "FORWARD_PROXY" && proxied !== undefined) return proxied;
  const detail = fault.message.startsWith("its ") ? fault.message : undefined;
  return (
    detail ??
    (typeof code === "string" ? `the endpoint cannot be reached: ${code}` : "the request to the endpoint failed")
  );
}

/**
 * Fetches the gateway's own tokens by the client credentials grant. Source: RFC 6749 section 4.4; credentials reference, 3;
 * design decisions, section 13.
 */

import type { SharedValue } from "../../../base/index.ts";
import { GatewayError } from "../../../base/index.ts";
import type { ClientCredential } from "../types.ts";
import type { FetchedValue } from "./renewed-value.ts";
import type { RequestToken } from "./shared-token.ts";
import type { TokenDialer } from "./token-dialer.ts";
import { type AuthMethod, type IssuedToken, TokenFailure } from "./token-request.ts";

/** Assumed lifetime of a token without an expiry, in milliseconds. */
const DEFAULT_LIFE_MS = 300_000;

/** Minimum interval between requests after an error that only a changed configuration fixes, in milliseconds. */
const PERMANENT_PAUSE_MS = 60_000;

export class TokenUnavailable extends GatewayError {
  /** Reason, for the log. */
  readonly reason: string;
  readonly pauseMs: number | undefined;
  /** Whether only a changed configuration can fix the failure. */
  readonly isPermanent: boolean;
  /** See `TokenFailure.isFromOtherProcess`. */
  readonly isFromOtherProcess: boolean;
  constructor(name: string, failure: TokenFailure) {
    super("credential_unavailable", `The credential ${name} is not available: its token endpoint returned no token.`);
    const { message, isTransient, retryAfterMs, traces } = failure;
    this.reason = [message, ...Object.entries(traces).map(([key, value]) => `${key} ${value}`)].join(", ");
    this.isPermanent = !isTransient;
    this.isFromOtherProcess = failure.isFromOtherProcess;
    this.pauseMs = retryAfterMs ?? (isTransient ? undefined : PERMANENT_PAUSE_MS);
  }
}

interface ClientCredentialsOptions {
  readonly dialer: TokenDialer;
  readonly request: RequestToken;
  /** Returns the current time, in milliseconds since 1970. */
  readonly now: () => number;
}

/** Returns a function that fetches a token. It rejects with `TokenUnavailable`. */
export function clientCredentials(
  credential: ClientCredential,
  { dialer, request, now }: ClientCredentialsOptions,
): () => Promise<FetchedValue<string>> {
  const { name, tokenUrl: endpoint, scopes } = credential;
  // The server does not say which method it accepts. The one that worked is tried first from then on.
  let methods: readonly AuthMethod[] = ["client_secret_post", "client_secret_basic"];

  /** Sequence number of the last token received. */
  let number = 0;

  const ask = (method: AuthMethod): Promise<SharedValue<IssuedToken>> => {
    const parameters = new URLSearchParams(scopes.length === 0 ? {} : { scope: scopes.join(" ") });
    return request({ endpoint, client: credential, method, grant: "client_credentials", parameters }, dialer, number);
  };

  const askEither = async (): Promise<SharedValue<IssuedToken>> => {
    const [first = "client_secret_post", second = "client_secret_basic"] = methods;
    try {
      return await ask(first);
    } catch (error) {
      if (!(error instanceof TokenFailure) || error.code !== "invalid_client") throw error;
      const issued = await ask(second);
      methods = [second, first];
      return issued;
    }
  };

  return async () => {
    try {
      const { value, ageMs, isOwn, ...shared } = await askEither();
      number = shared.number;
      const { token, lifeMs, claims } = value;
      const leftMs = typeof claims?.["exp"] === "number" ? claims["exp"] * 1_000 - now() : 0;
      const byClaim = leftMs > 0 ? leftMs + ageMs : undefined;
      return { value: token, lifeMs: lifeMs ?? byClaim ?? DEFAULT_LIFE_MS, ageMs, isOwn };
    } catch (error) {
      throw new TokenUnavailable(name, error instanceof TokenFailure ? error : new TokenFailure("the fetch failed"));
    }
  };
}

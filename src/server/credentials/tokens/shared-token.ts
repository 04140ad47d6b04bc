/** Requests tokens once for all processes of a node. */
import { hash } from "node:crypto";
import type { FetchShared, SharedValue } from "../../../base/index.ts";
import { usableMs } from "../usable-lifetime.ts";
import type { TokenDialer } from "./token-dialer.ts";
import { type IssuedToken, requestToken, TokenFailure, type TokenRequest } from "./token-request.ts";

/** Assumed lifetime of a token without an expiry, in milliseconds. */
const DEFAULT_LIFE_MS = 60_000;

/** Time in which no other process repeats a refused request, in milliseconds. */
const REFUSED_FOR_MS = 5_000;

/**
 * Same as `requestToken`, but shared: returns the result of a fetch with a greater number than `after`. Rejects with
 * `TokenFailure`.
 */
export type RequestToken = (
  asked: TokenRequest,
  dialer: TokenDialer,
  after: number,
) => Promise<SharedValue<IssuedToken>>;

type Outcome =
  | { readonly kind: "issued"; readonly issued: IssuedToken }
  | { readonly kind: "failed"; readonly reason: string; readonly facts: Omit<TokenFailure, keyof Error> };

/** Creates the shared request. `now`: milliseconds since 1970. */
export function createSharedTokenRequest(fetchShared: FetchShared, now: () => number): RequestToken {
  return async (asked, dialer, after) => {
    const { value, ...shared } = await fetchShared(keyOf(asked), after, async () => {
      const outcome = await outcomeOf(asked, dialer);
      return { value: outcome, keepMs: keepMsOf(outcome, now()) };
    });
    if (value.kind === "issued") return { value: value.issued, ...shared };
    throw new TokenFailure(value.reason, { ...value.facts, isFromOtherProcess: !shared.isOwn });
  };
}

async function outcomeOf(request: TokenRequest, dialer: TokenDialer): Promise<Outcome> {
  try {
    return { kind: "issued", issued: await requestToken(request, dialer) };
  } catch (error) {
    if (!(error instanceof TokenFailure)) throw error;
    const { code, claims, isTransient, isEndpointGone, retryAfterMs, traces, isFromOtherProcess } = error;
    return {
      kind: "failed",
      reason: error.message,
      facts: { code, claims, isTransient, isEndpointGone, retryAfterMs, traces, isFromOtherProcess },
    };
  }
}

function keepMsOf(outcome: Outcome, nowMs: number): number {
  if (outcome.kind === "issued") {
    const { lifeMs = DEFAULT_LIFE_MS, claims } = outcome.issued;
    const exp = claims?.["exp"];
    return usableMs(typeof exp === "number" ? Math.min(lifeMs, exp * 1_000 - nowMs) : lifeMs);
  }
  return outcome.facts.code === undefined || outcome.facts.isTransient ? 0 : REFUSED_FOR_MS;
}

/** Returns a digest of everything in the request, including secrets. */
function keyOf({ endpoint, client: { clientId, clientSecret }, method, grant, parameters }: TokenRequest): string {
  return hash(
    "sha256",
    JSON.stringify([endpoint, clientId, clientSecret, method, grant, [...parameters]]),
    "base64url",
  );
}

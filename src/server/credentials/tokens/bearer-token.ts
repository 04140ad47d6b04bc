/** Bearer token with everything that is derived from it once. Source: RFC 6750 section 2.1. */
import { type ContainsCredential, createCredentialCheck } from "../credential-headers.ts";
import type { OutgoingRequest, PresentedCredential, PresentedJudge } from "../types.ts";

export interface BearerToken {
  readonly token: string;
  /** Header names and values, alternating. */
  readonly headers: readonly string[];
  readonly containsCredential: ContainsCredential;
  readonly judge: PresentedJudge;
}

interface BearerTokenHandlers {
  /** Discards a token that the upstream refused. Returns false if no other is available now. */
  drop(bearer: BearerToken): boolean;
  onRepeat(): void;
}

/** Prepares a token. A 401 means that it was refused, whatever else the answer says. */
export function createBearerToken(token: string, { drop, onRepeat }: BearerTokenHandlers): BearerToken {
  const bearer: BearerToken = {
    token,
    headers: ["authorization", `Bearer ${token}`],
    containsCredential: createCredentialCheck(token),
    judge: {
      judgeHeaders: (status, _, isRepeat) => (status === 401 && !isRepeat && drop(bearer) ? "again" : "accept"),
      judgeBody: () => "accept",
      onRepeat,
    },
  };
  return bearer;
}

export function withBearer(
  { headers }: OutgoingRequest,
  { headers: tokenHeaders, containsCredential, judge }: BearerToken,
): PresentedCredential {
  return { headers: headers.concat(tokenHeaders), containsCredential, judge };
}

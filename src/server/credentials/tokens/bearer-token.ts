/** Bearer token with everything that is derived from it once. Source: RFC 6750 section 2.1. */
import { type Bearing, bearing } from "../credential-headers.ts";
import type { Outgoing, Presented, PresentedJudge } from "../types.ts";

export interface BearerToken {
  readonly token: string;
  /** Header names and values, alternating. */
  readonly headers: readonly string[];
  readonly bears: Bearing;
  readonly judge: PresentedJudge;
}

interface BearerUse {
  /** Discards a token that the upstream refused. Returns false if no other is available now. */
  drop(it: BearerToken): boolean;
  repeated(): void;
}

/** Prepares a token. A 401 means that it was refused, whatever else the answer says. */
export function bearerOf(token: string, { drop, repeated }: BearerUse): BearerToken {
  const it: BearerToken = {
    token,
    headers: ["authorization", `Bearer ${token}`],
    bears: bearing(token),
    judge: {
      answered: (status, _, isRepeat) => (status === 401 && !isRepeat && drop(it) ? "again" : "accept"),
      bodyRead: () => "accept",
      repeated,
    },
  };
  return it;
}

export function withBearer({ headers }: Outgoing, { headers: own, bears, judge }: BearerToken): Presented {
  return { headers: headers.concat(own), bears, judge };
}

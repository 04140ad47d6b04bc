/** Caller, as authenticated by the socket or listener. */

import type { Actor } from "../core/state/index.ts";

export interface Principal {
  /** Either `local`, or the name of the issuer. */
  readonly issuer: string;
  /** User `unix:<uid>`, `loopback`, or the subject of the token. */
  readonly subject: string;
  readonly roles: readonly string[];
  /** Readable name, for records. */
  readonly name?: string;
  /** Expiry of the caller's token, in milliseconds since 1970. */
  readonly expiresAt?: number;
}

/** Returns a caller of the local socket. Only the owner can open it, so a caller is the user of this process. */
export function localPrincipal(uid: number): Principal {
  return { issuer: "local", subject: `unix:${uid}`, roles: ["local"] };
}

/** Principal of operations that need no authentication. */
export const NOBODY: Principal = { issuer: "local", subject: "nobody", roles: [] };

export function actorOf({ issuer, subject }: Principal): Actor {
  return { iss: issuer, sub: subject };
}

/** Returns the text of a principal in records. */
export function actorText({ iss, sub }: Actor): string {
  return iss === "local" ? sub : `${iss}/${sub}`;
}

/** Caller, as authenticated by the socket or listener. */

import type { Actor } from "../core/state/index.ts";

export interface Principal {
  /** `local`, or the name of the issuer. */
  readonly issuer: string;
  /** `unix:<uid>`, `loopback`, or the subject of the token. */
  readonly subject: string;
  readonly roles: readonly string[];
  /** Readable, for records. */
  readonly name?: string;
  /** Milliseconds since 1970; of a token, by which the caller was recognised. */
  readonly expiresAt?: number;
}

/** A caller of the local socket. Only the owner can open it, so a caller is the user this process runs as. */
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

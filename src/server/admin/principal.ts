/** Who calls, as a door established it. */

import type { Actor } from "../core/state/index.ts";

export interface Principal {
  /** `local`, or the issuer's URL. */
  readonly issuer: string;
  /** `unix:<uid>`, `loopback`, or the subject of the token. */
  readonly subject: string;
  readonly roles: readonly string[];
}

/** A caller of the local socket. Only the owner can open it, so a caller is the user this process runs as. */
export function localPrincipal(uid: number): Principal {
  return { issuer: "local", subject: `unix:${uid}`, roles: ["local"] };
}

export function actorOf({ issuer, subject }: Principal): Actor {
  return { iss: issuer, sub: subject };
}

/** One text for a principal, as it stands in records. */
export function actorText({ iss, sub }: Actor): string {
  return iss === "local" ? sub : `${iss}/${sub}`;
}

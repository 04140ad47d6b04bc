/** Identifies the callers of the admin socket or of the admin listener. */

import type { FastifyReply, FastifyRequest } from "fastify";
import type { Principal } from "../principal.ts";

export interface Authenticator {
  readonly name: "local" | "network";
  /** Identifies the caller; rejects with `unauthenticated`. Called only for operations that need authentication. */
  identify(request: FastifyRequest, reply: FastifyReply, signal: AbortSignal): Principal | Promise<Principal>;
}

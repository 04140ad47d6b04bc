/** The socket or listener of the admin plane that a request came through. */

import type { FastifyReply, FastifyRequest } from "fastify";
import type { Principal } from "../principal.ts";

export interface Door {
  readonly name: "local" | "network";
  /** Rejects with `unauthenticated`. Called only for operations that are not open to all. */
  identify(request: FastifyRequest, reply: FastifyReply, signal: AbortSignal): Principal | Promise<Principal>;
}

/** The socket or listener of the admin plane that a request came through. */

import type { IncomingMessage } from "node:http";
import type { Principal } from "../principal.ts";

export interface Door {
  readonly name: "local" | "network";
  /** Rejects with `unauthenticated`. Called only for operations that are not open to all. */
  identify(request: IncomingMessage, signal: AbortSignal): Principal | Promise<Principal>;
}

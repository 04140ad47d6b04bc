/** Who sends a request, before a byte of its body is read. Source: design decisions, sections 1 and 2. */
import type { IncomingMessage } from "node:http";
import { GatewayError } from "../../../base/index.ts";
import {
  ANONYMOUS,
  type AuthRules,
  type Caller,
  challengeOf,
  type Identification,
  presentedOf,
} from "../../auth/index.ts";
import type { Governance } from "../../snapshot/index.ts";
import type { Governing } from "../ports.ts";

/** The check of a token ends by itself; a client that leaves meanwhile finds nobody waiting. */
const NEVER = new AbortController().signal;

/** One answer whatever was wrong. */
const unrecognised = (auth: AuthRules): GatewayError =>
  new GatewayError("unauthenticated", "The request carries no credential that is accepted here.", {
    challenge: challengeOf(auth),
  });

/** Throws when the key that a request came with was taken away since: a body may take minutes to arrive. */
export function recogniseAgain(caller: Caller, { auth }: Governance, { callers }: Governing): void {
  if (auth !== undefined && !callers.isStill(caller)) throw unrecognised(auth);
}

/**
 * At once but for a token that is seen for the first time. Throws, or rejects with, `unauthenticated`: one answer whatever
 * was wrong. `protocolToken`: of a WebSocket subprotocol. `server`: the MCP server asked for.
 */
export function identify(
  request: IncomingMessage,
  governance: Governance,
  governing: Governing | undefined,
  { protocolToken, server }: { readonly protocolToken?: string | undefined; readonly server?: string } = {},
): Caller | Promise<Caller> {
  const { auth } = governance;
  if (auth === undefined) return ANONYMOUS;
  if (governing === undefined) throw new Error("a configuration with `auth` is served without anybody to recognise");
  const presented = presentedOf(request, protocolToken);
  const found = governing.callers.identify(presented, auth, server, NEVER);
  const take = (identification: Identification): Caller => {
    if (identification.kind === "caller") return identification.caller;
    const { fault, issuer } = identification;
    governing.trail.notRecognised({ fault, issuer: issuer ?? null });
    throw unrecognised(auth);
  };
  return found instanceof Promise ? found.then(take) : take(found);
}

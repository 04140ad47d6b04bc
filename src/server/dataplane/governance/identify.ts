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

/**
 * Caller of the last request of each connection, by the text of its `authorization` header. A `Map` compares hashes first,
 * so that the time does not tell how much of another text is the same.
 */
const lastOf = new WeakMap<object, ReadonlyMap<string, Caller>>();

/** Scheme and key have 70 characters; a header with more is not kept in memory. */
const MAX_KEPT_LENGTH = 128;

type NamedKey = { readonly id: string; readonly name: string | undefined } | undefined;

/** Makes the same answer whatever was wrong; `fault` and `key` are for those who run the gateway. */
const unrecognised = (auth: AuthRules, fault: string, key?: NamedKey, server?: string): GatewayError =>
  new GatewayError("unauthenticated", "The request carries no credential that is accepted here.", {
    challenge: challengeOf(auth, server),
    by: {
      kind: "credential",
      name: fault,
      key: key?.name,
      ...(key !== undefined && key.name === undefined && { keyId: key.id }),
    },
  });

/** Throws when the key that a request came with was taken away since: a body may take minutes to arrive. */
export function recogniseAgain(
  caller: Caller,
  { auth }: Governance,
  { callers }: Governing,
  challenged?: string | undefined,
): void {
  if (auth !== undefined && !callers.isStill(caller)) throw unrecognised(auth, "withdrawn", caller.key, challenged);
}

export interface Asked {
  readonly requestId: string;
  /** Of a WebSocket subprotocol. */
  readonly protocolToken?: string | undefined;
  /** Names of the MCP server asked for. */
  readonly servers?: readonly string[] | undefined;
  /** The one of them that stands in the path: a refusal tells where tokens for it come from. */
  readonly challenged?: string | undefined;
}

/**
 * At once but for a token that is seen for the first time. Throws, or rejects with, `unauthenticated`: one answer whatever
 * was wrong.
 */
export function identify(
  request: IncomingMessage,
  governance: Governance,
  governing: Governing | undefined,
  { requestId, protocolToken, servers, challenged }: Asked,
): Caller | Promise<Caller> {
  const { auth } = governance;
  if (auth === undefined) return ANONYMOUS;
  if (governing === undefined) throw new Error("a configuration with `auth` is served without anybody to recognise");
  const presented = presentedOf(request, protocolToken);
  const { authorization } = presented;
  const last = authorization === undefined ? undefined : lastOf.get(request.socket)?.get(authorization);
  const again = last && governing.callers.again(last, auth);
  if (again?.kind === "caller") return again.caller;
  const found = governing.callers.identify(presented, auth, servers, NEVER);
  const take = (identification: Identification): Caller => {
    if (identification.kind === "caller") {
      const { caller } = identification;
      if (caller.key !== undefined && authorization !== undefined && authorization.length <= MAX_KEPT_LENGTH) {
        lastOf.set(request.socket, new Map([[authorization, caller]]));
      }
      return caller;
    }
    const { fault, issuer, key } = identification;
    governing.trail.notRecognised({
      fault,
      issuer: issuer ?? null,
      key: key?.name ?? null,
      key_id: key?.id ?? null,
      remote: request.socket.remoteAddress ?? null,
      request: requestId,
    });
    throw unrecognised(auth, fault, key, challenged);
  };
  return found instanceof Promise ? found.then(take) : take(found);
}

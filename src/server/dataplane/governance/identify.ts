/** Authenticates the caller of a request, before a byte of its body is read. Source: design decisions, sections 1 and 2. */
import type { IncomingMessage } from "node:http";
import { GatewayError } from "../../../base/index.ts";
import {
  ANONYMOUS,
  type AuthRules,
  type Caller,
  challengeOf,
  type Identification,
  presentedCredentials,
} from "../../auth/index.ts";
import type { Governance } from "../../snapshot/index.ts";
import type { GovernancePorts } from "../ports.ts";

/** Signal for token checks, which have their own timeout and are not aborted when the client leaves. */
const NEVER_ABORTED = new AbortController().signal;

/**
 * Caller of the last request of each connection, by the text of its `authorization` header. A `Map` compares hashes first, so
 * the timing does not reveal how much of another text matches.
 */
const lastCallers = new WeakMap<object, ReadonlyMap<string, Caller>>();

/** Maximum length of a remembered header. Scheme and key have 70 characters. */
const MAX_CACHED_LENGTH = 128;

type NamedKey = { readonly id: string; readonly name: string | undefined } | undefined;

/** Returns the refusal. Its text is the same for every fault; `fault` and `key` are only shown to operators. */
const unauthenticated = (auth: AuthRules, fault: string, key?: NamedKey, server?: string): GatewayError =>
  new GatewayError("unauthenticated", "The request has no credential that this gateway accepts.", {
    challenge: challengeOf(auth, server),
    by: {
      kind: "credential",
      name: fault,
      key: key?.name,
      ...(key !== undefined && key.name === undefined && { keyId: key.id }),
    },
  });

/** Throws if the caller's credential was withdrawn since it was accepted: a body may take minutes to arrive. */
export function recheckCredential(
  caller: Caller,
  { auth }: Governance,
  { callers }: GovernancePorts,
  challengedServer?: string | undefined,
): void {
  if (auth !== undefined && !callers.isUnchanged(caller))
    throw unauthenticated(auth, "withdrawn", caller.key, challengedServer);
}

export interface IdentifyOptions {
  readonly requestId: string;
  /** Credential from a WebSocket subprotocol. */
  readonly protocolToken?: string | undefined;
  /** Names of the MCP server that the request is for. */
  readonly serverNames?: readonly string[] | undefined;
  /** Server name in the path. The refusal says where to get tokens for it. */
  readonly challengedServer?: string | undefined;
}

/**
 * Returns the caller, synchronously unless a token is seen for the first time. Throws, or rejects with, `unauthenticated`; the
 * refusal is the same for every fault.
 */
export function identify(
  request: IncomingMessage,
  governance: Governance,
  governancePorts: GovernancePorts | undefined,
  { requestId, protocolToken, serverNames, challengedServer }: IdentifyOptions,
): Caller | Promise<Caller> {
  const { auth } = governance;
  if (auth === undefined) return ANONYMOUS;
  if (governancePorts === undefined)
    throw new Error("the configuration has `auth`, but no component that recognizes callers");
  const presented = presentedCredentials(request, protocolToken);
  const { authorization } = presented;
  const last = authorization === undefined ? undefined : lastCallers.get(request.socket)?.get(authorization);
  const cached = last && governancePorts.callers.recheck(last, auth);
  if (cached?.kind === "caller") return cached.caller;
  const identified = governancePorts.callers.identify(presented, auth, serverNames, NEVER_ABORTED);
  const toCaller = (identification: Identification): Caller => {
    if (identification.kind === "caller") {
      const { caller } = identification;
      if (caller.key !== undefined && authorization !== undefined && authorization.length <= MAX_CACHED_LENGTH) {
        lastCallers.set(request.socket, new Map([[authorization, caller]]));
      }
      return caller;
    }
    const { fault, issuer, key } = identification;
    governancePorts.trail.recordFailedAuthentication({
      fault,
      issuer: issuer ?? null,
      key: key?.name ?? null,
      key_id: key?.id ?? null,
      remote: request.socket.remoteAddress ?? null,
      request: requestId,
    });
    throw unauthenticated(auth, fault, key, challengedServer);
  };
  return identified instanceof Promise ? identified.then(toCaller) : toCaller(identified);
}

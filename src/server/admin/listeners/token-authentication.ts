/**
 * Authenticates callers by bearer token. Source: RFC 6750, sections 2.1 and 3; tokens in a body or a query are not accepted.
 *
 * Every token that is not accepted gets the same answer; the reason is recorded, the token never.
 */

import type { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { anySignal } from "../../../base/index.ts";
import { parseKey } from "../../auth/index.ts";
import type { AuditSink } from "../ports.ts";
import type { Principal } from "../principal.ts";
import { refusal } from "../refusal.ts";

type TokenVerdict =
  | { readonly kind: "principal"; readonly principal: Principal }
  | {
      readonly kind: "refused";
      /** Reason for the audit record; the caller never sees it. */
      readonly fault: string;
      /** Name of the issuer and subject of the token, if known. */
      readonly issuer?: string | undefined;
      readonly subject?: string | undefined;
    };

/** Checks whether a token's issuer, times and audience are accepted, and returns the caller that it identifies. */
export type CheckToken = (token: string, signal: AbortSignal) => Promise<TokenVerdict>;

interface TokenCallers {
  readonly check: CheckToken;
  /** Time limit of a check in milliseconds, including discovery and keys of a new issuer. */
  readonly checkLimitMs: number;
  readonly audit: Pick<AuditSink, "authFailure">;
}

/** Returns the caller of a request. Rejects with `unauthenticated`, or with `busy` if the token could not be checked in time. */
export async function authenticateByToken(
  { check, checkLimitMs, audit }: TokenCallers,
  request: FastifyRequest,
  reply: FastifyReply,
  signal: AbortSignal,
): Promise<Principal> {
  const presented = presentedToken(request.raw);
  const verdict: TokenVerdict =
    presented.kind === "token"
      ? await checkWithTimeout(check, presented.token, checkLimitMs, signal)
      : { kind: "refused", fault: presented.kind };
  if (verdict.kind === "principal") return verdict.principal;
  const { fault, issuer = null, subject = null } = verdict;
  audit.authFailure({
    door: "network",
    fault,
    issuer,
    subject,
    // Virtual keys are not accepted here. The recorded id shows whose key was sent by mistake.
    key_id: presented.kind === "token" ? (parseKey(presented.token)?.id ?? null) : null,
    remote: request.raw.socket.remoteAddress ?? null,
    request: request.id,
  });
  if (verdict === TIMED_OUT) throw refusal("busy", "The bearer token could not be checked in time.");
  // This is no fault of the token, so the caller need not obtain another one.
  if (fault === "keys_unavailable") {
    throw refusal("busy", "The bearer token cannot be checked: its issuer's keys could not be fetched.");
  }
  // RFC 6750, section 3.1: a challenge names no error if the request had no token.
  const isMissing = presented.kind === "missing";
  reply.header("www-authenticate", isMissing ? "Bearer" : 'Bearer error="invalid_token"');
  throw refusal(
    "unauthenticated",
    isMissing
      ? "The admin API needs a bearer token; `gateway login` obtains one."
      : "The bearer token is not accepted; `gateway login` obtains a new one.",
  );
}

const TIMED_OUT: TokenVerdict = { kind: "refused", fault: "late" };

async function checkWithTimeout(
  check: CheckToken,
  token: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<TokenVerdict> {
  const limit = AbortSignal.timeout(timeoutMs);
  try {
    return await check(token, anySignal([signal, limit]));
  } catch (error) {
    if (limit.aborted && !signal.aborted) return TIMED_OUT;
    throw error;
  }
}

type PresentedToken =
  | { readonly kind: "token"; readonly token: string }
  /** No credential, or one of another scheme. */
  | { readonly kind: "missing" }
  | { readonly kind: "malformed" };

const SCHEME = /^bearer(?: |$)/i;
const TOKEN = /^bearer +([\w.~+/-]+=*)$/i;

function presentedToken({ headersDistinct }: IncomingMessage): PresentedToken {
  const values = headersDistinct["authorization"] ?? [];
  // Two credentials would be ambiguous.
  if (values.length > 1) return { kind: "malformed" };
  const [value = ""] = values;
  if (!SCHEME.test(value)) return { kind: "missing" };
  const token = TOKEN.exec(value)?.[1];
  return token === undefined ? { kind: "malformed" } : { kind: "token", token };
}

/**
 * Recognizes callers by token. Source: specification document 3 (`auth.issuers`); design decisions, section 1.
 *
 * The result is cached per token and configuration: a request with a known token costs a lookup, and a new configuration takes
 * effect at once.
 */

import type { AuthRules, CallerFault, Identification } from "./caller.ts";
import { callerOutcome } from "./claims-to-caller.ts";
import type { CachedVerifier } from "./token-cache.ts";
import { readToken } from "./token-text.ts";
import type { TokenFault, VerifiedToken } from "./types.ts";

interface TokenCallers {
  /** Identifies a caller, at once for a known token. Rejects only if `signal` aborts. */
  identify(
    text: string,
    rules: AuthRules,
    servers: readonly string[] | undefined,
    signal: AbortSignal,
  ): Identification | Promise<Identification>;
}

/** Identifications computed once for a token under one configuration. */
interface CachedIdentifications {
  readonly rules: AuthRules;
  readonly atServer: ReadonlyMap<string, Identification>;
  readonly elsewhere: Identification;
}

export function createTokenCallers(tokens: CachedVerifier): TokenCallers {
  const known = new WeakMap<VerifiedToken, CachedIdentifications>();

  function identificationFor(token: VerifiedToken, rules: AuthRules, servers: readonly string[]): Identification {
    let answers = known.get(token);
    if (answers?.rules !== rules) {
      answers = identificationsOf(token, rules);
      known.set(token, answers);
    }
    const named = servers.find((server) => answers?.atServer.has(server));
    return (named === undefined ? undefined : answers.atServer.get(named)) ?? answers.elsewhere;
  }

  return {
    identify(text, rules, servers = [], signal) {
      // No issuer is accepted here, so nothing is verified.
      if (rules.issuers.length === 0) return refused(faultOfForm(text));
      const token = tokens.findCached(text);
      if (token !== undefined) return identificationFor(token, rules, servers);
      return tokens
        .verify(text, signal)
        .then((verdict) =>
          verdict.kind === "verified"
            ? identificationFor(verdict, rules, servers)
            : refused(FAULTS[verdict.fault], verdict.issuer),
        );
    },
  };
}

function identificationsOf(token: VerifiedToken, rules: AuthRules): CachedIdentifications {
  const outcome = callerOutcome(token, rules);
  switch (outcome.kind) {
    case "everywhere":
      return { rules, atServer: new Map(), elsewhere: { kind: "caller", caller: outcome.caller } };
    case "servers": {
      const atServer = new Map<string, Identification>();
      for (const [server, caller] of outcome.callers) atServer.set(server, { kind: "caller", caller });
      return { rules, atServer, elsewhere: refused("wrong_resource", token.issuer) };
    }
    case "refused":
      return { rules, atServer: new Map(), elsewhere: refused(outcome.fault, token.issuer) };
    default:
      return outcome satisfies never;
  }
}

function refused(fault: CallerFault, issuer?: string): Identification {
  return { kind: "refused", fault, issuer };
}

function faultOfForm(text: string): CallerFault {
  const reading = readToken(text);
  return reading.kind === "refused" ? reading.fault : "unknown_issuer";
}

const FAULTS = {
  malformed: "malformed",
  algorithm: "algorithm",
  unknown_issuer: "unknown_issuer",
  unknown_key: "unknown_signing_key",
  signature: "signature",
  expired: "expired_token",
  not_yet_valid: "not_yet_valid",
  no_expiry: "no_expiry",
  no_subject: "no_subject",
  email_not_verified: "email_not_verified",
  keys_unavailable: "issuer_unreachable",
} as const satisfies Record<TokenFault, CallerFault>;

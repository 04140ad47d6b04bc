/**
 * Turns a bearer token into a caller of the admin API. Source: specification document 1 (Authentication, Admin API 4), document
 * 2 (`admin.issuers`).
 *
 * Whether a claim may be trusted for roles (`trust_claim`) was decided when the configuration was read. A token never grants
 * the roles of callers without a token (`local`, `loopback`): it would inherit what the policy permits to every process that
 * can open the socket.
 */

import assert from "node:assert/strict";
import type { Log } from "../../../base/index.ts";
import type { TokenFault, TokenVerifier, VerifiedToken } from "../../auth/index.ts";
import type { Principal } from "../principal.ts";

/** Maximum number of claim values that are read, and of a caller's roles; a token's length allows some 4,000. */
const MAX_CLAIM_VALUES = 256;
const MAX_ROLES = 256;

/** Maximum length in UTF-16 code units. A longer value is ignored. */
const MAX_ROLE_LENGTH = 1024;

const RESERVED_ROLES: ReadonlySet<string> = new Set(["local", "loopback"]);

/** An entry of `admin.issuers` in the node file, with its defaults applied. */
export interface TokenBinding {
  /** Name of the issuer. */
  readonly issuer: string;
  readonly audience: string;
  readonly roles: {
    /** Literal name of a claim; not a path. */
    readonly claim: string;
    /** Roles by value of the claim; `undefined` if the values are the roles. */
    readonly map: Readonly<Record<string, readonly string[]>> | undefined;
  };
}

export type TokenPrincipal =
  | { readonly kind: "principal"; readonly principal: Principal }
  | {
      readonly kind: "refused";
      /** Reason, only for the audit record. `unbound_issuer`: the issuer is trusted, but not listed in `admin.issuers`. */
      readonly fault: TokenFault | "unbound_issuer" | "audience";
      /** Name of the issuer; `undefined` if it is not known yet. */
      readonly issuer: string | undefined;
      /** Subject of a valid token that is not accepted here. */
      readonly subject: string | undefined;
    };

interface TokenPrincipals {
  /** Returns the caller that a token identifies. Rejects only when `signal` aborts. */
  identify(token: string, signal: AbortSignal): Promise<TokenPrincipal>;
}

export function createTokenPrincipals(
  bindings: readonly TokenBinding[],
  verifier: Pick<TokenVerifier, "verify">,
  log: Log,
): TokenPrincipals {
  const logged = new Set<string>();
  const bound = bindings.map(({ issuer, audience, roles: { claim, map } }) => {
    assert(issuer !== "local", "an issuer must not have this name, which is reserved for callers without a token");
    return { issuer, audience, claim, map: map === undefined ? undefined : new Map(Object.entries(map)) };
  });

  function withoutReserved(roles: ReadonlySet<string>, issuer: string): readonly string[] {
    const granted = [...roles].filter((role) => !RESERVED_ROLES.has(role));
    if (granted.length < roles.size && !logged.has(issuer)) {
      logged.add(issuer);
      log.warn("a token grants a role that is reserved for callers without a token; the role is ignored", { issuer });
    }
    return granted.slice(0, MAX_ROLES);
  }

  return {
    async identify(text, signal) {
      const token = await verifier.verify(text, signal);
      if (token.kind === "refused") return { ...token, subject: undefined };
      const { issuer, subject, displayName: name, audiences, expiresAt } = token;
      const ofIssuer = bound.filter((binding) => binding.issuer === issuer);
      const binding = ofIssuer.find(({ audience }) => audiences.includes(audience));
      if (binding === undefined) {
        return { kind: "refused", fault: ofIssuer.length === 0 ? "unbound_issuer" : "audience", issuer, subject };
      }
      const values = valuesOf(token, binding.claim);
      const { map } = binding;
      const roles = new Set(map === undefined ? values : values.flatMap((value) => map.get(value) ?? []));
      return {
        kind: "principal",
        principal: { issuer, subject, roles: withoutReserved(roles, issuer), name, expiresAt },
      };
    },
  };
}

/** Returns the texts of a claim: one text, or the texts of a list; other items are ignored. */
function valuesOf({ claims }: VerifiedToken, claim: string): readonly string[] {
  const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  const list: readonly unknown[] = Array.isArray(value) ? value.slice(0, MAX_CLAIM_VALUES) : [value];
  return list.filter((item) => typeof item === "string").filter((it) => it !== "" && it.length <= MAX_ROLE_LENGTH);
}

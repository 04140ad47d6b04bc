/**
 * Maps a verified token to a caller: whether it is for this gateway, who the caller is, and which profile applies. Source:
 * specification document 1 (Authentication, data plane), document 3 (`auth.issuers`); RFC 8707 (resource indicators), RFC 9068.
 *
 * If an issuer has several bindings, the first whose audience the token carries decides. A token for a resource carries none of
 * these audiences, so the first binding of its issuer decides. Claims that callers can usually set themselves are refused for
 * `profiles` when the configuration is loaded, unless `trust_claim` allows them; here every named claim counts. `name` is for
 * display only: rules that need certainty read `subject`.
 */

import { hash } from "node:crypto";
import type { AuthRules, Caller, CallerAgent, CallerFault, CallerUser, IssuerBinding } from "./caller.ts";
import { member } from "./json-object.ts";
import { isPublicUrl, serverNameOf } from "./resources.ts";
import { isName } from "./token-claims.ts";
import type { VerifiedToken } from "./types.ts";

/** Maximum number of MCP servers that one token can be issued for; further ones are ignored. */
const MAX_SERVERS = 64;

/** Meaning of a token under one configuration. */
type CallerOutcome =
  | { readonly kind: "everywhere"; readonly caller: Caller }
  /** Issued for these MCP servers only, by name. */
  | { readonly kind: "servers"; readonly callers: ReadonlyMap<string, Caller> }
  | { readonly kind: "refused"; readonly fault: CallerFault };

export function callerOutcome(token: VerifiedToken, { issuers, publicUrl }: AuthRules): CallerOutcome {
  const bindings = issuers.filter(({ issuer }) => issuer === token.issuer);
  const first = bindings[0];
  if (first === undefined) return { kind: "refused", fault: "unknown_issuer" };
  const named = bindings.find(({ audience }) => token.audiences.includes(audience));
  if (named !== undefined) return { kind: "everywhere", caller: Object.freeze(callerOf(token, named)) };
  if (publicUrl === undefined) return { kind: "refused", fault: "wrong_audience" };
  const caller = callerOf(token, first);
  if (token.audiences.some((audience) => isPublicUrl(audience, publicUrl))) {
    return { kind: "everywhere", caller: Object.freeze(caller) };
  }
  const servers = token.audiences.flatMap((audience) => serverNameOf(audience, publicUrl) ?? []).slice(0, MAX_SERVERS);
  if (servers.length === 0) return { kind: "refused", fault: "wrong_audience" };
  return {
    kind: "servers",
    callers: new Map(servers.map((name) => [name, Object.freeze({ ...caller, onlyServer: name })])),
  };
}

function callerOf(token: VerifiedToken, binding: IssuerBinding): Caller {
  const { issuer, subject, displayName: name } = token;
  const isUser = binding.subject === "user";
  const named = { name, issuer, subject };
  const user: CallerUser | undefined = isUser ? Object.freeze({ ...named, email: emailOf(token) }) : undefined;
  return {
    kind: binding.subject,
    key: undefined,
    agent: isUser ? applicationOf(token) : Object.freeze(named),
    user,
    issuer,
    profile: profileOf(token.claims, binding),
    principal: principalOf(issuer, subject),
    onlyServer: undefined,
  };
}

/**
 * Returns the application that the token names: `client_id` (RFC 9068 section 2.2), otherwise `azp` (OpenID Connect Core section
 * 2).
 */
function applicationOf({ issuer, claims }: VerifiedToken): CallerAgent | undefined {
  const id = [member(claims, "client_id"), member(claims, "azp")].find(isName);
  return id === undefined ? undefined : Object.freeze({ name: id, issuer, subject: id });
}

/** Returns the email address, or an empty string. A token with an unverified address was refused earlier. */
function emailOf({ claims }: VerifiedToken): string {
  const email = member(claims, "email");
  return isName(email) ? email : "";
}

/**
 * Returns the profile of the first entry whose value the claim carries, otherwise the issuer's default profile. Source:
 * specification document 3, `auth.issuers[]`.
 */
export function profileOf(
  claims: VerifiedToken["claims"],
  { profile, profiles }: Pick<IssuerBinding, "profile" | "profiles">,
): string | undefined {
  if (profiles === undefined) return profile;
  const claim = member(claims, profiles.claim);
  const values = new Set<unknown>(Array.isArray(claim) ? claim : [claim]);
  return profiles.select.find(({ value }) => values.has(value))?.profile ?? profile;
}

/**
 * Encodes all 256 bits of SHA-256 as 43 characters of base64url: longer than any key id, so a token cannot be mistaken for a
 * key. NUL occurs in no issuer name and no subject, so two pairs never collide.
 */
function principalOf(issuer: string, subject: string): string {
  return hash("sha256", `${issuer}\0${subject}`, "base64url");
}

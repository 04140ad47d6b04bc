/**
 * Notes of `gateway check` about data-plane callers, including the defaults that apply where the document is silent.
 * Source: specification document 1 ("gateway check"; Authentication, data plane).
 */
import type { AuthRules, IssuerBinding } from "../../server/auth/index.ts";
import type { Governance } from "../../server/snapshot/index.ts";
import type { Answer } from "./probe.ts";

const note = (words: string): Answer => ({ verdict: "note", subject: "node", words });

export function callerAnswers({ auth, publicUrl }: Governance): readonly Answer[] {
  return [
    note(
      publicUrl === undefined
        ? "does not know its own address: no `public_url`"
        : `hands out ${publicUrl} as its address`,
    ),
    ...(auth === undefined ? [note("admits every request without a credential: no `auth`")] : sourcesOf(auth)),
  ];
}

function sourcesOf({ virtualKeys, issuers, publicUrl }: AuthRules): readonly Answer[] {
  return [
    note(virtualKeys ? "accepts virtual keys" : "refuses virtual keys: no `auth.virtual_keys`"),
    ...issuers.map((binding) => note(tokensOf(binding))),
    ...(publicUrl === undefined || issuers.length === 0
      ? []
      : [note(`accepts tokens of these issuers for ${publicUrl} too, and for an MCP server below it, there alone`)]),
  ];
}

function tokensOf({ issuer, audience, subject, profile, profiles }: IssuerBinding): string {
  const fallback = profile === undefined ? "no profile" : `the profile ${profile}`;
  const given = profiles === undefined ? fallback : `the profile that ${profiles.claim} selects, else ${fallback}`;
  return `accepts tokens of ${issuer} for the audience ${audience}: ${subject}s, with ${given}`;
}

/**
 * Notes of `gateway check` about data-plane callers, including the defaults that apply where the document is silent.
 * Source: specification document 1 ("gateway check"; Authentication, data plane).
 */
import type { AuthRules, IssuerBinding } from "../../server/auth/index.ts";
import type { Governance } from "../../server/snapshot/index.ts";
import type { Answer } from "./probe.ts";

const note = (message: string): Answer => ({ verdict: "note", subject: "node", message });

export function callerAnswers({ auth, publicUrl }: Governance): readonly Answer[] {
  return [
    note(
      publicUrl === undefined
        ? "does not know its own URL, since `public_url` is not set"
        : `names ${publicUrl} as its URL`,
    ),
    ...(auth === undefined
      ? [note("accepts every request without a credential, since `auth` is not set")]
      : sourcesOf(auth)),
  ];
}

function sourcesOf({ virtualKeys, issuers, publicUrl }: AuthRules): readonly Answer[] {
  return [
    note(virtualKeys ? "accepts virtual keys" : "refuses virtual keys, since `auth.virtual_keys` is not true"),
    ...issuers.map((binding) => note(tokensOf(binding))),
    ...(publicUrl === undefined || issuers.length === 0
      ? []
      : [
          note(
            `also accepts tokens of these issuers for the audience ${publicUrl}, and, for each MCP server, for the server's URL below it`,
          ),
        ]),
  ];
}

function tokensOf({ issuer, audience, subject, profile, profiles }: IssuerBinding): string {
  const fallback = profile === undefined ? "no profile" : `the profile ${profile}`;
  const profileText =
    profiles === undefined ? fallback : `the profile that the claim ${profiles.claim} selects, otherwise ${fallback}`;
  return `accepts tokens of ${issuer} for the audience ${audience}, from ${subject}s, with ${profileText}`;
}

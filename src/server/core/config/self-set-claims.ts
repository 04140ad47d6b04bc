/** Token claims that callers can usually set themselves. Spec: document 1, Authentication; OpenID Connect Core, 5.1. */

const SELF_SET_CLAIMS: ReadonlySet<string> = new Set([
  "email",
  "preferred_username",
  "upn",
  "unique_name",
  "name",
  "nickname",
  "given_name",
  "family_name",
  "phone_number",
]);

/** Returns why the claim is refused; `undefined` if the issuer assigns it. `trust` is the key that overrides the refusal. */
export const selfSetClaim = (claim: string, trust: string): string | undefined =>
  SELF_SET_CLAIMS.has(claim)
    ? `callers can usually set \`${claim}\` themselves; \`${trust}: true\` says that here they cannot`
    : undefined;

/** `issuers` and `admin` of the node file: whose tokens are trusted, and who reaches the control plane. Spec: document 2. */

import { choice, flag, list, map, object, required, text, withDefault } from "./schema.ts";

const filled = (description: string) => text(description, { minLength: 1, maxLength: 1024 });

export const issuers = list(
  "Token issuers that this node trusts; the gateway verifies tokens and never mints them.",
  object("An issuer of tokens.", {
    name: required(
      text("Names the issuer in audit records, policies and bindings.", {
        pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$",
        examples: ["corp"],
      }),
    ),
    url: required(text("The `iss` claim, matched exactly; where discovery looks.", { format: "url" })),
    jwks_url: text("Where the signing keys are; left out, discovered with the first token.", {
      format: "url-or-empty",
    }),
    ca_file: filled("PEM bundle for an issuer whose certificate the system does not trust."),
    token_file: filled("File of a bearer token shown when discovery and keys are fetched; read at each fetch."),
    subject_claim: withDefault(filled("Claim that names the caller."), "sub"),
    trust_subject_claim: withDefault(
      flag("Says that callers cannot set `subject_claim` themselves at this issuer."),
      false,
    ),
    name_claim: filled("Claim with a readable name; left out, `preferred_username`, `email`, then the subject."),
  }),
  { maxItems: 64 },
);

const roles = object("Where roles come from.", {
  claim: withDefault(filled("Claim that holds roles, a text or a list."), "groups"),
  map: map(
    "Roles by claim value; where set, a value that is not mentioned grants nothing.",
    list("Roles that the value grants.", filled("A role that the policy knows.")),
  ),
  trust_claim: withDefault(flag("Says that callers cannot set the claim themselves at this issuer."), false),
});

const login = object("Tells the command-line client how to sign in; served without authentication, holds no secret.", {
  client_id: required(filled("Public OAuth client (PKCE, loopback redirect).")),
  scopes: withDefault(list("Scopes that are asked for at a sign-in.", filled("A scope, as the issuer names it.")), [
    "openid",
  ]),
  extra: map("Further authorization parameters, sent as they are.", text("Value of the parameter.")),
  token: withDefault(choice("Which token is presented.", ["id", "access"]), "id"),
});

export const admin = object("The admin API: where it listens, and whose tokens it takes.", {
  listen: text("Address of the admin API; empty serves none. Without an issuer it must be a loopback address.", {
    format: "address-or-empty",
  }),
  local_socket: filled("Path of a Unix socket that serves the same API to every user who may open it."),
  policy_file: filled("Authorization policy (Cedar); required once an issuer is set."),
  issuers: list(
    "Issuers whose tokens the admin API accepts.",
    object("Binding of an issuer to the admin API.", {
      issuer: required(filled("Entry of the top-level `issuers`.")),
      audience: required(filled("What the `aud` claim must carry.")),
      roles,
      login,
    }),
    { maxItems: 64 },
  ),
});

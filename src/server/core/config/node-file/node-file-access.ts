/** `issuers` and `admin` of the node file: issuers whose tokens are trusted, and who may use the admin API. Spec: document 2. */

import { choice, example, flag, list, map, object, required, text, withDefault } from "../schema/schema.ts";

const filled = (description: string, ...examples: readonly string[]) =>
  text(description, { minLength: 1, maxLength: 1024, examples });

export const issuers = list(
  "The node trusts tokens of these issuers. The gateway verifies tokens and never mints them.",
  object(
    "One issuer of tokens.",
    {
      name: required(
        text("The name identifies the issuer in audit records, policies and bindings.", {
          pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$",
          examples: ["corp"],
        }),
      ),
      url: required(
        text("The URL must equal the `iss` claim of tokens. Discovery also starts from it.", {
          format: "url",
          examples: ["https://login.example.com"],
        }),
      ),
      jwks_url: text(
        "The issuer's signing keys are fetched from this URL. If it is empty or absent, the node discovers the URL when the first token arrives.",
        { format: "url-or-empty", examples: ["https://login.example.com/keys"] },
      ),
      ca_file: filled(
        "This PEM file holds the certificates that verify the issuer's TLS certificate, if the system does not trust it.",
        "/etc/gateway/corp-ca.pem",
      ),
      token_file: filled(
        "The node sends the bearer token in this file when it fetches the discovery document and the keys. It reads the file for each fetch.",
        "/var/run/secrets/kubernetes.io/serviceaccount/token",
      ),
      subject_claim: withDefault(
        filled("This claim names the caller in rules, budgets and audit records.", "sub", "oid"),
        "sub",
      ),
      trust_subject_claim: withDefault(
        flag(
          "Set this to true if `subject_claim` is a claim such as `email` that users of some issuers can change, and users of this issuer cannot.",
        ),
        false,
      ),
      name_claim: filled(
        "This claim holds a readable name for audit records. It defaults to `preferred_username`, then `email`, then the subject.",
        "preferred_username",
      ),
    },
    { examples: [{ name: "corp", url: "https://login.example.com" }] },
  ),
  { maxItems: 64 },
);

const roles = object(
  "This section says how the roles of an admin caller follow from a claim of the token.",
  {
    claim: withDefault(
      filled("This claim holds the caller's roles, as a string or a list of strings.", "groups", "roles"),
      "groups",
    ),
    map: example(
      map(
        "The map gives the roles for each value of the claim. If it is set, a value that it does not contain grants nothing.",
        list("The value of the claim grants these roles.", filled("One role that the policy file knows.", "operator")),
      ),
      { "gateway-admins": ["operator"] },
    ),
    trust_claim: withDefault(
      flag(
        "Set this to true if `claim` is a claim such as `email` that users of some issuers can change, and users of this issuer cannot.",
      ),
      false,
    ),
  },
  { examples: [{ claim: "groups", map: { "gateway-admins": ["operator"] } }] },
);

const login = object(
  "This section tells `gateway login` how to sign in. It is served without authentication and contains no secret.",
  {
    client_id: required(
      filled("The id names a public OAuth client that supports PKCE and a redirect to 127.0.0.1.", "gateway-cli"),
    ),
    scopes: withDefault(
      list("The sign-in asks for these scopes.", filled("One scope, as the issuer names it.", "openid", "groups")),
      ["openid"],
    ),
    extra: example(
      map(
        "These parameters are added to the authorization request as they are.",
        text("The value of the parameter.", { examples: ["https://gateway.example.com"] }),
      ),
      { audience: "https://gateway.example.com" },
    ),
    token: withDefault(
      choice(
        "The client presents this token. Choose `access` if the issuer mints access tokens for the admin API as JWTs.",
        ["id", "access"],
      ),
      "id",
    ),
  },
  { examples: [{ client_id: "gateway-cli", scopes: ["openid", "profile", "groups"] }] },
);

export const admin = object(
  "This section configures the admin API: where it listens, and who may use it. Without it the node has no admin API.",
  {
    listen: text(
      "The admin API listens on this address. Without an entry in `issuers` it must be a loopback address. If it is empty or absent, there is no listener.",
      { format: "address-or-empty", examples: ["127.0.0.1:8490"] },
    ),
    local_socket: filled(
      "The admin API is also served on the Unix socket at this path. Everybody who can open the socket may use it, in the role `local`.",
      "/run/gateway/admin.sock",
    ),
    policy_file: filled(
      "This file holds the Cedar policy that decides what a caller may do. It is required if `issuers` has an entry, and is read at the start.",
      "admin.cedar",
    ),
    issuers: list(
      "The admin API accepts tokens of these issuers.",
      object(
        "One issuer whose tokens the admin API accepts.",
        {
          issuer: required(filled("The name of an entry of the top-level `issuers`.", "corp")),
          audience: required(filled("The `aud` claim of a token must contain this value.", "gateway-admin")),
          roles,
          login,
        },
        { examples: [{ issuer: "corp", audience: "gateway-admin", login: { client_id: "gateway-admin" } }] },
      ),
      { maxItems: 64 },
    ),
  },
  {
    examples: [
      {
        listen: ":8490",
        local_socket: "/run/gateway/admin.sock",
        policy_file: "admin.cedar",
        issuers: [{ issuer: "corp", audience: "gateway-admin" }],
      },
    ],
  },
);

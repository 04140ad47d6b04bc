/**
 * `credentials[]`: what the gateway presents upstream, by name. Spec: document 3, `credentials[]`.
 * A credential is of exactly one kind; which kind may be used where is checked in `checks/credentials.ts`.
 */

import {
  choice,
  headerValue,
  list,
  mayBeSecret,
  object,
  orEmpty,
  required,
  secret,
  type TypeOf,
  text,
  withDefault,
} from "../schema.ts";
import { filled, label } from "./terms.ts";

const cloudsig = object(
  "Signs upstream requests instead of sending a fixed value; for model providers only. With no key given, the platform's own chain of credentials is used and kept fresh.",
  {
    access_key_id: orEmpty(
      secret(filled("Access key id, normally an environment reference; goes with `secret_access_key`.")),
    ),
    secret_access_key: orEmpty(
      secret(filled("Secret access key, normally an environment reference; goes with `access_key_id`.")),
    ),
    session_token: orEmpty(secret(filled("Session token of temporary credentials."))),
    service: orEmpty(filled("Name of the signing service; left out, the preset's own service is used.")),
  },
  { together: [["access_key_id", "secret_access_key"]] },
);

const oauth = object(
  "Client credentials grant (RFC 6749 section 4.4); tokens are fetched when first needed, kept, and renewed before they expire. For MCP servers and agents.",
  {
    token_url: required(mayBeSecret(text("Token endpoint of the authorization server.", { format: "url" }))),
    client_id: required(headerValue(filled("Client id at the authorization server."))),
    client_secret: required(secret(filled("Client secret, normally an environment reference."))),
    scopes: list(
      "Scopes to ask for; empty asks for the authorization server's default.",
      filled("A scope, as the authorization server names it."),
      {
        uniqueItems: true,
      },
    ),
  },
);

const tokenExchange = object(
  "Acts as the caller: exchanges the token that the caller presented, at its issuer, for one minted for the upstream. For MCP servers and agents; a caller with a virtual key is refused.",
  {
    issuer: required(
      filled("Entry of the node file's `issuers` whose token endpoint is asked; only tokens it minted are exchanged."),
    ),
    client_id: required(headerValue(filled("Client id that identifies the gateway to the issuer."))),
    client_secret: required(
      secret(filled("Client secret that identifies the gateway to the issuer, normally a `secret` reference.")),
    ),
    audience: filled("The `audience` parameter of RFC 8693; ignored by the `on_behalf_of` grant."),
    resource: filled("The `resource` parameter of RFC 8693."),
    scopes: list(
      "Scopes asked for with the exchange; the `on_behalf_of` grant needs one that names the target.",
      filled("A scope, as the authorization server names it."),
      { uniqueItems: true },
    ),
    grant: withDefault(
      choice(
        "`token_exchange` is RFC 8693; `on_behalf_of` is the jwt-bearer grant with `requested_token_use=on_behalf_of`.",
        ["token_exchange", "on_behalf_of"],
      ),
      "token_exchange",
    ),
    subject_token_type: withDefault(
      choice("Type under which the caller's token is presented (`token_exchange` grant).", [
        "urn:ietf:params:oauth:token-type:access_token",
        "urn:ietf:params:oauth:token-type:jwt",
        "urn:ietf:params:oauth:token-type:id_token",
      ]),
      "urn:ietf:params:oauth:token-type:access_token",
    ),
  },
);

export const CREDENTIAL_KINDS = ["api_key", "cloudsig", "oauth", "token_exchange"] as const;

const credential = object(
  "A named credential of exactly one kind: `api_key`, `cloudsig`, `oauth` or `token_exchange`.",
  {
    name: required(label("What a provider, MCP server or agent says in its `credential` key.")),
    api_key: secret(filled("Fixed value, normally an environment reference.")),
    cloudsig,
    oauth,
    token_exchange: tokenExchange,
  },
  { oneOf: [CREDENTIAL_KINDS] },
);

export const credentials = list("Named credentials for upstreams.", credential);

export type Credential = TypeOf<typeof credential>;

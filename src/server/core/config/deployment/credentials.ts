/**
 * `credentials[]`: credentials that the gateway presents to upstreams, by name. Spec: document 3, `credentials[]`. A credential
 * has exactly one kind; `checks/credentials.ts` checks which kind may be used where.
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
} from "../schema/schema.ts";
import { filled, filledAs, label } from "./terms.ts";

const cloudsig = object(
  "Requests are signed (AWS Signature Version 4) instead of carrying a fixed value. Only model providers can use it. Without keys here, the gateway uses the platform's own chain of credentials and keeps them fresh.",
  {
    access_key_id: orEmpty(
      secret(filled("The id of the access key. Write it as a reference, together with `secret_access_key`.")),
    ),
    secret_access_key: orEmpty(
      secret(filled("The secret access key. Write it as a reference, together with `access_key_id`.")),
    ),
    session_token: orEmpty(secret(filled("The session token that belongs to temporary credentials."))),
    service: orEmpty(
      filledAs("The name of the signing service. It defaults to the service of the provider's preset.", "bedrock"),
    ),
  },
  {
    together: [["access_key_id", "secret_access_key"]],
    examples: [{ access_key_id: "${secret:AWS_ACCESS_KEY_ID}", secret_access_key: "${secret:AWS_SECRET_ACCESS_KEY}" }],
  },
);

const oauth = object(
  "The gateway obtains a token with the client credentials grant (RFC 6749 section 4.4). It fetches the token when it is first needed and renews it before it expires. Only MCP servers and agents can use it.",
  {
    token_url: required(
      mayBeSecret(
        text("The URL of the authorization server's token endpoint.", {
          format: "url",
          examples: ["https://login.example.com/token"],
        }),
      ),
    ),
    client_id: required(
      headerValue(filledAs("The id that identifies the gateway to the authorization server.", "gateway")),
    ),
    client_secret: required(
      secret(filled("The secret that authenticates the gateway to the authorization server. Write it as a reference.")),
    ),
    scopes: list(
      "The token is requested with these scopes. If the list is empty or absent, the authorization server's default applies.",
      filledAs("One scope, as the authorization server names it.", "tools.read"),
      {
        uniqueItems: true,
      },
    ),
  },
  {
    examples: [
      {
        token_url: "https://login.example.com/token",
        client_id: "gateway",
        client_secret: "${secret:TOOLS_CLIENT_SECRET}",
      },
    ],
  },
);

const tokenExchange = object(
  "The gateway acts as the caller: it exchanges the caller's token, at its issuer, for a token for the upstream. Only MCP servers and agents can use it, and a caller with a virtual key is refused.",
  {
    issuer: required(
      filledAs(
        "The name of an entry of the node file's `issuers`. The exchange takes place at its token endpoint, and only for tokens that it minted.",
        "corp",
      ),
    ),
    client_id: required(headerValue(filledAs("The id that identifies the gateway to the issuer.", "gateway"))),
    client_secret: required(
      secret(filled("The secret that authenticates the gateway to the issuer. Write it as a reference.")),
    ),
    audience: filledAs(
      "The `audience` parameter of RFC 8693. The `on_behalf_of` grant ignores it.",
      "https://tools.example.com",
    ),
    resource: filledAs("The `resource` parameter of RFC 8693.", "https://tools.example.com/mcp"),
    scopes: list(
      "The token is requested with these scopes. The `on_behalf_of` grant needs one that names the target.",
      filledAs("One scope, as the authorization server names it.", "api://tools/.default"),
      { uniqueItems: true },
    ),
    grant: withDefault(
      choice(
        "`token_exchange` is the grant of RFC 8693. `on_behalf_of` is the jwt-bearer grant with `requested_token_use=on_behalf_of`.",
        ["token_exchange", "on_behalf_of"],
      ),
      "token_exchange",
    ),
    subject_token_type: withDefault(
      choice("The `token_exchange` grant presents the caller's token as a token of this type.", [
        "urn:ietf:params:oauth:token-type:access_token",
        "urn:ietf:params:oauth:token-type:jwt",
        "urn:ietf:params:oauth:token-type:id_token",
      ]),
      "urn:ietf:params:oauth:token-type:access_token",
    ),
  },
  {
    examples: [
      {
        issuer: "corp",
        client_id: "gateway",
        client_secret: "${secret:EXCHANGE_SECRET}",
        audience: "https://tools.example.com",
      },
    ],
  },
);

const CREDENTIAL_KINDS = ["api_key", "cloudsig", "oauth", "token_exchange"] as const;

const credential = object(
  "One named credential of exactly one kind: `api_key`, `cloudsig`, `oauth` or `token_exchange`.",
  {
    name: required(label("The `credential` key of a provider, MCP server or agent refers to this name.", "tools")),
    api_key: secret(filled("The credential is this fixed value. Write it as a reference.")),
    cloudsig,
    oauth,
    token_exchange: tokenExchange,
  },
  { oneOf: [CREDENTIAL_KINDS], examples: [{ name: "tools", api_key: "${secret:TOOLS_API_KEY}" }] },
);

export const credentials = list("The gateway presents these credentials to upstreams that name them.", credential);

export type Credential = TypeOf<typeof credential>;

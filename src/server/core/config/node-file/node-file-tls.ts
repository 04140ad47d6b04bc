/** `tls` of the node file: certificate of the public listener, by ACME or from files. Spec: document 2, `tls`. */

import {
  choice,
  headerValue,
  list,
  mayBeSecret,
  object,
  required,
  secret,
  type TypeOf,
  text,
} from "../schema/schema.ts";

const filled = (description: string, ...examples: readonly string[]) =>
  text(description, { minLength: 1, maxLength: 4096, ...(examples.length > 0 && { examples }) });

const dns = object(
  "This section solves ACME's DNS-01 challenge through a DNS provider instead of HTTP-01. A wildcard domain needs it.",
  {
    provider: required(
      choice(
        "`hosted_api` uses the API of the hosted DNS provider. `rfc2136` sends dynamic updates that are signed with TSIG.",
        ["hosted_api", "rfc2136"],
      ),
    ),
    api_token: secret(filled("This token of `hosted_api` may write the records of the zone.")),
    zone_token: secret(
      filled(
        "This token of `hosted_api` may read the list of zones. It is needed if `api_token` is limited to one zone.",
      ),
    ),
    server: text("Updates of `rfc2136` are sent to this name server, as `host:port`.", {
      format: "address",
      examples: ["ns1.example.com:53"],
    }),
    key_name: headerValue(filled("The name of the TSIG key of `rfc2136`.", "acme-update")),
    key_alg: filled("The algorithm of the TSIG key of `rfc2136`.", "hmac-sha256"),
    key: secret(filled("The TSIG key of `rfc2136`, in base64.")),
  },
  { examples: [{ provider: "hosted_api", api_token: "${DNS_API_TOKEN}" }] },
);

const eab = object(
  "This section binds the ACME account to an account at the authority (RFC 8555 section 7.3.4). It is used once, when the ACME account is created.",
  {
    key_id: required(
      mayBeSecret(
        text("The authority issues this key identifier.", {
          pattern: "^[!-~]+$",
          maxLength: 1024,
          examples: ["key-1"],
        }),
      ),
    ),
    mac_key: required(
      secret(
        text("The authority issues this MAC key. It is written in base64 or base64url.", {
          pattern: "^[A-Za-z0-9+/_-]+={0,2}$",
        }),
      ),
    ),
  },
);

const ACME_KEYS = ["domains", "email", "ca", "trusted_roots", "dns", "eab"] as const;

const CERTIFICATE_KEYS = ["cert_file", "key_file"] as const;

export const tls = object(
  "This section gives the data plane its certificate. `domains` obtains one by ACME; `cert_file` and `key_file` name files instead.",
  {
    domains: list(
      "The node obtains and renews a certificate for these domains.",
      filled("One domain name. A wildcard (`*.`) needs `dns`.", "gateway.example.com"),
      {
        minItems: 1,
        maxItems: 100,
        uniqueItems: true,
      },
    ),
    email: filled(
      "The address is the contact of the ACME account. Another address creates another account.",
      "ops@example.com",
    ),
    ca: text(
      "The URL of the authority's ACME directory. If it is empty or absent, it is the production directory of Let's Encrypt.",
      { format: "url-or-empty", examples: ["https://acme.internal.example.com/directory"] },
    ),
    trusted_roots: mayBeSecret(
      text("These certificates verify a private ACME authority. The key holds the PEM text itself and not a path.", {
        minLength: 1,
        examples: ["${ACME_ROOTS}"],
      }),
    ),
    dns,
    eab,
    cert_file: filled(
      "This PEM file holds the certificate chain, the server's own certificate first. The node reads it again within 10 seconds of a change.",
      "/etc/gateway/tls/tls.crt",
    ),
    key_file: filled(
      "This PEM file holds the private key of the certificate, without a passphrase.",
      "/etc/gateway/tls/tls.key",
    ),
  },
  {
    oneOf: [["domains", "cert_file"]],
    together: [CERTIFICATE_KEYS],
    exclusive: ACME_KEYS.filter((key) => key !== "domains").map((key) => [key, "cert_file"]),
    examples: [
      { domains: ["gateway.example.com"], email: "ops@example.com" },
      { cert_file: "/etc/gateway/tls/tls.crt", key_file: "/etc/gateway/tls/tls.key" },
    ],
  },
);

export type TlsSettings = TypeOf<typeof tls>;

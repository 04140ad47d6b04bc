/** `tls` of the node file: certificate of the front door, by ACME or from files. Spec: document 2, `tls`. */

import { choice, headerValue, list, mayBeSecret, object, required, secret, type TypeOf, text } from "./schema.ts";

const filled = (description: string) => text(description, { minLength: 1, maxLength: 4096 });

const dns = object("Solves DNS-01 through a DNS provider, as wildcards need, in place of HTTP-01.", {
  provider: required(
    choice("`hosted_api` is the hosted provider's API, `rfc2136` dynamic updates signed by TSIG.", [
      "hosted_api",
      "rfc2136",
    ]),
  ),
  api_token: secret(filled("`hosted_api`: token that may write the zone's records.")),
  zone_token: secret(filled("`hosted_api`: token that may read zones, where `api_token` is confined to one.")),
  server: text("`rfc2136`: the name server, `host:port`.", { format: "address" }),
  key_name: headerValue(filled("`rfc2136`: name of the TSIG key.")),
  key_alg: filled("`rfc2136`: algorithm of the TSIG key, for example `hmac-sha256`."),
  key: secret(filled("`rfc2136`: the TSIG key in base64.")),
});

const eab = object("External account binding (RFC 8555 section 7.3.4), used once, when the account is created.", {
  key_id: required(
    mayBeSecret(text("Key identifier issued by the authority.", { pattern: "^[!-~]+$", maxLength: 1024 })),
  ),
  mac_key: required(
    secret(text("MAC key of the authority in base64 or base64url.", { pattern: "^[A-Za-z0-9+/_-]+={0,2}$" })),
  ),
});

const ACME_KEYS = ["domains", "email", "ca", "trusted_roots", "dns", "eab"] as const;

const CERTIFICATE_KEYS = ["cert_file", "key_file"] as const;

export const tls = object(
  "Certificate of the front door: `domains` for ACME, or `cert_file` and `key_file`.",
  {
    domains: list(
      "Domains for which a certificate is obtained and renewed.",
      filled("A domain name, or `*.` before one with DNS-01."),
      {
        minItems: 1,
        maxItems: 100,
        uniqueItems: true,
      },
    ),
    email: filled("Contact of the ACME account; another address is another account."),
    ca: text("ACME directory URL; empty is the public production directory.", { format: "url-or-empty" }),
    trusted_roots: mayBeSecret(text("PEM bundle, inline, for verifying a private ACME authority.", { minLength: 1 })),
    dns,
    eab,
    cert_file: filled(
      "File of the certificate chain in PEM: the server's own, then those that issued it. A change is taken up within 10 seconds.",
    ),
    key_file: filled("File of the private key in PEM, without a passphrase."),
  },
  {
    oneOf: [["domains", "cert_file"]],
    together: [CERTIFICATE_KEYS],
    exclusive: ACME_KEYS.filter((key) => key !== "domains").map((key) => [key, "cert_file"]),
  },
);

export type TlsSettings = TypeOf<typeof tls>;

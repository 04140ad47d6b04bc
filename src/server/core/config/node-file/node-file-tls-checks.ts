/** Checks of `tls` beyond its schema. Spec: document 2, `tls`; front-door reference, sections 2, 4 and 5. */

import { X509Certificate } from "node:crypto";
import { parseAddress } from "../../../../base/index.ts";
import type { Path, Problem, ProblemAt } from "../problem.ts";
import { type Check, isLoopbackHost } from "./node-file-rule.ts";
import type { TlsSettings } from "./node-file-tls.ts";

/** Returns what is wrong with a value; `undefined` if it is valid. */
type Why = (value: string) => string | undefined;

export const checkTls: Check = ({ tls, cluster }, problem) => {
  if (tls === undefined) return [];
  const at = (key: "email" | "ca" | "trusted_roots" | "cert_file" | "key_file", reason: Why): Problem | undefined => {
    const value = tls[key] ?? "";
    const message = value === "" ? undefined : reason(value);
    return message === undefined ? undefined : problem(["tls", key], message);
  };
  return [
    tls.domains !== undefined && cluster.secret === undefined
      ? problem(
          ["tls", "domains"],
          "needs `cluster.secret`, since the private keys of certificates are sealed with a key that is derived from it",
        )
      : undefined,
    ...checkDomains(tls, problem),
    at("email", whyNoEmail),
    at("ca", whyNoDirectory),
    at("trusted_roots", whyNoRoots),
    ...checkDns(tls, problem),
    at("cert_file", whyNoPath),
    at("key_file", whyNoPath),
  ];
};

/** Matches a label of a host name: letters, digits and hyphens (RFC 5890, LDH labels), as in certificates. */
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const MAX_NAME_LENGTH = 253;
const WILDCARD = "*.";

function checkDomains({ domains = [], dns }: TlsSettings, problem: ProblemAt): readonly (Problem | undefined)[] {
  return domains.map((domain, at) => {
    const path: Path = ["tls", "domains", at];
    const isWildcard = domain.startsWith(WILDCARD);
    const wrong = whyNoDomain(isWildcard ? domain.slice(WILDCARD.length) : domain);
    if (wrong !== undefined) return problem(path, wrong);
    if (isWildcard) {
      return dns === undefined ? problem(path, "a wildcard needs `tls.dns`, since HTTP-01 cannot prove it") : undefined;
    }
    const covering = `${WILDCARD}${domain.slice(domain.indexOf(".") + 1)}`;
    return domain.includes(".") && domains.includes(covering)
      ? problem(path, `is covered by \`${covering}\` already; authorities refuse both in one order`)
      : undefined;
  });
}

function whyNoDomain(name: string): string | undefined {
  if (/^\d+(\.\d+){3}$|:/.test(name)) return "is an address or URL; write a domain such as `gateway.example.com`";
  if (name.endsWith(".")) return "ends in a dot; leave it out";
  if (/[A-Z]/.test(name)) return "has capital letters; write it in lower case";
  if (/[^ -~]/.test(name)) return "is not ASCII; write it as it is in the DNS (`xn--…`)";
  return name.length <= MAX_NAME_LENGTH && name.split(".").every((label) => LABEL.test(label))
    ? undefined
    : "is not a domain such as `gateway.example.com`, or `*.example.com`";
}

function whyNoEmail(email: string): string | undefined {
  if (email.startsWith("mailto:")) return "must not begin with `mailto:`";
  return /^[^@\s,]+@[^@\s,]+$/.test(email) ? undefined : "is not one email address such as `ops@example.com`";
}

/** Returns why the directory URL is refused: it must use HTTPS (RFC 8555 section 6.1), except on a loopback host. */
function whyNoDirectory(url: string): string | undefined {
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || isLoopbackHost(hostname.replace(/^\[|\]$/g, ""))
    ? undefined
    : "must be an `https://` URL; ACME requires TLS";
}

function whyNoRoots(pem: string): string | undefined {
  const texts = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  if (texts.length === 0) return "contains no certificate; write the PEM text here, not the path of a file";
  try {
    for (const text of texts) new X509Certificate(text);
    return undefined;
  } catch {
    return "contains text that is not a PEM certificate";
  }
}

const whyNoPath = (path: string): string | undefined =>
  path.includes("-----BEGIN") ? "must be the path of a file, not the PEM text itself" : undefined;

const DNS_KEYS = {
  hosted_api: { needed: ["api_token"], allowed: ["api_token", "zone_token"] },
  rfc2136: { needed: ["server", "key_name", "key_alg", "key"], allowed: ["server", "key_name", "key_alg", "key"] },
} as const;

/** Algorithms of RFC 8945 section 6 except MD5, with or without the dot at the end of a domain name. */
const TSIG_ALGORITHM = /^hmac-sha(?:1|224|256|384|512)\.?$/i;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/;
/** Characters allowed in a header. */
const TOKEN = /^[!-~]+$/;

function checkDns({ dns }: TlsSettings, problem: ProblemAt): readonly (Problem | undefined)[] {
  if (dns === undefined) return [];
  const { needed, allowed }: { readonly needed: readonly string[]; readonly allowed: readonly string[] } =
    DNS_KEYS[dns.provider];
  const at = (key: string, isRight: boolean, message: string): Problem | undefined =>
    isRight ? undefined : problem(["tls", "dns", key], message);
  const noToken = "contains a blank or a line break, which are not allowed in a token";
  return [
    ...needed
      .filter((key) => !Object.hasOwn(dns, key))
      .map((key) => problem(["tls", "dns"], `provider \`${dns.provider}\` needs \`${key}\``)),
    ...Object.keys(dns)
      .filter((key) => key !== "provider" && !allowed.includes(key))
      .map((key) => problem(["tls", "dns", key], `is not a key of provider \`${dns.provider}\``)),
    at("api_token", TOKEN.test(dns.api_token ?? "-"), noToken),
    at("zone_token", TOKEN.test(dns.zone_token ?? "-"), noToken),
    at("server", dns.server === undefined || !!parseAddress(dns.server)?.host, "needs a host before its port"),
    at(
      "key_alg",
      TSIG_ALGORITHM.test(dns.key_alg ?? "hmac-sha256"),
      "is not one of `hmac-sha256`, `hmac-sha512`, `hmac-sha384`, `hmac-sha224` and `hmac-sha1`",
    ),
    at("key", BASE64.test(dns.key ?? ""), "is not base64"),
  ];
}

/**
 * Checks a certificate and its key before a server presents them. Each fault is a sentence that says what to do. OpenSSL
 * accepts some faults silently (an empty file, a chain in the wrong order) and reports the rest only as codes.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import type { Certificate } from "./types.ts";

export type CertificateRead =
  | {
      readonly kind: "certificate";
      readonly certificate: Certificate;
      /** Set if the certificate is expired or not yet valid; it is served only if there is no better one. */
      readonly validityFault: ValidityFault | undefined;
      readonly warnings: readonly string[];
    }
  /** `reason`: short, from a fixed set. `of`: the file at fault. Contains nothing of the key. */
  | {
      readonly kind: "problem";
      readonly reason: CertificateFault;
      readonly of: "certificate" | "key";
      readonly message: string;
    };

export interface ValidityFault {
  readonly reason: "expired" | "not_yet_valid";
  readonly message: string;
}

export type CertificateFault =
  | "empty"
  | "unreadable_certificate"
  | "unreadable_key"
  | "encrypted_key"
  | "wrong_key"
  | "weak_key"
  | "not_for_servers"
  | "chain_order"
  | "unusable";

/** Maximum certificates of a chain, more than any authority sends. */
const MAX_CERTIFICATES = 16;

const CERTIFICATE = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----[^-]*-----END (?:X509 |TRUSTED )?CERTIFICATE-----/g;
const BEGIN_CERTIFICATE = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/;

/** Minimum length of an RSA key. OpenSSL's default security level refuses shorter ones. */
const MIN_RSA_BITS = 2048;

/** Id of `serverAuth` (RFC 5280 section 4.2.1.12). */
const SERVER_AUTH = "1.3.6.1.5.5.7.3.1";
const ANY_USE = "2.5.29.37.0";

/** Checks a chain and its key. `now`: milliseconds since 1970. */
export function readCertificate(chain: string, key: string, now: number): CertificateRead {
  const parts = splitChain(chain);
  if (parts.kind === "problem") return parts;
  const { certificates } = parts;
  const leaf = certificates[0] as X509Certificate;
  const secret = readKey(key);
  if (secret.kind === "problem") return secret;
  if (!leaf.checkPrivateKey(secret.key)) return wrongKey(certificates, secret.key);
  if (secret.key.asymmetricKeyType === "rsa" && (secret.key.asymmetricKeyDetails?.modulusLength ?? 0) < MIN_RSA_BITS) {
    return problem("weak_key", `the key is RSA of less than ${MIN_RSA_BITS} bits, which clients refuse`, "key");
  }
  const order = chainOrderFault(certificates);
  if (order !== undefined) return problem("chain_order", order);
  const notBefore = Date.parse(leaf.validFrom);
  const notAfter = Date.parse(leaf.validTo);
  const uses = leaf.keyUsage as readonly string[] | undefined;
  if (uses !== undefined && !uses.includes(SERVER_AUTH) && !uses.includes(ANY_USE)) {
    return problem("not_for_servers", "it is not valid for servers (no extended key usage `serverAuth`)");
  }
  const usable = whyUnusable(chain, key);
  if (usable !== undefined) return problem("unusable", usable);
  const names = namesOf(leaf);
  return {
    kind: "certificate",
    certificate: { chain, key, names, issuer: issuerOf(leaf), serial: leaf.serialNumber, notBefore, notAfter },
    validityFault: validityFaultAt(now, notBefore, notAfter),
    warnings: warningsOf(certificates, names),
  };
}

/** Returns why a certificate is not valid at `now`, or `undefined`. Times are milliseconds since 1970. */
export function validityFaultAt(now: number, notBefore: number, notAfter: number): ValidityFault | undefined {
  if (now >= notAfter) return { reason: "expired", message: `it expired on ${formatMinute(notAfter)}` };
  if (now >= notBefore) return undefined;
  const message = `it is valid from ${formatMinute(notBefore)}; is the clock of this machine right?`;
  return { reason: "not_yet_valid", message };
}

type ChainParts = { readonly kind: "parts"; readonly certificates: readonly X509Certificate[] } | Problem;
type Problem = Extract<CertificateRead, { kind: "problem" }>;

const problem = (reason: CertificateFault, message: string, of: Problem["of"] = "certificate"): Problem => ({
  kind: "problem",
  reason,
  of,
  message,
});

function splitChain(chain: string): ChainParts {
  if (chain.trim() === "") return problem("empty", "the certificate is empty");
  const texts = chain.match(CERTIFICATE) ?? [];
  const begun = chain.split(BEGIN_CERTIFICATE).length - 1;
  if (begun === 0) {
    return problem(
      "unreadable_certificate",
      /-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(chain)
        ? "the certificate is a private key; are the two files swapped?"
        : "the certificate is not PEM: there is no line `-----BEGIN CERTIFICATE-----`",
    );
  }
  if (texts.length < begun) return problem("unreadable_certificate", "the certificate is incomplete");
  if (texts.length > MAX_CERTIFICATES) {
    return problem("unreadable_certificate", `the chain has more than ${MAX_CERTIFICATES} certificates`);
  }
  const certificates: X509Certificate[] = [];
  for (const [at, text] of texts.entries()) {
    try {
      certificates.push(new X509Certificate(text));
    } catch {
      const which = texts.length === 1 ? "the certificate" : `certificate ${at + 1} of ${texts.length}`;
      return problem("unreadable_certificate", `${which} cannot be read: its PEM does not contain a certificate`);
    }
  }
  return { kind: "parts", certificates };
}

function readKey(text: string): { readonly kind: "key"; readonly key: KeyObject } | Problem {
  if (text.trim() === "") return problem("empty", "the key is empty", "key");
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(text)) {
    return problem(
      "encrypted_key",
      "the key is encrypted; write it without a passphrase (openssl pkey -in KEY)",
      "key",
    );
  }
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) {
    return problem(
      "unreadable_key",
      BEGIN_CERTIFICATE.test(text)
        ? "the key is a certificate; are the two files swapped?"
        : "the key is not PEM: there is no line `-----BEGIN PRIVATE KEY-----`",
      "key",
    );
  }
  if (!/-----END [A-Z ]*PRIVATE KEY-----/.test(text)) {
    return problem("unreadable_key", "the key is incomplete", "key");
  }
  try {
    return { kind: "key", key: createPrivateKey(text) };
  } catch {
    return problem("unreadable_key", "the key cannot be read: its PEM does not contain a private key", "key");
  }
}

/** Names the certificate that the key belongs to, if there is one. */
function wrongKey(certificates: readonly X509Certificate[], key: KeyObject): Problem {
  const at = certificates.findIndex((it) => it.checkPrivateKey(key));
  return at > 0
    ? problem(
        "chain_order",
        `the server's own certificate must come first in the chain; the key belongs to certificate ${at + 1}`,
      )
    : problem("wrong_key", "the key does not belong to the certificate", "key");
}

/** Describes a chain in the wrong order: each certificate must have been issued by the next. */
function chainOrderFault(certificates: readonly X509Certificate[]): string | undefined {
  for (const [at, certificate] of certificates.entries()) {
    const next = certificates[at + 1];
    if (next === undefined || (certificate.checkIssued(next) && certificate.verify(next.publicKey))) continue;
    const issuer = certificates.findIndex((other) => other !== certificate && certificate.checkIssued(other));
    const found = issuer < 0 ? "its issuer is not in the chain" : `it was issued by certificate ${issuer + 1}`;
    return `certificate ${at + 1} of the chain must be followed by the one that issued it; ${found}`;
  }
  return undefined;
}

/** Returns OpenSSL's message, which reveals nothing of the key. */
function whyUnusable(chain: string, key: string): string | undefined {
  try {
    createSecureContext({ cert: chain, key });
    return undefined;
  } catch (error) {
    const { code = "unknown error" } = error as NodeJS.ErrnoException;
    return `OpenSSL cannot use it (${code})`;
  }
}

function warningsOf(certificates: readonly X509Certificate[], names: readonly string[]): readonly string[] {
  const [leaf] = certificates;
  const last = certificates.at(-1);
  return [
    ...(names.length === 0 ? ["it has no subject alternative name, so clients reject it"] : []),
    ...(certificates.length === 1 && !isRoot(leaf)
      ? ["the chain contains only the server's certificate; clients that do not know its issuer cannot verify it"]
      : []),
    ...(certificates.length > 1 && isRoot(last)
      ? ["the chain ends in a root certificate, which clients do not need"]
      : []),
  ];
}

const isRoot = (it: X509Certificate | undefined): boolean => it?.checkIssued(it) === true;

/** Parses `subjectAltName` as Node.js writes it: `DNS:a.example, IP Address:192.0.2.1`, with misleading values in quotes. */
function namesOf({ subjectAltName = "" }: X509Certificate): readonly string[] {
  return [...subjectAltName.matchAll(/(?:^|, )(?:DNS|IP Address):(?:"((?:[^"\\]|\\.)*)"|([^,]*))/g)].map(
    ([, quoted, plain]) => quoted ?? plain ?? "",
  );
}

function issuerOf({ issuer }: X509Certificate): string {
  return /^CN=(.*)$/m.exec(issuer)?.[1] ?? issuer.split("\n").join(", ");
}

function formatMinute(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

import assert from "node:assert/strict";
import { createPrivateKey } from "node:crypto";
import { test } from "node:test";
import { type CertificateRead, readCertificate } from "../../../src/server/tls/index.ts";
import { testAuthority } from "./support/authority.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const now = Date.now();
const authority = await testAuthority(now);
const pair = await authority.issue({ names: ["gateway.example.com", "*.example.com", "192.0.2.1"] });
const alone = await authority.issueLeaf();
const other = await authority.issue();

const faultOf = (read: CertificateRead): string =>
  read.kind === "problem" ? `${read.of} ${read.reason}: ${read.message}` : "none";

test("a chain and its key are read with names, issuer, serial and times", () => {
  const read = readCertificate(pair.chain, pair.key, now);
  assert.ok(read.kind === "certificate");
  const { certificate, validityFault, warnings } = read;
  assert.deepEqual(certificate.names, ["gateway.example.com", "*.example.com", "192.0.2.1"]);
  assert.equal(certificate.issuer, "test intermediate");
  assert.match(certificate.serial, /^[0-9A-F]{32}$/);
  assert.ok(Math.abs(certificate.notAfter - (now + 90 * DAY_MS)) < 1_000);
  assert.equal(validityFault, undefined);
  assert.deepEqual(warnings, []);
});

const { chain, key } = pair;
const [leaf = "", middle = ""] = chain.split(/(?<=-----END CERTIFICATE-----\n)/);
const encrypted = createPrivateKey(key).export({
  format: "pem",
  type: "pkcs8",
  cipher: "aes-256-cbc",
  passphrase: "x",
});
const weak = await authority.issue({ rsaBits: 1024 });
const client = await authority.issue({ uses: ["1.3.6.1.5.5.7.3.2"] });

const FAULTS: readonly (readonly [string, string, string, RegExp])[] = [
  ["an empty certificate", " \n", key, /^certificate empty: the certificate is empty$/],
  ["an empty key", chain, "", /^key empty: the key is empty$/],
  ["half a certificate", chain.slice(0, 300), key, /unreadable_certificate: the certificate is incomplete$/],
  ["half a chain", chain.slice(0, -100), key, /unreadable_certificate: the certificate is incomplete$/],
  ["half a key", chain, key.slice(0, 100), /^key unreadable_key: the key is incomplete$/],
  ["the two files exchanged", key, chain, /the certificate is a private key; are the two files swapped\?$/],
  ["a certificate for a key", chain, chain, /^key unreadable_key: the key is a certificate; are the two files/],
  ["DER", "\u0030\u0082\u0001", key, /the certificate is not PEM: there is no line `-----BEGIN CERTIFICATE-----`$/],
  ["garbage in PEM", leaf.replace(/^[A-Za-z0-9+/]{64}$/m, "A".repeat(64)), key, /certificate cannot be read: its PEM/],
  [
    "garbage inside a chain",
    leaf + middle.replace(/^[A-Za-z0-9+/]{64}$/m, "A".repeat(64)),
    key,
    /certificate 2 of 2 cannot be read/,
  ],
  ["the key of another certificate", chain, other.key, /^key wrong_key: the key does not belong to the certificate$/],
  [
    "an encrypted key",
    chain,
    encrypted.toString(),
    /^key encrypted_key: the key is encrypted; write it without a passphrase \(openssl pkey -in KEY\)$/,
  ],
  [
    "the intermediate first",
    middle + leaf,
    key,
    /chain_order: the server's own certificate must come first in the chain; the key belongs to certificate 2$/,
  ],
  [
    "the root between",
    leaf + authority.root + middle,
    key,
    /chain_order: certificate 1 of the chain must be followed by the one that issued it; it was issued by certificate 3$/,
  ],
  [
    "the intermediate of another certificate",
    leaf + (await testAuthority()).intermediate,
    key,
    /chain_order: certificate 1 of the chain must be followed by the one that issued it; it was issued by certificate 2$/,
  ],
  ["an unrelated certificate after it", leaf + other.chain, key, /chain_order: .*; it was issued by certificate 3$/],
  ["a short RSA key", weak.chain, weak.key, /^key weak_key: the key is RSA of less than 2048 bits/],
  ["a client's certificate", client.chain, client.key, /not_for_servers: it is not valid for servers/],
];

for (const [what, certificate, secret, expected] of FAULTS) {
  test(`${what} is refused with a sentence`, () => {
    const fault = faultOf(readCertificate(certificate, secret, now));
    assert.match(fault, expected);
    for (const line of secret.split("\n").filter((it) => it.length === 64)) assert.ok(!fault.includes(line));
  });
}

test("a certificate outside its validity period is readable and reported as such", () => {
  const late = readCertificate(chain, key, now + 91 * DAY_MS);
  assert.ok(late.kind === "certificate");
  assert.equal(late.validityFault?.reason, "expired");
  assert.match(late.validityFault?.message ?? "", /^it expired on \d{4}-\d\d-\d\d \d\d:\d\d UTC$/);
  const early = readCertificate(chain, key, now - 2 * DAY_MS);
  assert.ok(early.kind === "certificate");
  assert.match(early.validityFault?.message ?? "", /^it is valid from .* UTC; is the clock of this machine right\?$/);
});

test("problems that clients will have are warnings", () => {
  const warningsOf = (text: string, secret: string) => {
    const read = readCertificate(text, secret, now);
    return read.kind === "certificate" ? read.warnings : [];
  };
  assert.match(warningsOf(alone.chain, alone.key).join(), /the chain contains only the server's certificate/);
  assert.match(
    warningsOf(chain + authority.root, key).join(),
    /the chain ends in a root certificate, which clients do not need/,
  );
});

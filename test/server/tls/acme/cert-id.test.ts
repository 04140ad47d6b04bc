/** Names of certificates in renewal information (RFC 9773 section 4.1). */
import assert from "node:assert/strict";
import { webcrypto } from "node:crypto";
import { test } from "node:test";
import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import { certIdOf } from "../../../../src/server/tls/acme/cert-id.ts";

const P256 = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** PEM. `keyId` is hex; `undefined` omits the extension. */
async function certificate(serialNumber: string, keyId: string | undefined): Promise<string> {
  x509.cryptoProvider.set(webcrypto as never);
  const made = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber,
    name: "CN=example",
    signingAlgorithm: P256,
    keys: await webcrypto.subtle.generateKey(P256, true, ["sign", "verify"]),
    extensions: [
      new x509.BasicConstraintsExtension(false),
      ...(keyId === undefined ? [] : [new x509.AuthorityKeyIdentifierExtension(keyId)]),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
    ],
  });
  return made.toString("pem");
}

const RFC_KEY_ID = "69885b6b87464041e1b37b847ba0ae2cde01c8d4";

const VECTORS = [
  // RFC 9773 section 4.1: a leading zero before a first byte of 0x80 or more is part of it.
  ["0087654321", RFC_KEY_ID, "aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE"],
  // Value from a real authority.
  ["37af6fe7bf230143", "e26abf9cc0296d4f5d3bb0ae7a955b3ee49dfb5c", "4mq_nMApbU9dO7CuepVbPuSd-1w.N69v578jAUM"],
  ["01", "ff", "_w.AQ"],
] as const;

test("the id is the issuer's key id and the serial number as in DER, in base64url", async () => {
  for (const [serial, keyId, expected] of VECTORS) assert.equal(certIdOf(await certificate(serial, keyId)), expected);
});

test("a certificate without its issuer's key id has no id", async () => {
  assert.equal(certIdOf(await certificate("01", undefined)), undefined);
});

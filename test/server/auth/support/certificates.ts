/** A test authority, and its certificate for 127.0.0.1. */

import "reflect-metadata";
import { randomUUID, webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";

x509.cryptoProvider.set(webcrypto);

const ECDSA = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

interface TestCertificates {
  /** PEM. */
  readonly authority: string;
  readonly server: { readonly key: string; readonly cert: string };
}

export async function testCertificates(): Promise<TestCertificates> {
  const [ca, leaf] = await Promise.all([makeKeys(), makeKeys()]);
  const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity,
    serialNumber: "01",
    // The name is unique, so that several authorities can be in one bundle.
    name: `CN=test authority ${randomUUID()}`,
    signingAlgorithm: ECDSA,
    keys: ca,
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  });
  const server = await x509.X509CertificateGenerator.create({
    ...validity,
    serialNumber: "02",
    subject: "CN=test issuer",
    issuer: authority.subject,
    signingAlgorithm: ECDSA,
    publicKey: leaf.publicKey,
    signingKey: ca.privateKey,
    extensions: [new x509.SubjectAlternativeNameExtension([{ type: "ip", value: "127.0.0.1" }])],
  });
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", leaf.privateKey)).toString("base64");
  const key = `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----\n`;
  return { authority: authority.toString("pem"), server: { key, cert: server.toString("pem") } };
}

function makeKeys() {
  return webcrypto.subtle.generateKey(ECDSA, true, ["sign", "verify"]);
}

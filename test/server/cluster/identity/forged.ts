/** Certificates that only a holder of the secret could make, and that belong to no peer. */

import "reflect-metadata";
import { createPublicKey, type KeyObject, randomBytes, webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";
import { generatePrivateKey } from "../../../../src/base/index.ts";
import type { ClusterKeys } from "../../../../src/server/cluster/identity/index.ts";

x509.cryptoProvider.set(webcrypto);

const ED25519 = { name: "Ed25519" };

interface Forgery {
  readonly names: readonly { readonly type: "url" | "dns"; readonly value: string }[];
  readonly isAuthority?: boolean;
}

export async function forge(keys: ClusterKeys, { names, isAuthority = false }: Forgery) {
  const privateKey = generatePrivateKey("ed25519");
  const made = await x509.X509CertificateGenerator.create({
    serialNumber: `01${randomBytes(8).toString("hex")}`,
    subject: "CN=forged",
    issuer: `CN=gw-cluster-${keys.clusterId}`,
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 60_000_000),
    signingAlgorithm: ED25519,
    publicKey: await publicOf(privateKey),
    signingKey: await privateOf(keys.caKey),
    extensions: [
      new x509.BasicConstraintsExtension(isAuthority, undefined, true),
      new x509.SubjectAlternativeNameExtension([...names]),
    ],
  });
  return { cert: made.toString("pem"), key: privateKey.export({ format: "pem", type: "pkcs8" }).toString() };
}

function publicOf(key: KeyObject) {
  const spki = createPublicKey(key).export({ format: "der", type: "spki" });
  return webcrypto.subtle.importKey("spki", spki, ED25519, true, ["verify"]);
}

function privateOf(key: KeyObject) {
  const pkcs8 = key.export({ format: "der", type: "pkcs8" });
  return webcrypto.subtle.importKey("pkcs8", pkcs8, ED25519, false, ["sign"]);
}

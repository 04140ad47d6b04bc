/**
 * Creates the certificates of a cluster: its authority, which has the same bytes on every node (Ed25519 signatures are
 * deterministic and everything else is fixed), and leaves signed by it. Source: cluster reference, section 5.
 *
 * The X.509 library costs 80 ms to load, so it is loaded when the first certificate is made.
 */

import { createPublicKey, type KeyObject, randomBytes, webcrypto, X509Certificate } from "node:crypto";
import { generatePrivateKey } from "../../../base/index.ts";
import type { ClusterKeys } from "./derived-keys.ts";
import { PEER_NAME, type Subject, uriOf } from "./subject.ts";

export interface Authority {
  readonly clusterId: string;
  readonly pem: string;
  readonly certificate: X509Certificate;
  readonly keys: ClusterKeys;
}

export interface Leaf {
  readonly certificatePem: string;
  readonly keyPem: string;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** Age of a new certificate, so that clocks that lag by up to a day accept it. */
const SKEW_MS = DAY_MS;
const LEAF_LIFE_MS = 365 * DAY_MS;

const ED25519 = { name: "Ed25519" };

type Library = typeof import("@peculiar/x509");

let library: Promise<Library> | undefined;

function loadLibrary(): Promise<Library> {
  library ??= (async () => {
    // `@peculiar/x509` throws at its import without this polyfill.
    await import("reflect-metadata");
    const x509 = await import("@peculiar/x509");
    x509.cryptoProvider.set(webcrypto);
    return x509;
  })();
  return library;
}

export async function makeAuthority(keys: ClusterKeys): Promise<Authority> {
  const x509 = await loadLibrary();
  const { signing, verifying } = await webKeys(keys.caKey);
  const name = authorityName(keys.clusterId);
  const made = await x509.X509CertificateGenerator.create({
    serialNumber: "01",
    subject: name,
    issuer: name,
    notBefore: new Date("2020-01-01T00:00:00Z"),
    notAfter: new Date("2120-01-01T00:00:00Z"),
    signingAlgorithm: ED25519,
    publicKey: verifying,
    signingKey: signing,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(verifying),
    ],
  });
  const pem = made.toString("pem");
  return { clusterId: keys.clusterId, pem, certificate: new X509Certificate(pem), keys };
}

/** Creates a key and its certificate. `now`: milliseconds since 1970. */
export async function issueLeaf(authority: Authority, subject: Subject, now: number): Promise<Leaf> {
  const x509 = await loadLibrary();
  const { signing, verifying: authorityKey } = await webKeys(authority.keys.caKey);
  const privateKey = generatePrivateKey("ed25519");
  const { verifying } = await webKeys(privateKey);
  const made = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: [{ CN: [subject.id] }],
    issuer: authorityName(authority.clusterId),
    notBefore: new Date(now - SKEW_MS),
    notAfter: new Date(now + LEAF_LIFE_MS),
    signingAlgorithm: ED25519,
    publicKey: verifying,
    signingKey: signing,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
      new x509.SubjectAlternativeNameExtension([
        { type: "url", value: uriOf({ ...subject, clusterId: authority.clusterId }) },
        { type: "dns", value: PEER_NAME },
      ]),
      await x509.SubjectKeyIdentifierExtension.create(verifying),
      await x509.AuthorityKeyIdentifierExtension.create(authorityKey),
    ],
  });
  return {
    certificatePem: made.toString("pem"),
    keyPem: privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
  };
}

function authorityName(clusterId: string) {
  return [{ CN: [`gw-cluster-${clusterId}`] }];
}

/** Returns a random serial number: a positive integer of exactly 16 bytes, in hexadecimal (RFC 5280 section 4.1.2.2). */
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes.toString("hex");
}

async function webKeys(key: KeyObject) {
  const { subtle } = webcrypto;
  const pkcs8 = key.export({ format: "der", type: "pkcs8" });
  const spki = createPublicKey(key).export({ format: "der", type: "spki" });
  const [signing, verifying] = await Promise.all([
    subtle.importKey("pkcs8", pkcs8, ED25519, false, ["sign"]),
    subtle.importKey("spki", spki, ED25519, true, ["verify"]),
  ]);
  return { signing, verifying };
}

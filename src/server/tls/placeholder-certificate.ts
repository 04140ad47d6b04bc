/**
 * Self-signed certificate that the listener presents before the first real one, so that handshakes succeed and clients can read
 * why they are not served. Nobody trusts it; it exists only in memory.
 */
import { generateKeyPairSync, webcrypto } from "node:crypto";
import type { Certificate } from "./types.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/** Creates the placeholder. `now`: milliseconds since 1970. Loading the library takes 80 ms. */
export async function createPlaceholderCertificate(now: number): Promise<Pick<Certificate, "chain" | "key">> {
  // `@peculiar/x509` throws at its import without this polyfill.
  await import("reflect-metadata");
  const x509 = await import("@peculiar/x509");
  const pair = generateKeyPairSync("ec", {
    namedCurve: "P-256",
    privateKeyEncoding: { format: "pem", type: "pkcs8" },
    publicKeyEncoding: { format: "der", type: "spki" },
  });
  const der = Buffer.from(pair.privateKey.replace(/-----[^-]+-----|\s/g, ""), "base64");
  const { subtle } = webcrypto;
  const made = await x509.X509CertificateGenerator.createSelfSigned(
    {
      serialNumber: "01",
      name: [{ CN: ["gateway without a certificate yet"] }],
      notBefore: new Date(now - DAY_MS),
      notAfter: new Date(now + 365 * DAY_MS),
      signingAlgorithm: ALGORITHM,
      keys: {
        privateKey: await subtle.importKey("pkcs8", der, ALGORITHM, false, ["sign"]),
        publicKey: await subtle.importKey("spki", pair.publicKey, ALGORITHM, true, ["verify"]),
      },
    },
    webcrypto,
  );
  return { chain: made.toString("pem"), key: pair.privateKey };
}

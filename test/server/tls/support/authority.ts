/** A private authority like a company's: a root, an intermediate, and server certificates. */
import "reflect-metadata";
import { randomBytes, webcrypto } from "node:crypto";
import { isIP } from "node:net";
import * as x509 from "@peculiar/x509";

export interface Pair {
  /** PEM. */
  readonly chain: string;
  /** PEM, PKCS#8. */
  readonly key: string;
}

export interface Issue {
  readonly names?: readonly string[];
  /** Milliseconds since 1970. */
  readonly notBefore?: number;
  readonly notAfter?: number;
  readonly rsaBits?: number;
  /** Extended key usages; by default those of servers. */
  readonly uses?: readonly string[];
  /** Public key to certify, with an empty `key` in the pair; a new one by default. */
  readonly publicKey?: x509.PublicKey;
}

export interface TestAuthority {
  /** PEM root trusted by clients. */
  readonly root: string;
  readonly intermediate: string;
  /** `chain` has the server's certificate alone. */
  issueLeaf(wish?: Issue): Promise<Pair>;
  /** `chain` has the server's certificate, then the intermediate. */
  issue(wish?: Issue): Promise<Pair>;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const P256 = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const { subtle } = webcrypto;
const serial = (): string => `4${randomBytes(15).toString("hex").slice(1)}a`;

export async function testAuthority(now = Date.now()): Promise<TestAuthority> {
  x509.cryptoProvider.set(webcrypto as never);
  const life = { notBefore: new Date(now - 400 * DAY_MS), notAfter: new Date(now + 4_000 * DAY_MS) };
  const isAuthority = (length: number) => [
    new x509.BasicConstraintsExtension(true, length, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
  ];
  const keysOf = () => subtle.generateKey(P256, true, ["sign", "verify"]);
  const rootKeys = await keysOf();
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: "CN=test root",
    ...life,
    signingAlgorithm: P256,
    keys: rootKeys,
    extensions: isAuthority(1),
  });
  const middleKeys = await keysOf();
  const middle = await x509.X509CertificateGenerator.create({
    serialNumber: serial(),
    subject: "CN=test intermediate",
    issuer: "CN=test root",
    ...life,
    signingAlgorithm: P256,
    publicKey: middleKeys.publicKey,
    signingKey: rootKeys.privateKey,
    extensions: isAuthority(0),
  });
  const pemOf = (it: x509.X509Certificate): string => `${it.toString("pem")}\n`;

  const issueLeaf = async (wish: Issue = {}): Promise<Pair> => {
    const { names = ["localhost", "127.0.0.1"], rsaBits, uses = [x509.ExtendedKeyUsage.serverAuth] } = wish;
    const rsa = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256", publicExponent: new Uint8Array([1, 0, 1]) };
    const keys =
      wish.publicKey !== undefined
        ? undefined
        : rsaBits === undefined
          ? await keysOf()
          : await subtle.generateKey({ ...rsa, modulusLength: rsaBits }, true, ["sign", "verify"]);
    const made = await x509.X509CertificateGenerator.create({
      serialNumber: serial(),
      subject: "CN=test server",
      issuer: "CN=test intermediate",
      notBefore: new Date(wish.notBefore ?? now - DAY_MS),
      notAfter: new Date(wish.notAfter ?? now + 90 * DAY_MS),
      signingAlgorithm: P256,
      publicKey: wish.publicKey ?? (keys as webcrypto.CryptoKeyPair).publicKey,
      signingKey: middleKeys.privateKey,
      extensions: [
        await x509.AuthorityKeyIdentifierExtension.create(middleKeys.publicKey),
        new x509.ExtendedKeyUsageExtension([...uses]),
        new x509.SubjectAlternativeNameExtension(
          names.map((value) => ({ type: isIP(value) !== 0 ? "ip" : "dns", value })),
        ),
      ],
    });
    if (keys === undefined) return { chain: pemOf(made), key: "" };
    const der = Buffer.from(await subtle.exportKey("pkcs8", keys.privateKey));
    const body = (der.toString("base64").match(/.{1,64}/g) ?? []).join("\n");
    return { chain: pemOf(made), key: `-----BEGIN PRIVATE KEY-----\n${body}\n-----END PRIVATE KEY-----\n` };
  };

  return {
    root: pemOf(root),
    intermediate: pemOf(middle),
    issueLeaf,
    async issue(wish) {
      const { chain, key } = await issueLeaf(wish);
      return { chain: chain + pemOf(middle), key };
    },
  };
}

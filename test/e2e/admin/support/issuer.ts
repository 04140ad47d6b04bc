/**
 * A token issuer whose tokens a test makes freely, valid or not: discovery and a key set on a free port, with counted
 * fetches. People sign in at `../../support/oidc.ts`; tokens that no provider would sign are made here.
 */
import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import { exportJWK, exportSPKI, generateKeyPair, type JWK, type JWTPayload, SignJWT } from "jose";
import { listenLocally } from "../../support/ports.ts";
import { atEnd, type Owner } from "../../support/wait.ts";

export const AUDIENCE = "gateway-admin";

export interface Issuer {
  readonly url: string;
  /** Number of fetches of the key set. */
  readonly fetches: number;
  /** Credential sent with the last fetch of the key set. */
  readonly presented: string | undefined;
  /** Signs with the newest key; `claims` replace those of a token for the admin API, and `undefined` leaves one out. */
  token(claims?: Claims, header?: { readonly kid?: string }): Promise<string>;
  /** Token of a person in these groups. */
  tokenOf(subject: string, ...groups: readonly string[]): Promise<string>;
  /** Token without a signature, with `alg: none`. */
  unsigned(): string;
  /** Token signed with the text of the public key as a shared secret. */
  signedWithPublicKey(): string;
  /** Signs new tokens with a new key, and publishes only that key. */
  rotate(): Promise<void>;
}

type Claims = Readonly<Record<string, JWTPayload[string]>>;

interface Key {
  readonly kid: string;
  readonly sign: Parameters<SignJWT["sign"]>[0];
  readonly jwk: JWK;
  /** Public key in PEM. */
  readonly pem: string;
}

export async function startIssuer(owner: Owner): Promise<Issuer> {
  let fetches = 0;
  let presented: string | undefined;
  let made = 0;
  const newKey = async (): Promise<Key> => {
    made += 1;
    const kid = `key-${made}`;
    const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
    const jwk = { ...(await exportJWK(publicKey)), kid, alg: "ES256", use: "sig" };
    return { kid, sign: privateKey, jwk, pem: await exportSPKI(publicKey) };
  };
  let key = await newKey();
  const server = createServer((request, response) => {
    const isDiscovery = request.url === "/.well-known/openid-configuration";
    if (!isDiscovery) {
      fetches += 1;
      presented = request.headers.authorization;
    }
    const body = isDiscovery ? { issuer: url, jwks_uri: `${url}/keys` } : { keys: [key.jwk] };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  const url = `http://127.0.0.1:${await listenLocally(server)}`;
  atEnd(owner, () => {
    server.closeAllConnections();
    server.close();
  });

  const claimsOf = (claims: Claims = {}): JWTPayload => {
    const now = Math.floor(Date.now() / 1_000);
    const whole = { iss: url, aud: AUDIENCE, sub: "alice", groups: [], iat: now, exp: now + 3_600, ...claims };
    return Object.fromEntries(Object.entries(whole).filter(([, value]) => value !== undefined));
  };
  const token: Issuer["token"] = (claims, { kid = key.kid } = {}) =>
    new SignJWT(claimsOf(claims)).setProtectedHeader({ alg: "ES256", kid }).sign(key.sign);
  const text = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");
  const valid = { groups: ["everything"] };
  return {
    url,
    get fetches() {
      return fetches;
    },
    get presented() {
      return presented;
    },
    token,
    tokenOf: (sub, ...groups) => token({ sub, groups }),
    unsigned: () => `${text({ alg: "none" })}.${text(claimsOf(valid))}.`,
    signedWithPublicKey() {
      const signed = `${text({ alg: "HS256", kid: key.kid })}.${text(claimsOf(valid))}`;
      return `${signed}.${createHmac("sha256", key.pem).update(signed).digest("base64url")}`;
    },
    async rotate() {
      key = await newKey();
    },
  };
}

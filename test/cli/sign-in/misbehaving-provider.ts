/** An identity provider that issues arbitrary ID tokens made by a test. */

import { createServer } from "node:http";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { listenLocally } from "../../e2e/support/ports.ts";
import { atEnd, type Owner } from "../../e2e/support/wait.ts";

export interface Forgery {
  /** Claims that differ from a valid token's. */
  readonly claims?: JWTPayload;
  /** Signs with a key that the provider does not list. */
  readonly isForeignKey?: boolean;
  readonly isMissing?: boolean;
}

interface LyingProvider {
  readonly issuer: string;
  /** Sets the tokens issued from now on; `nonce` is the request's. */
  prepare(nonce: string, forgery: Forgery): Promise<void>;
}

/** `onRequest` is called with the path before each answer. */
export async function startLyingProvider(
  owner: Owner,
  onRequest: (path: string) => void = () => undefined,
): Promise<LyingProvider> {
  const [own, foreign] = [await generateKeyPair("RS256"), await generateKeyPair("RS256")];
  const keys = [{ ...(await exportJWK(own.publicKey)), kid: "k", alg: "RS256", use: "sig" }];
  let tokens: object = {};
  const server = createServer((request, answer) => {
    const documents: Readonly<Record<string, object>> = {
      "/.well-known/openid-configuration": {
        issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        response_types_supported: ["code"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["RS256"],
      },
      "/jwks": { keys },
      "/token": tokens,
    };
    const document = documents[request.url ?? ""];
    request.resume();
    onRequest(request.url ?? "");
    answer.writeHead(document === undefined ? 404 : 200, { "content-type": "application/json" });
    answer.end(JSON.stringify(document ?? {}));
  });
  const issuer = `http://127.0.0.1:${await listenLocally(server)}`;
  atEnd(owner, () => {
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  });
  return {
    issuer,
    async prepare(nonce, { claims = {}, isForeignKey = false, isMissing = false }) {
      const now = Math.floor(Date.now() / 1_000);
      const valid = { iss: issuer, aud: "gateway-cli", sub: "alice", nonce, iat: now, exp: now + 3_600 };
      const key = isForeignKey ? foreign.privateKey : own.privateKey;
      const idToken = await new SignJWT({ ...valid, ...claims })
        .setProtectedHeader({ alg: "RS256", kid: "k" })
        .sign(key);
      tokens = {
        access_token: "opaque",
        token_type: "Bearer",
        refresh_token: "next",
        ...(isMissing ? {} : { id_token: idToken }),
      };
    },
  };
}

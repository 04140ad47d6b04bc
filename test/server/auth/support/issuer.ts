/** An issuer run by a test: keys, signed tokens, and a server for discovery and the key set. */

import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import type { Clock } from "../../../../src/base/index.ts";
import type { IssuerOptions } from "../../../../src/server/auth/index.ts";

/** 2026-01-01T00:00:00Z. */
export const START_MS = 1_767_225_600_000;

export interface TestClock extends Clock {
  /** Advances by milliseconds. */
  advance(by: number): void;
}

export function testClock(): TestClock {
  let passed = 0;
  return {
    now: () => START_MS + passed,
    monotonic: () => 5_000 + passed,
    advance(by) {
      passed += by;
    },
  };
}

export interface TestKey {
  readonly algorithm: string;
  readonly kid: string | undefined;
  readonly privateKey: CryptoKey;
  /** The published key. */
  readonly jwk: JWK;
}

export async function testKey(algorithm: string, kid?: string): Promise<TestKey> {
  const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true });
  const jwk = await exportJWK(publicKey);
  return { algorithm, kid, privateKey, jwk: { ...jwk, use: "sig", alg: algorithm, ...(kid !== undefined && { kid }) } };
}

/** Claims of a valid token of `issuer` at `START_MS`, with changes; `undefined` removes a claim. */
export function goodClaims(issuer: string, changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const now = START_MS / 1000;
  return { iss: issuer, sub: "alice", aud: "gateway", iat: now - 10, exp: now + 3_600, ...changes };
}

export function sign(
  key: TestKey,
  claims: Readonly<Record<string, unknown>>,
  header: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const { algorithm: alg, kid } = key;
  return new SignJWT({ ...claims })
    .setProtectedHeader({ alg, ...(kid !== undefined && { kid }), ...header })
    .sign(key.privateKey);
}

export interface TestIssuer extends AsyncDisposable {
  readonly origin: string;
  /** Address and `iss` claim. */
  readonly url: string;
  readonly jwksUrl: string;
  /** Published keys; a test replaces them. */
  keys: readonly JWK[];
  /** Headers of the key set's answer. */
  headers: Readonly<Record<string, string>>;
  /** Members of the discovery document that replace the usual ones. */
  discovery: Readonly<Record<string, unknown>>;
  /** Answers instead of the issuer if it returns true. */
  intercept: (path: string, request: IncomingMessage, response: ServerResponse) => boolean;
  /** Path and credential of each request since the start. */
  readonly seen: { readonly path: string; readonly authorization: string | undefined }[];
  fetches(path: string): number;
  options(changes?: Partial<IssuerOptions>): IssuerOptions;
  close(): Promise<void>;
}

export const DISCOVERY_PATH = "/.well-known/openid-configuration";
export const KEYS_PATH = "/keys";

interface TestIssuerOptions {
  readonly keys?: readonly TestKey[];
  readonly tls?: { readonly key: string; readonly cert: string };
  readonly port?: number;
}

export async function startIssuer({ keys = [], tls, port = 0 }: TestIssuerOptions = {}): Promise<TestIssuer> {
  const seen: { path: string; authorization: string | undefined }[] = [];
  const listener: RequestListener = (request, response) => {
    const path = request.url ?? "";
    seen.push({ path, authorization: request.headers.authorization });
    if (issuer.intercept(path, request, response)) return;
    if (path === DISCOVERY_PATH) {
      response.end(JSON.stringify({ issuer: issuer.url, jwks_uri: issuer.jwksUrl, ...issuer.discovery }));
    } else if (path === KEYS_PATH) {
      response.writeHead(200, issuer.headers).end(JSON.stringify({ keys: issuer.keys }));
    } else {
      response.writeHead(404).end();
    }
  };
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const { port: bound } = server.address() as AddressInfo;
  const origin = `${tls === undefined ? "http" : "https"}://127.0.0.1:${bound}`;
  const issuer: TestIssuer = {
    origin,
    url: origin,
    jwksUrl: origin + KEYS_PATH,
    keys: keys.map(({ jwk }) => jwk),
    headers: {},
    discovery: {},
    intercept: () => false,
    seen,
    fetches: (path) => seen.filter((it) => it.path === path).length,
    options: (changes = {}) => ({
      name: "corp",
      url: origin,
      jwksUrl: undefined,
      caFile: undefined,
      tokenFile: undefined,
      subjectClaim: "sub",
      nameClaim: undefined,
      ...changes,
    }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
    [Symbol.asyncDispose]: () => issuer.close(),
  };
  return issuer;
}

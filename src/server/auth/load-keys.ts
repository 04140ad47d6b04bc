/**
 * Finds and loads an issuer's keys. Source: OpenID Connect Discovery 1.0 section 4, RFC 8414 section 3.3; specification
 * document 2 (`issuers`). Files are read again at each load, so a rotated file needs no reload.
 */

import { open } from "node:fs/promises";
import * as tls from "node:tls";
import { FetchFailure, type FetchOptions, fetchJson, originAndPath } from "./fetch-json.ts";
import { isJsonObject, member } from "./json-object.ts";
import { type PublicKey, readKeySet } from "./key-set.ts";
import type { IssuerOptions } from "./types.ts";

/** Maximum size in bytes. A bundle of all public roots is a quarter of it. */
const MAX_FILE_BYTES = 1 << 20;

export interface LoadOptions {
  /** Timeout for discovery and keys together, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export type KeyLoad =
  | {
      readonly kind: "loaded";
      readonly jwksUrl: string;
      readonly keys: readonly PublicKey[];
      /** Value of `cache-control` of the key set. */
      readonly cacheControl: string;
    }
  | { readonly kind: "failed"; readonly step: "discovery" | "keys"; readonly message: string };

/** Finds and loads the keys. Never rejects. */
export type LoadKeys = (options: LoadOptions) => Promise<KeyLoad>;

export function keyLoader(issuer: IssuerOptions): LoadKeys {
  const trust = trustLoader(issuer);
  return async ({ timeoutMs, signal }) => {
    const end = new AbortController();
    const timer = setTimeout(() => end.abort(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
    const onAbort = (): void => end.abort(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    let step: "discovery" | "keys" = issuer.jwksUrl === undefined ? "discovery" : "keys";
    try {
      const token = await readBearer(issuer.tokenFile);
      const request = { secureContext: await trust(), token, signal: end.signal, proxies: issuer.proxies };
      const found = await findKeys(issuer, request);
      step = "keys";
      const mayReceiveToken = issuer.jwksUrl !== undefined || found.origin === new URL(issuer.url).origin;
      const { value, cacheControl } = await fetchJson(
        found,
        mayReceiveToken ? request : { ...request, token: undefined },
      );
      const keys = readKeySet(value);
      if (keys === undefined)
        throw new FetchFailure(`${originAndPath(found)}: the answer is not a key set, or has too many keys`);
      return { kind: "loaded", jwksUrl: originAndPath(found), keys, cacheControl };
    } catch (error) {
      return { kind: "failed", step, message: error instanceof Error ? error.message : "failed" };
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    }
  };
}

async function findKeys(issuer: IssuerOptions, options: FetchOptions): Promise<URL> {
  if (issuer.jwksUrl !== undefined) return httpUrl(issuer.jwksUrl, "jwks_url");
  return endpointOf(await fetchDiscovery(issuer, options), "jwks_uri");
}

interface DiscoveryDocument {
  readonly from: URL;
  readonly document: Readonly<Record<string, unknown>>;
}

/** Fetches the issuer's discovery document. Rejects with `FetchFailure`. */
export async function fetchDiscovery({ url }: IssuerOptions, options: FetchOptions): Promise<DiscoveryDocument> {
  const from = httpUrl(`${url.replace(/\/$/, "")}/.well-known/openid-configuration`, "the issuer's url");
  const { value } = await fetchJson(from, options);
  if (!isJsonObject(value)) throw new FetchFailure(`${originAndPath(from)}: the answer is not a discovery document`);
  // Without this check, anyone who can write one document on a shared host could impersonate every issuer on it.
  if (member(value, "issuer") !== url)
    throw new FetchFailure(`${originAndPath(from)}: the document is of another issuer`);
  return { from, document: value };
}

/** Returns an endpoint address of the document. Throws `FetchFailure`. */
export function endpointOf({ from, document }: DiscoveryDocument, name: string): URL {
  const named = member(document, name);
  if (typeof named !== "string") throw new FetchFailure(`${originAndPath(from)}: the document names no ${name}`);
  const found = httpUrl(named, `${originAndPath(from)}: its ${name}`);
  if (from.protocol === "https:" && found.protocol !== "https:") {
    throw new FetchFailure(`${originAndPath(from)}: its ${name} is not https, as the issuer is`);
  }
  return found;
}

function httpUrl(text: string, what: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "https:" && url?.protocol !== "http:")
    throw new FetchFailure(`${what} is not an http(s) address`);
  return url;
}

/**
 * Returns a function that loads the trusted certificates. The TLS context is rebuilt only if the file changed, because that takes
 * milliseconds.
 */
export function trustLoader({ caFile }: IssuerOptions): () => Promise<tls.SecureContext | undefined> {
  let last: { readonly bundle: string; readonly secureContext: tls.SecureContext } | undefined;
  return async () => {
    if (caFile === undefined) return undefined;
    const bundle = await readFileStart(caFile, "ca_file");
    if (bundle !== last?.bundle) {
      if (!bundle.includes("-----BEGIN CERTIFICATE-----")) throw new FetchFailure("ca_file contains no certificate");
      last = { bundle, secureContext: tls.createSecureContext({ ca: [...systemRoots(), bundle] }) };
    }
    return last.secureContext;
  };
}

/**
 * Returns the certificates that Node.js trusts, with extra ones if it can report them. A custom CA list replaces them, so it has
 * to include them.
 */
function systemRoots(): readonly string[] {
  const certificates: unknown = Reflect.get(tls, "getCACertificates"); // available from Node 22.15 on
  const trusted: unknown = typeof certificates === "function" ? certificates("default") : undefined;
  return Array.isArray(trusted) ? trusted.map(String) : tls.rootCertificates;
}

export async function readBearer(tokenFile: string | undefined): Promise<string | undefined> {
  if (tokenFile === undefined) return undefined;
  const token = (await readFileStart(tokenFile, "token_file")).trim();
  if (!/^[!-~]+$/.test(token)) throw new FetchFailure("token_file contains no bearer token");
  return token;
}

async function readFileStart(path: string, key: string): Promise<string> {
  try {
    await using file = await open(path);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_FILE_BYTES), 0, MAX_FILE_BYTES, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "failed";
    throw new FetchFailure(`${key} cannot be read: ${code}`, { cause: error });
  }
}

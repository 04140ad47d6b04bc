/**
 * Finds an issuer's token endpoint in its discovery document. Source: OpenID Connect Discovery 1.0 section 3; RFC 8414 section
 * 2; specification document 3 (`token_exchange`). The bearer token for the issuer's documents is sent only to their origin.
 */

import type { SecureContext } from "node:tls";
import { anySignal } from "../../base/index.ts";
import { endpointOf, fetchDiscovery, type LoadOptions, readBearer, trustLoader } from "./load-keys.ts";
import type { IssuerOptions } from "./types.ts";

export interface TokenEndpoint {
  readonly url: URL;
  /** Client authentication methods that the endpoint accepts; the default of RFC 8414 if the document lists none. */
  readonly authMethods: readonly string[];
  /** Trusted certificates; `undefined` for those of Node.js. */
  readonly secureContext: SecureContext | undefined;
}

/** Finds the endpoint. Rejects with a message that names no secret. */
export type FindTokenEndpoint = (options: LoadOptions) => Promise<TokenEndpoint>;

const DEFAULT_METHODS: readonly string[] = ["client_secret_basic"];

export function tokenEndpointFinder(issuer: IssuerOptions): FindTokenEndpoint {
  const trust = trustLoader(issuer);
  return async ({ timeoutMs, signal }) => {
    const secureContext = await trust();
    const token = await readBearer(issuer.tokenFile);
    const limit = AbortSignal.timeout(timeoutMs);
    const { proxies } = issuer;
    const found = await fetchDiscovery(issuer, { secureContext, token, proxies, signal: anySignal([signal, limit]) });
    const methods = found.document["token_endpoint_auth_methods_supported"];
    const authMethods = Array.isArray(methods) ? methods.filter((it) => typeof it === "string") : DEFAULT_METHODS;
    return { url: endpointOf(found, "token_endpoint"), authMethods, secureContext };
  };
}

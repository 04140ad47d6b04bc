/**
 * Finds the one credential of a request that counts, in whichever header it is. Source: design decisions, section 1; RFC 6750
 * section 2.1. Lengths are in characters.
 *
 * A header with two values is no credential: `node:http` joins most of them with a comma.
 */

import type { IncomingMessage } from "node:http";
import type { PresentedCredentials } from "./caller.ts";
import { MAX_TOKEN_LENGTH } from "./token-text.ts";

type Credential =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "none" }
  /** Present, but in no form that can be recognized. */
  | { readonly kind: "malformed" };

const NONE: Credential = Object.freeze({ kind: "none" });
const MALFORMED: Credential = Object.freeze({ kind: "malformed" });

const SCHEME = "bearer";
const AUTHORIZATION = "authorization";

/** Collects the credentials of a request. `protocolToken`: token of a WebSocket subprotocol. */
export function presentedCredentials(
  { headers, rawHeaders }: Pick<IncomingMessage, "headers" | "rawHeaders">,
  protocolToken?: string,
): PresentedCredentials {
  return {
    authorization: headers.authorization && authorizationOf(headers.authorization, rawHeaders),
    xApiKey: joinedHeader(headers["x-api-key"]),
    apiKey: joinedHeader(headers["api-key"]),
    protocolToken,
  };
}

/** Returns the first credential that is present, in the order of `PresentedCredentials`. */
export function credentialOf({ authorization, xApiKey, apiKey, protocolToken }: PresentedCredentials): Credential {
  if (authorization !== undefined) return bearerOf(authorization);
  const text = xApiKey ?? apiKey ?? protocolToken;
  return text === undefined ? NONE : boundedCredential(text);
}

/** Returns the bearer token; any other scheme is malformed. */
function bearerOf(value: string): Credential {
  const isBearer = value[SCHEME.length] === " " && value.slice(0, SCHEME.length).toLowerCase() === SCHEME;
  return isBearer ? boundedCredential(value.slice(SCHEME.length + 1).replace(/^ +/, "")) : MALFORMED;
}

function boundedCredential(text: string): Credential {
  return text === "" || text.length > MAX_TOKEN_LENGTH ? MALFORMED : { kind: "text", text };
}

/**
 * Returns the header, marked as repeated if there are several: `node:http` keeps only the first value, but the raw headers show
 * all.
 */
function authorizationOf(first: string, rawHeaders: readonly string[]): string {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === AUTHORIZATION.length && name.toLowerCase() === AUTHORIZATION) count++;
  }
  return count > 1 ? `${first}, ` : first;
}

function joinedHeader(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(", ") : value;
}

/** Handles requests from browser pages of other origins (CORS). Source: design decisions, section 20 (Browsers). */
import type { IncomingMessage } from "node:http";
import { GatewayError } from "../../base/index.ts";
import {
  type CrossOriginDecision,
  decideCrossOrigin,
  isPreflight,
  type PreflightTerms,
  preflightHeaders,
} from "../core/cross-origin/index.ts";
import { findRoute } from "../core/dialects/index.ts";
import type { Snapshot } from "../snapshot/index.ts";
import { CARD_HEADERS } from "./discovery/card-document.ts";
import { isRegistryRequest, SHARED_HEADERS } from "./discovery/registry.ts";
import { lowerCase } from "./headers.ts";
import { parseAgentPath } from "./hops/agents/agent-path.ts";
import type { Ports } from "./ports.ts";

/** Returns whether a page of another origin sent the request and may do so; `undefined` if no such page sent it. */
export function crossOriginDecisionOf(
  { headers }: IncomingMessage,
  { governance: { auth, publicOrigin } }: Snapshot,
  { corsOrigins: allowed }: Pick<Ports, "corsOrigins">,
): CrossOriginDecision | undefined {
  const { origin, host, "sec-fetch-site": site } = headers;
  if (origin === undefined && site === undefined) return undefined;
  const fetchSite = site === undefined ? undefined : String(site);
  return decideCrossOrigin({ origin, host, fetchSite, needsCredential: auth !== undefined, allowed, publicOrigin });
}

export function originNotAllowed({ governance: { auth } }: Snapshot): GatewayError {
  const remedy = auth === undefined ? ", or set `auth`" : "";
  return new GatewayError(
    "origin_not_allowed",
    `A browser page of another site may not use this gateway: list its origin in \`GATEWAY_CORS_ORIGINS\`${remedy}.`,
  );
}

const METHODS: readonly string[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
const USUAL_HEADERS =
  "authorization, content-type, x-api-key, api-key, anthropic-version, anthropic-beta, mcp-method, mcp-name, " +
  "mcp-protocol-version, a2a-version, a2a-extensions";

/** Returns the header pairs of the answer to a preflight, or `undefined` if the request is not a preflight. */
export function preflightOf(
  request: IncomingMessage,
  { kind }: CrossOriginDecision,
  { fronted }: Snapshot,
): readonly string[] | undefined {
  if (!isPreflight(request.method, request.headers)) return undefined;
  return kind === "allowed" ? preflightHeaders(request.headers, preflightTermsOf(request, fronted)) : [];
}

/**
 * Returns the CORS terms of the endpoint that the path names. A path without a route allows whatever is requested, so that the
 * page can read the 404.
 */
function preflightTermsOf(request: IncomingMessage, fronted: Snapshot["fronted"]): PreflightTerms {
  const { url = "/" } = request;
  if (isRegistryRequest(request)) return termsFromHeaders(SHARED_HEADERS);
  const agent = parseAgentPath(url, fronted);
  if (agent?.resource === "card") return termsFromHeaders(CARD_HEADERS);
  if (agent !== undefined) return { methods: ["POST"], usualHeaders: USUAL_HEADERS };
  if (url.startsWith("/.well-known/")) return { methods: ["GET", "HEAD"], usualHeaders: USUAL_HEADERS };
  const [path = ""] = url.split("?", 1);
  return { methods: METHODS.filter((method) => findRoute(method, path) !== undefined), usualHeaders: USUAL_HEADERS };
}

/** Reads the terms from the CORS headers of one of the gateway's own documents. */
function termsFromHeaders(pairs: readonly string[]): PreflightTerms {
  const textOf = (name: string): string => pairs[pairs.indexOf(name) + 1] ?? "";
  return {
    methods: textOf("access-control-allow-methods").split(", "),
    usualHeaders: textOf("access-control-allow-headers"),
  };
}

const isCorsHeader = (name: string): boolean => lowerCase(name).startsWith("access-control-");

/** Removes CORS headers from an upstream's headers: only this gateway decides which pages may read the answer. */
export function withoutCors(headers: readonly string[]): readonly string[] {
  for (let at = 0; at < headers.length; at += 2) {
    if (isCorsHeader(headers[at] as string))
      return headers.filter((_, i) => !isCorsHeader(headers[i - (i % 2)] as string));
  }
  return headers;
}

/**
 * Removes `access-control-allow-origin` from the headers of the gateway's own documents; the allowed methods and headers stay.
 */
export const withoutOrigin = (pairs: readonly string[]): readonly string[] =>
  pairs.filter((_, i) => pairs[i - (i % 2)] !== "access-control-allow-origin");

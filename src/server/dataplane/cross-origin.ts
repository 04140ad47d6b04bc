/** Requests of browser pages, as the data plane meets them. Source: design decisions, section 20 (Browsers). */
import type { IncomingMessage } from "node:http";
import { GatewayError } from "../../base/index.ts";
import {
  type Crossing,
  isPreflight,
  judgeCrossing,
  type PreflightTerms,
  preflightHeaders,
} from "../core/cross-origin/index.ts";
import { findRoute } from "../core/dialects/index.ts";
import type { Snapshot } from "../snapshot/index.ts";
import { CARD_HEADERS } from "./discovery/card-document.ts";
import { isRegistryRequest, SHARED_HEADERS } from "./discovery/registry.ts";
import { lowerCase } from "./headers.ts";
import { agentPlace } from "./hops/agents/place.ts";
import type { Ports } from "./ports.ts";

/** Returns `undefined` for a request that no page of another origin sent. */
export function crossingOf(
  { headers }: IncomingMessage,
  { governance: { auth, publicOrigin } }: Snapshot,
  { corsOrigins: allowed }: Pick<Ports, "corsOrigins">,
): Crossing | undefined {
  const { origin, host, "sec-fetch-site": site } = headers;
  if (origin === undefined && site === undefined) return undefined;
  const fetchSite = site === undefined ? undefined : String(site);
  return judgeCrossing({ origin, host, fetchSite, needsCredential: auth !== undefined, allowed, publicOrigin });
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

/** Header pairs of the answer to a preflight; undefined: the request is none. */
export function preflightOf(
  request: IncomingMessage,
  { kind }: Crossing,
  { fronted }: Snapshot,
): readonly string[] | undefined {
  if (!isPreflight(request.method, request.headers)) return undefined;
  return kind === "allowed" ? preflightHeaders(request.headers, termsOf(request, fronted)) : [];
}

/** By the place that the path names. A path without a route allows what is asked, so that the page reads the 404. */
function termsOf(request: IncomingMessage, fronted: Snapshot["fronted"]): PreflightTerms {
  const { url = "/" } = request;
  if (isRegistryRequest(request)) return termsIn(SHARED_HEADERS);
  const agent = agentPlace(url, fronted);
  if (agent?.wants === "card") return termsIn(CARD_HEADERS);
  if (agent !== undefined) return { methods: ["POST"], usualHeaders: USUAL_HEADERS };
  if (url.startsWith("/.well-known/")) return { methods: ["GET", "HEAD"], usualHeaders: USUAL_HEADERS };
  const [path = ""] = url.split("?", 1);
  return { methods: METHODS.filter((method) => findRoute(method, path) !== undefined), usualHeaders: USUAL_HEADERS };
}

/** As a document's own headers for pages have it. */
function termsIn(pairs: readonly string[]): PreflightTerms {
  const textOf = (name: string): string => pairs[pairs.indexOf(name) + 1] ?? "";
  return {
    methods: textOf("access-control-allow-methods").split(", "),
    usualHeaders: textOf("access-control-allow-headers"),
  };
}

const isCors = (name: string): boolean => lowerCase(name).startsWith("access-control-");

/** An upstream's headers without what it lets pages read: who may read is this gateway's to say. */
export function withoutCors(headers: readonly string[]): readonly string[] {
  for (let at = 0; at < headers.length; at += 2) {
    if (isCors(headers[at] as string)) return headers.filter((_, i) => !isCors(headers[i - (i % 2)] as string));
  }
  return headers;
}

/** The same for headers of the gateway's own documents, which keep the methods and headers that they name. */
export const withoutOrigin = (pairs: readonly string[]): readonly string[] =>
  pairs.filter((_, i) => pairs[i - (i % 2)] !== "access-control-allow-origin");

/**
 * Serves documents that need no credential: where to get tokens for the gateway and for each MCP server, and the keys that sign
 * agent cards. Source: RFC 9728; mcp reference, 12; a2a reference, 9; design decisions, section 7.
 */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { GatewayError } from "../../../base/index.ts";
import { protectedResourceMetadata } from "../../auth/index.ts";
import type { Snapshot } from "../../snapshot/index.ts";
import type { OwnDocument } from "../own-document.ts";
import type { GovernancePorts } from "../ports.ts";
import { CARD_CACHE_CONTROL, CARD_KEYS_PATH } from "./card-document.ts";

const PROTECTED_RESOURCE = "/.well-known/oauth-protected-resource";
const OF_SERVER = `${PROTECTED_RESOURCE}/mcp/`;

interface WellKnown {
  /** Route label in metrics. */
  readonly route: string;
  readonly document: OwnDocument;
}

/** Returns the document that the request asks for, or `undefined` if it asks for something else. Throws `not_found`. */
export function wellKnown(
  { url = "/", method }: Pick<IncomingMessage, "url" | "method">,
  { governance: { auth }, fronted, cardKeys: { jwks } }: Snapshot,
  governancePorts: GovernancePorts | undefined,
): WellKnown | undefined {
  if (!url.startsWith("/.well-known/") || (method !== "GET" && method !== "HEAD")) return undefined;
  const [path = ""] = url.split("?", 1);
  if (path === CARD_KEYS_PATH) return { route: "card_keys", document: cardKeysDocument(jwks) };
  const isOfServer = path.startsWith(OF_SERVER);
  if (path !== PROTECTED_RESOURCE && !isOfServer) return undefined;
  if (auth?.publicUrl === undefined || governancePorts === undefined) {
    throw new GatewayError(
      "not_found",
      "This gateway has no resource metadata: the deployment document sets no `auth` or no `public_url`.",
    );
  }
  const server = isOfServer ? serverNamed(path.slice(OF_SERVER.length)) : undefined;
  if (isOfServer && (server === undefined || fronted.at("mcp", server) === undefined)) {
    throw new GatewayError("not_found", "No MCP server of this name is configured.");
  }
  const metadata = protectedResourceMetadata(auth, (name) => governancePorts.issuerUrl(name), server);
  return { route: "protected_resource", document: { body: JSON.stringify(metadata) } };
}

function cardKeysDocument(jwks: string | undefined): OwnDocument {
  if (jwks === undefined)
    throw new GatewayError("not_found", "Agent cards are not signed: the deployment document has no `a2a_cards`.");
  const etag = `"${createHash("sha256").update(jwks).digest("base64url")}"`;
  return { body: jwks, contentType: "application/jwk-set+json", etag, cacheControl: CARD_CACHE_CONTROL };
}

/** Returns the server's name as the client wrote it: clients compare the resource with the address that they call. */
function serverNamed(path: string): string | undefined {
  try {
    return decodeURIComponent(path.replace(/\/$/, ""));
  } catch {
    return undefined;
  }
}

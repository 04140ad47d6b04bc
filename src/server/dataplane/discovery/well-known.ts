/**
 * What the data plane tells without a credential: where tokens come from, for the gateway as a whole and for each of its
 * MCP servers. Source: RFC 9728; mcp reference, 12; design decisions, section 7.
 */
import type { IncomingMessage } from "node:http";
import { GatewayError } from "../../../base/index.ts";
import { protectedResourceMetadata } from "../../auth/index.ts";
import type { Snapshot } from "../../snapshot/index.ts";
import type { OwnDocument } from "../own-document.ts";
import type { Governing } from "../ports.ts";

const PROTECTED_RESOURCE = "/.well-known/oauth-protected-resource";
const OF_SERVER = `${PROTECTED_RESOURCE}/mcp/`;

export interface WellKnown {
  /** Label of its metrics. */
  readonly route: string;
  readonly document: OwnDocument;
}

/** Undefined: the request is for something else. Throws `not_found`. */
export function wellKnown(
  { url = "/", method }: Pick<IncomingMessage, "url" | "method">,
  { governance: { auth }, fronted }: Snapshot,
  governing: Governing | undefined,
): WellKnown | undefined {
  if (!url.startsWith("/.well-known/") || (method !== "GET" && method !== "HEAD")) return undefined;
  const [path = ""] = url.split("?", 1);
  const isOfServer = path.startsWith(OF_SERVER);
  if (path !== PROTECTED_RESOURCE && !isOfServer) return undefined;
  if (auth?.publicUrl === undefined || governing === undefined) {
    throw new GatewayError(
      "not_found",
      "This gateway tells nothing of its resource: it has no `auth` and `public_url`.",
    );
  }
  const server = isOfServer ? serverNamed(path.slice(OF_SERVER.length)) : undefined;
  if (isOfServer && (server === undefined || fronted.at("mcp", server) === undefined)) {
    throw new GatewayError("not_found", "No MCP server of this name is configured.");
  }
  const metadata = protectedResourceMetadata(auth, (name) => governing.issuerUrl(name), server);
  return { route: "protected_resource", document: { body: JSON.stringify(metadata) } };
}

/** As it is called by whoever asks: clients compare the resource with the address that they call. */
function serverNamed(path: string): string | undefined {
  try {
    return decodeURIComponent(path.replace(/\/$/, ""));
  } catch {
    return undefined;
  }
}

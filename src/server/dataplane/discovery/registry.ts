/** Registry of the fronted MCP servers that a caller may use. Source: mcp-registry reference, 1 to 6; design decisions, 7. */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { answerRegistry, isRegistryPath, NO_PUBLIC_URL, REGISTRY_HEADERS } from "../../core/agents/index.ts";
import { mcpVariables } from "../../core/policy/variables/index.ts";
import type { FrontedSnapshot } from "../../snapshot/index.ts";
import type { EffectiveProfile } from "../governance/effective-profile.ts";
import type { OwnDocument } from "../own-document.ts";

/** Header pairs of every answer, including refusals. */
export const SHARED_HEADERS: readonly string[] = REGISTRY_HEADERS.flat();

/** Answer to the preflight that a browser sends before it sends a credential. */
export const PREFLIGHT: OwnDocument = { status: 204, body: "" };

export function isRegistryRequest({ url = "/" }: Pick<IncomingMessage, "url">): boolean {
  return isRegistryPath(pathAndQuery(url).path);
}

const CODES: ReadonlyMap<number, string> = new Map([
  [404, "not_found"],
  [503, "no_public_url"],
]);

export function registryDocument(
  { url = "/", method = "GET" }: Pick<IncomingMessage, "url" | "method">,
  { registry }: FrontedSnapshot,
  { profile: { policy }, variables }: EffectiveProfile,
): OwnDocument {
  const reachable = registry?.filter(
    ({ server }) => policy.count.mcp === 0 || policy.mayReachServer(mcpVariables(variables, { server, method: "" })),
  );
  const answer = reachable === undefined ? NO_PUBLIC_URL : answerRegistry(reachable, { method, ...pathAndQuery(url) });
  const { status, contentType, body } = answer;
  if (status !== 200) return { status, contentType, body, code: CODES.get(status) ?? "invalid_request" };
  const etag = `"${createHash("sha256").update(body).digest("base64url")}"`;
  // The answer is private, because another caller may see other servers.
  return { contentType, body, etag, cacheControl: "private, no-cache" };
}

function pathAndQuery(url: string): { readonly path: string; readonly query: string } {
  const mark = url.indexOf("?");
  return mark < 0 ? { path: url, query: "" } : { path: url.slice(0, mark), query: url.slice(mark + 1) };
}

/**
 * Resources of the gateway that a token can be issued for, and the metadata by which clients find them. Source: specification
 * document 1 (Authentication, data plane 3); design decisions, sections 2 and 7; RFC 8707, RFC 9728, RFC 6750 section 3.
 *
 * Addresses are compared as text: an issuer copies into `aud` what the client asked for, and the client asks for the `resource`
 * given here.
 */

import type { AuthRules } from "./caller.ts";

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

/** Metadata of a protected resource (RFC 9728 section 2). Members without a value are left out. */
interface ResourceMetadata {
  readonly resource: string;
  /** URLs of the issuers, at least one. */
  readonly authorization_servers?: readonly string[];
  readonly bearer_methods_supported: readonly ["header"];
  readonly resource_name?: string;
}

/** Compares an audience with the public URL. Clients that build the resource from the origin alone add a trailing slash. */
export function isPublicUrl(audience: string, publicUrl: string): boolean {
  return audience === publicUrl || audience === `${publicUrl}/`;
}

/** Returns the server name after `<publicUrl>/mcp/` as the token has it; `undefined` for any other audience. */
export function serverNameOf(audience: string, publicUrl: string): string | undefined {
  const prefix = serverResource(publicUrl, "");
  return audience.startsWith(prefix) && audience.length > prefix.length ? audience.slice(prefix.length) : undefined;
}

function serverResource(publicUrl: string, server: string): string {
  return `${publicUrl}/mcp/${server}`;
}

/**
 * Returns the `www-authenticate` value of every 401. It has no `error`, so it does not reveal what was wrong with a credential.
 * `server`: name of the requested MCP server, if it is configured; its own metadata is then named.
 */
export function challengeOf({ publicUrl }: Pick<AuthRules, "publicUrl">, server?: string): string {
  const scheme = 'Bearer realm="gateway"';
  if (publicUrl === undefined) return scheme;
  const url = publicUrl + WELL_KNOWN + (server === undefined ? "" : `/mcp/${server}`);
  return `${scheme}, resource_metadata="${escapeForHeader(url)}"`;
}

/** Escapes everything that could end the quoted text or the header. A correctly written address stays unchanged. */
function escapeForHeader(url: string): string {
  return url.replace(/[^\x21-\x7e]|["\\]/gu, (character) => encodeURIComponent(character.toWellFormed()));
}

/**
 * Returns the metadata; `undefined` without `publicUrl`. `urlOf`: maps a name of the node's issuers to its URL. `server`: name of
 * a configured MCP server.
 */
export function protectedResourceMetadata(
  { publicUrl, issuers }: Pick<AuthRules, "publicUrl" | "issuers">,
  urlOf: (issuer: string) => string | undefined,
  server?: string,
): ResourceMetadata | undefined {
  if (publicUrl === undefined) return undefined;
  const urls = [...new Set(issuers.flatMap(({ issuer }) => urlOf(issuer) ?? []))];
  return {
    resource: server === undefined ? publicUrl : serverResource(publicUrl, server),
    ...(urls.length > 0 && { authorization_servers: urls }),
    bearer_methods_supported: ["header"],
    ...(server !== undefined && { resource_name: server }),
  };
}

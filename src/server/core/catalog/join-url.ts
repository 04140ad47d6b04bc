/**
 * Joins a channel's root and the incoming path to the upstream path:
 *
 *   path of base_url + path_prefix + (incoming path without strip_path_prefix)
 *
 * If the root ends in a version segment (`/v1`, `/v4`, `/v1beta`), an incoming `/v1` is dropped, so that roots with and without
 * a version both work and `/v1/v1` never arises. Sources: provider catalog reference 1.1; design decisions, section 6, "Joining
 * base_url and path". The result is a path: it starts with one slash and is never read as an authority, so nothing that a
 * client sends can change the host.
 *
 * The incoming path must have no query or fragment (the caller keeps the query), and no `..` segment, plain or encoded; the
 * data plane refuses those before it routes. Everything else passes byte for byte.
 */

import type { Channel } from "./types.ts";

type JoinFacts = Pick<Channel, "baseUrl" | "pathPrefix" | "stripPathPrefix">;

const VERSION_AT_END = /\/v\d+[a-z0-9]*$/;

/** Version prefix of the paths that clients of both dialects call. */
const INCOMING_VERSION = "/v1";

/** Returns a function that joins paths. Everything that does not depend on the request is computed once per channel. */
export function compileJoin({ baseUrl, pathPrefix, stripPathPrefix }: JoinFacts): (incomingPath: string) => string {
  const root = trimmed(pathOf(baseUrl)) + trimmed(pathPrefix);
  const strip = trimmed(stripPathPrefix);
  const dropVersion = VERSION_AT_END.test(root) && strip !== INCOMING_VERSION;
  return (incomingPath) => {
    let rest = drop(oneSlash(incomingPath), strip);
    if (dropVersion) rest = drop(rest, INCOMING_VERSION);
    // A request for the root itself keeps the root as the operator wrote it.
    return rest === "/" && root !== "" ? root : root + rest;
  };
}

export function joinPath(channel: JoinFacts, incomingPath: string): string {
  return compileJoin(channel)(incomingPath);
}

export function endsInVersion(root: string): boolean {
  return VERSION_AT_END.test(trimmed(root));
}

export function hasPath(root: string): boolean {
  return trimmed(pathOf(root)) !== "";
}

/** Removes trailing slashes. */
export function trimmed(text: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === "/") end--;
  return text.slice(0, end);
}

/**
 * Returns the path of a base URL. It splits by position and not with the URL parser, so that the operator's text and
 * placeholders stay as written.
 */
function pathOf(baseUrl: string): string {
  const slash = baseUrl.indexOf("/", baseUrl.indexOf("://") + 3);
  return slash === -1 ? "" : baseUrl.slice(slash);
}

/** Removes `prefix` if it ends at a segment boundary: `/v1` is not a prefix of `/v1beta`. */
function drop(path: string, prefix: string): string {
  if (prefix === "" || !path.startsWith(prefix)) return path;
  if (path.length === prefix.length) return "/";
  return path[prefix.length] === "/" ? oneSlash(path.slice(prefix.length)) : path;
}

/** Makes the path start with exactly one slash: a URL parser would read `//host` and `/\host` as another host. */
function oneSlash(path: string): string {
  let start = 0;
  while (path[start] === "/" || path[start] === "\\") start++;
  return path[0] === "/" && start === 1 ? path : `/${path.slice(start)}`;
}

/** What a request is for, by its line: nothing is looked at twice, and what may be read in two ways is refused. */
import type { IncomingMessage } from "node:http";
import { GatewayError } from "../../base/index.ts";
import { type Dialect, findRoute, isReadAlike } from "../core/dialects/index.ts";
import type { Place } from "./hops/model/address.ts";

/** As of a client whose base URL ends in the version that it puts before its paths itself. */
const DOUBLED_VERSION = /^\/v1\/v1(?:\/|$)/;

/** The route of a request; throws `invalid_request` or `not_found`. `method` is `UPGRADE` for a WebSocket handshake. */
export function locate(method: string, request: IncomingMessage): Place {
  const url = request.url ?? "/";
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  // An absolute-form target names a host, and a fragment or whatever is read in two ways may name another path: neither is
  // the client's to choose.
  if (!path.startsWith("/") || path.includes("#") || !isReadAlike(method, path)) {
    throw new GatewayError("invalid_request", "The request target must be a plain absolute path.");
  }
  if (!namesOneHost(request)) throw new GatewayError("invalid_request", "The request must have one Host header.");
  // All of them go to the provider, and we read the body as the first says.
  if (countOf(request, "content-type") > 1) {
    throw new GatewayError("invalid_request", "The request must have one Content-Type header at most.");
  }
  if (DOUBLED_VERSION.test(path)) {
    const bases = "the base URL of Anthropic's clients is the gateway's root, that of OpenAI's clients ends in one /v1";
    throw new GatewayError("not_found", `The path begins with /v1 twice: ${bases}.`);
  }
  const route = findRoute(method, path);
  if (route === undefined) {
    throw new GatewayError("not_found", `No route for ${request.method} of this path. Model routes begin with /v1/.`);
  }
  return {
    route,
    dialect: route.dialect === "either" ? dialectOf(request) : route.dialect,
    path,
    query: mark < 0 ? "" : url.slice(mark),
  };
}

/** The dialect of whatever the path names. */
export function routeDialect(request: IncomingMessage): Dialect {
  const [path = ""] = (request.url ?? "/").split("?", 1);
  if (path === "/v1/messages" || path.startsWith("/v1/messages/")) return "messages";
  const route = findRoute(request.method ?? "GET", path);
  return route === undefined || route.dialect === "either" ? dialectOf(request) : route.dialect;
}

/** Where the path says nothing of it. */
export function dialectOf({ headers }: IncomingMessage): Dialect {
  return headers["anthropic-version"] === undefined ? "compat" : "messages";
}

/** RFC 9112 section 3.2: none is an error from HTTP/1.1 on, and two always are. */
function namesOneHost(request: IncomingMessage): boolean {
  const hosts = countOf(request, "host");
  return hosts === 1 || (hosts === 0 && request.httpVersion === "1.0");
}

/** How often a header stands there. `lowerCaseName`: as such. */
function countOf({ rawHeaders }: IncomingMessage, lowerCaseName: string): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length === lowerCaseName.length && name.toLowerCase() === lowerCaseName) count++;
  }
  return count;
}

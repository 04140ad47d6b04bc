/** What a request is for, by its line: nothing is looked at twice, and what may be read in two ways is refused. */
import type { IncomingMessage } from "node:http";
import { GatewayError } from "../../base/index.ts";
import { type Dialect, findRoute, isOtherProtocol, isReadAlike, wrongPathMessage } from "../core/dialects/index.ts";
import type { Place } from "./hops/model/address.ts";

/** The route of a request; throws `invalid_request` or `not_found`. `method` is `UPGRADE` for a WebSocket handshake. */
export function locate(method: string, request: IncomingMessage): Place {
  const url = request.url ?? "/";
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  // An absolute-form target names a host, and a fragment or whatever is read in two ways may name another path: neither is
  // the client's to choose.
  if (!path.startsWith("/") || path.includes("#") || !isReadAlike(method, path)) {
    const doubled = path.includes("//") ? " Two slashes in a row often come of a base URL that ends in one." : "";
    throw new GatewayError("invalid_request", `The request target must be a plain absolute path.${doubled}`);
  }
  if (!namesOneHost(request)) throw new GatewayError("invalid_request", "The request must have one Host header.");
  // All of them go to the provider, and we read the body as the first says.
  if (countOf(request, "content-type") > 1) {
    throw new GatewayError("invalid_request", "The request must have one Content-Type header at most.");
  }
  if (method === "UPGRADE" && isOtherProtocol(path)) throw notCarried();
  const route = findRoute(method, path);
  if (route === undefined) throw new GatewayError("not_found", wrongPathMessage(request.method ?? "GET", path));
  return {
    route,
    dialect: route.dialect === "either" ? dialectOf(request) : route.dialect,
    path,
    query: mark < 0 ? "" : url.slice(mark),
  };
}

/** Clients that try a WebSocket first go on by HTTP when they read the status. */
export const notCarried = (why = "No WebSocket is carried here", param?: string): GatewayError =>
  new GatewayError("websocket_not_carried", `${why}: send the request by HTTP.`, param === undefined ? {} : { param });

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

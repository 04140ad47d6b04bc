/** Finds the route of a request by its request line and headers. A target that could be read in two ways is refused. */
import type { IncomingMessage } from "node:http";
import { GatewayError } from "../../base/index.ts";
import { type Dialect, findRoute, isHttpOnly, isReadAsOneRoute, wrongPathMessage } from "../core/dialects/index.ts";
import type { RouteMatch } from "./hops/model/resolve-target.ts";

/**
 * Returns the route of a request. Throws `invalid_request`, `not_found` or `websocket_not_carried`. `method` is `UPGRADE` for a
 * WebSocket handshake.
 */
export function matchRoute(method: string, request: IncomingMessage): RouteMatch {
  const url = request.url ?? "/";
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  // An absolute-form target names a host, and a fragment or an ambiguous path may name another path: the client may choose
  // neither.
  if (!path.startsWith("/") || path.includes("#") || !isReadAsOneRoute(method, path)) {
    throw new GatewayError("invalid_request", `The request target must be a plain absolute path.${adviceOn(path)}`);
  }
  if (!namesOneHost(request)) throw new GatewayError("invalid_request", "The request must have one Host header.");
  // All Content-Type headers would go to the provider, while the gateway reads the body according to the first.
  if (countOf(request, "content-type") > 1) {
    throw new GatewayError("invalid_request", "The request must have at most one Content-Type header.");
  }
  if (method === "UPGRADE" && isHttpOnly(path)) throw webSocketRefusal();
  const route = findRoute(method, path);
  if (route === undefined) throw new GatewayError("not_found", wrongPathMessage(request.method ?? "GET", path));
  return {
    route,
    dialect: route.dialect === "either" ? dialectOf(request) : route.dialect,
    path,
    query: mark < 0 ? "" : url.slice(mark),
  };
}

/** Returns what is probably wrong with a refused target, with a space before it, or an empty string. */
function adviceOn(path: string): string {
  if (/^[a-z][a-z0-9+.-]*:/i.test(path)) {
    return " Use the gateway's address as the base URL of the client, not as its forward proxy.";
  }
  if (path.includes("//")) return " Two slashes in a row usually mean that the base URL ends in a slash.";
  return path.length > 1 && path.endsWith("/") ? " Leave out the slash at its end." : "";
}

/** Returns the refusal of a WebSocket handshake, whose status makes clients that try a WebSocket first fall back to HTTP. */
export const webSocketRefusal = (message = "This path does not support WebSockets", param?: string): GatewayError =>
  new GatewayError(
    "websocket_not_carried",
    `${message}: send the request by HTTP.`,
    param === undefined ? {} : { param },
  );

/** Returns the dialect of the route that the path names. */
export function routeDialect(request: IncomingMessage): Dialect {
  const [path = ""] = (request.url ?? "/").split("?", 1);
  if (path === "/v1/messages" || path.startsWith("/v1/messages/")) return "messages";
  const route = findRoute(request.method ?? "GET", path);
  return route === undefined || route.dialect === "either" ? dialectOf(request) : route.dialect;
}

/** Returns the dialect of a request whose path does not determine it. */
export function dialectOf({ headers }: IncomingMessage): Dialect {
  return headers["anthropic-version"] === undefined ? "compat" : "messages";
}

/** Returns whether the request has exactly one Host header. HTTP/1.0 requests may have none (RFC 9112, section 3.2). */
function namesOneHost(request: IncomingMessage): boolean {
  const hosts = countOf(request, "host");
  return hosts === 1 || (hosts === 0 && request.httpVersion === "1.0");
}

/** Returns how often a header occurs. */
function countOf({ rawHeaders }: IncomingMessage, lowerCaseName: string): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length === lowerCaseName.length && name.toLowerCase() === lowerCaseName) count++;
  }
  return count;
}

/**
 * The admin API on `admin.listen`, in plain HTTP. Source: specification document 1, Authentication; design decisions, section
 * 3. With issuers a caller presents a bearer token; without, the listener may only bind a loopback address, and every caller is
 * `loopback`.
 */

import { lookup } from "node:dns/promises";
import { isIPv4, type Socket } from "node:net";
import { formatAddress, parseAddress } from "../../../base/index.ts";
import type { AdminPlane } from "../admin-plane.ts";
import type { Principal } from "../principal.ts";
import { isProbe, registerRoutes } from "../routes.ts";
import type { Authenticator } from "./authenticator.ts";
import { checkOrigin } from "./check-origin.ts";
import { createHttpServer } from "./http-server.ts";
import { authenticateByToken, type CheckToken } from "./token-authentication.ts";

export interface AdminListenerOptions {
  /** Address `host:port` or `:port`; port 0 selects a free one. */
  readonly address: string;
  /** Shared by all listeners, and closed with the first of them. */
  readonly plane: AdminPlane;
  /** `undefined` without an issuer: then the address must be loopback, and every caller is accepted. */
  readonly tokens: CheckToken | undefined;
  /** Time limit of a token check, in milliseconds; ten seconds by default. */
  readonly checkLimitMs?: number;
}

export interface AdminListener {
  /** Bound address, `host:port`. */
  readonly address: string;
  readonly port: number;
  /** Stops accepting, answers waiting reads, and lets running requests finish within `limitMs`. */
  close(limitMs?: number): Promise<void>;
}

/**
 * Maximum number of connections: consoles, with a blocking read per table, and scripts; each may have a request's body and a
 * token check.
 */
const MAX_CONNECTIONS = 1_024;
const CLOSE_LIMIT_MS = 5_000;
const CHECK_LIMIT_MS = 10_000;

const LOOPBACK: Principal = { issuer: "local", subject: "loopback", roles: ["loopback"] };

/** Opens the listener. Rejects with a message for the operator if the address cannot be bound; `cause` is the system's error. */
export async function openAdminListener(options: AdminListenerOptions): Promise<AdminListener> {
  const { address, plane, tokens, checkLimitMs = CHECK_LIMIT_MS } = options;
  const asked = parseAddress(address);
  if (asked === undefined) throw new Error(`admin.listen: ${JSON.stringify(address)} is not host:port or :port`);
  const isOpen = tokens === undefined;
  const callers = tokens && { check: tokens, checkLimitMs, audit: plane.ports.audit };
  const authenticator: Authenticator = {
    name: "network",
    identify: (request, reply, signal) =>
      callers === undefined ? LOOPBACK : authenticateByToken(callers, request, reply, signal),
  };

  const server = createHttpServer({
    maxConnections: MAX_CONNECTIONS,
    onAcceptFailure: (error) =>
      plane.ports.log.warn("the admin listener failed to accept a connection", { door: "network", error }),
    onConnection({ localAddress }: Socket) {
      if (isOpen && !isLoopback(localAddress)) throw new Error("without an issuer only loopback is served");
    },
    onInternalError: plane.onInternalError,
    registerRoutes(app) {
      app.addHook("onRequest", async ({ raw }) => {
        if (!isProbe(raw)) checkOrigin(raw, isOpen ? "loopback" : "any");
      });
      registerRoutes(app, plane, authenticator);
    },
  });

  try {
    const host = asked.host === undefined ? "::" : (await lookup(asked.host)).address;
    // The address is checked before listening, and again below once it is bound.
    if (isOpen && !isLoopback(host)) throw notLoopback(address, host);
    await server.listen({ host, port: asked.port });
    const bound = server.address();
    if (bound === null || typeof bound === "string") throw new Error("the server has no address");
    if (isOpen && !isLoopback(bound.address)) throw notLoopback(address, bound.address);
    let closing: Promise<void> | undefined;
    return {
      address: formatAddress({ host: bound.address, port: bound.port }),
      port: bound.port,
      close(limitMs = CLOSE_LIMIT_MS) {
        closing ??= (async () => {
          plane.close();
          await server.close(limitMs);
        })();
        return closing;
      },
    };
  } catch (error) {
    await server.close(0);
    if (!(error instanceof Error) || !("code" in error)) throw error;
    throw new Error(`admin.listen: cannot listen on ${address}: ${error.message}`, { cause: error });
  }
}

function isLoopback(address = ""): boolean {
  const host = address.replace(/^::ffff:(?=\d+\.)/i, "");
  return host === "::1" || (isIPv4(host) && host.startsWith("127."));
}

function notLoopback(address: string, actual: string): Error {
  return new Error(
    `admin.listen: without an issuer the admin API must listen on a loopback address, and ${address} is ${actual}`,
  );
}

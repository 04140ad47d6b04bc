/**
 * Shared HTTP/1.1 server of the admin socket and listener, with limits on connections, headers and time: passes on every
 * request as it arrives, answers invalid HTTP, and drains.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import Fastify from "fastify";
import type { RefusalCode } from "../../../base/index.ts";
import { waitsForInvitation } from "../body.ts";
import { errorAnswer, refusal } from "../refusal.ts";
import { nameRequest, sendText } from "../send.ts";

export interface HttpOptions {
  /** Maximum number of connections. Accepted ones that wait count too: a Unix socket refuses immediately if its queue is full. */
  readonly maxConnections: number;
  /** Called before a connection is read; if it throws, the connection is closed. */
  readonly accept: (socket: Socket) => void;
  /** Handles a request, whose body is unread, and answers it. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /** Called when accepting fails, for example without a free descriptor; the server continues. */
  readonly onFailure: (error: Error) => void;
  /** Time limit for a request's complete headers, in milliseconds; ten seconds by default. */
  readonly headersLimitMs?: number;
}

export interface HttpServer {
  /** Rejects with the system's error. */
  listen(where: { readonly path: string } | { readonly host: string; readonly port: number }): Promise<void>;
  address(): AddressInfo | string | null;
  /** Stops accepting, and lets running requests finish within `limitMs`; then closes the rest. */
  close(limitMs: number): Promise<void>;
}

const MAX_HEADER_BYTES = 16 << 10;
const HEADERS_LIMIT_MS = 10_000;
/** Interval of checks for slow headers and requests, in milliseconds. */
const LIMIT_CHECK_MS = 1_000;
/** Time limit of a whole request in milliseconds: the archive of a large state from a slow disk. */
const REQUEST_LIMIT_MS = 600_000;
/** Maximum inactivity in milliseconds: longer than the longest blocking read; beyond it the client has stopped reading. */
const INACTIVITY_MS = 330_000;
const KEEP_ALIVE_MS = 75_000;
/** Time for a refused client to read the reason and to close its half, in milliseconds. */
const LINGER_MS = 1_000;
/**
 * Maximum number of requests in progress on one connection: clients do not pipeline this much, and a waiting read costs some 10
 * KB.
 */
const MAX_UNDER_WAY = 16;

export function createHttpServer(options: HttpOptions): HttpServer {
  const { maxConnections, accept, handle, onFailure, headersLimitMs = HEADERS_LIMIT_MS } = options;
  const app = Fastify({
    logger: false,
    exposeHeadRoutes: false,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    requestTimeout: REQUEST_LIMIT_MS,
    connectionTimeout: INACTIVITY_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    clientErrorHandler: refuseUnreadable,
    http: {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: headersLimitMs,
      connectionsCheckingInterval: Math.min(LIMIT_CHECK_MS, headersLimitMs),
      requireHostHeader: false, // Refused below, with our own message.
    },
    // Paths are split and decoded here; one that the framework cannot decode is refused like any other.
    frameworkErrors: (_error, request, reply) => {
      reply.hijack();
      admit(request.raw, reply.raw);
    },
    routerOptions: { maxParamLength: MAX_HEADER_BYTES },
  });
  app.server.maxConnections = maxConnections;
  // Hijacked before the framework reads the body, whose limit depends on the operation.
  app.addHook("onRequest", (request, reply) => {
    reply.hijack();
    admit(request.raw, reply.raw);
  });
  app.all("/*", () => undefined);
  app.setNotFoundHandler(() => undefined);

  // Node would ask for the body without a check; here the caller is authenticated first.
  app.server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    waitsForInvitation(request, response);
    app.server.emit("request", request, response);
  });

  /** Open connections, with the number of requests in progress on each. */
  const connections = new Map<Socket, number>();
  let isClosing = false;
  app.server.prependListener("connection", (socket: Socket) => {
    connections.set(socket, 0);
    socket.once("close", () => connections.delete(socket));
    try {
      accept(socket);
    } catch {
      socket.destroy();
    }
  });
  const admit = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    const underWay = connections.get(socket) ?? 0;
    // Requests that were pipelined after it are not begun either.
    if (underWay >= MAX_UNDER_WAY) return void socket.destroy();
    connections.set(socket, underWay + 1);
    response.once("close", () => {
      const left = (connections.get(socket) ?? 1) - 1;
      if (connections.has(socket)) connections.set(socket, left);
      if (isClosing && left === 0) socket.destroySoon();
    });
    // RFC 9112, section 3.2.
    const count = request.headersDistinct["host"]?.length ?? 0;
    if (count > 1 || (count === 0 && request.httpVersion !== "1.0")) {
      refuse(request, response, refusal("invalid", "A request has exactly one header host."));
    } else {
      handle(request, response);
    }
  };

  return {
    async listen(where) {
      await app.listen({ ...where, backlog: maxConnections });
      app.server.on("error", onFailure);
    },
    address: () => app.server.address(),
    async close(limitMs) {
      isClosing = true;
      const closed = app.close();
      // Node counts a connection without any data as busy, and stops its timeout once the server closes.
      for (const [socket, underWay] of connections) if (underWay === 0) socket.destroy();
      const cut = setTimeout(() => app.server.closeAllConnections(), limitMs);
      await closed.finally(() => clearTimeout(cut));
    },
  };
}

/** Answers a request that does not reach the plane. */
export function refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  nameRequest(request, response);
  const { status, headers, body } = errorAnswer(error);
  // The rest of an unread body would be parsed as the next request.
  if (!request.complete) response.once("finish", () => request.destroy());
  sendText(response, status, body, { ...headers, connection: "close" });
}

/** Answers input that the HTTP parser refuses, and that never becomes a request. */
function refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || socket.writableLength > 0) {
    socket.destroy();
    return;
  }
  const [code, statusText, message] = UNREADABLE[error.code ?? ""] ?? NOT_HTTP;
  const { status, body } = errorAnswer(refusal(code, message));
  socket.end(
    `HTTP/1.1 ${status} ${statusText}\r\ncontent-type: application/json\r\ncache-control: no-store\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
  const linger = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(linger));
}

type Unreadable = readonly [code: RefusalCode, statusText: string, message: string];

const NOT_HTTP: Unreadable = ["invalid", "Bad Request", "This is not a well-formed HTTP request."];
const UNREADABLE: Readonly<Record<string, Unreadable>> = {
  HPE_HEADER_OVERFLOW: [
    "headers_too_large",
    "Request Header Fields Too Large",
    `The request's headers are larger than ${MAX_HEADER_BYTES} bytes.`,
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ["request_timeout", "Request Timeout", "The request did not arrive in time."],
};

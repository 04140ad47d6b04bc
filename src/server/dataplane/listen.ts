/** The data plane's listener: bounds on connections and headers, and every request handed to `serve`. */
import { setMaxListeners } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import Fastify from "fastify";
import { formatAddress, GatewayError, parseAddress } from "../../base/index.ts";
import { refusalBody } from "../core/dialects/index.ts";
import type { Ports } from "./ports.ts";
import { serve } from "./serve.ts";
import { serveUpgrade } from "./upgrade.ts";

/** A client that has not sent its headers by then is not going to; slow-loris holds a socket no longer than this. */
const HEADERS_LIMIT_MS = 10_000;
/** The whole request, body included: 32 MiB at 1 Mbit/s take 268 s. */
const REQUEST_LIMIT_MS = 300_000;
/** Above the 60 s of common load balancers, so that it is they who close an idle connection. */
const KEEP_ALIVE_MS = 75_000;
/** Tokens and trace headers reach a few KiB; Node's own bound of 16 KiB is met by real ones. */
const MAX_HEADER_BYTES = 64 << 10;
const LIMIT_CHECK_MS = 1_000;
/** For a peer that was refused to read why and close its half; one that does neither must not keep the connection. */
const LINGER_MS = 1_000;

export interface Listener {
  /** Actual address, `host:port`. */
  readonly address: string;
  readonly port: number;
  /**
   * Stops accepting and waits for running requests and for the answers of sessions, at most `limitMs`; what then remains
   * is cut off. A session without an answer under way is closed.
   */
  drain(limitMs: number): Promise<void>;
}

/** Rejects with the system's error when the address cannot be bound. */
export async function listen(address: string, ports: Ports): Promise<Listener> {
  const draining = new AbortController();
  const over = new AbortController();
  const shutdown = { draining: draining.signal, over: over.signal };
  setMaxListeners(0, shutdown.draining, shutdown.over); // each session listens
  const app = Fastify({
    logger: false,
    exposeHeadRoutes: false,
    forceCloseConnections: false,
    return503OnClosing: false, // what still comes on a connection that is kept is served like the rest
    requestTimeout: REQUEST_LIMIT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http: {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_LIMIT_MS,
      connectionsCheckingInterval: LIMIT_CHECK_MS,
      requireHostHeader: false, // refused with the rest that is not well-formed, in our words
    },
    clientErrorHandler: refuseUnreadable,
    // The framework decodes paths; one that does not decode is ours to judge like any other.
    frameworkErrors: (_error, request, reply) => {
      reply.hijack();
      void handle(request.raw, reply.raw);
    },
    routerOptions: { maxParamLength: MAX_HEADER_BYTES },
  });
  // Hijacked before the framework looks at the body: the bytes are the client's, not ours to parse.
  app.addHook("onRequest", (request, reply) => {
    reply.hijack();
    void handle(request.raw, reply.raw);
  });
  app.all("/*", () => undefined);
  app.setNotFoundHandler(() => undefined);
  /** Open connections, with the number of requests under way on each; sessions that were upgraded are not among them. */
  const connections = new Map<Duplex, number>();
  app.server.on("connection", (socket: Socket) => {
    connections.set(socket, 0);
    socket.once("close", () => connections.delete(socket));
  });
  const handle = (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { socket } = request;
    connections.set(socket, (connections.get(socket) ?? 0) + 1);
    response.once("close", () => {
      const left = (connections.get(socket) ?? 1) - 1;
      if (connections.has(socket)) connections.set(socket, left);
      if (draining.signal.aborted && left === 0) socket.destroySoon();
    });
    return serve(request, response, ports);
  };
  app.server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    connections.delete(socket);
    void serveUpgrade(request, socket, head, ports, shutdown);
  });

  const parsed = parseAddress(address);
  if (parsed === undefined) throw new GatewayError("internal", `cannot listen: ${address} is not host:port or :port`);
  await app.listen({ port: parsed.port, host: parsed.host ?? "::" });
  // For example no descriptor left to accept with: the listener goes on, and accepts again when there is one.
  app.server.on("error", (error) => ports.log.warn("data plane failed to accept", { error }));
  const bound = app.server.address() as AddressInfo;
  return {
    address: formatAddress({ host: bound.address, port: bound.port }),
    port: bound.port,
    async drain(limitMs) {
      draining.abort();
      const closed = app.close();
      // Node counts a connection on which nothing has come yet as busy, and stops timing it once the server closes.
      for (const [socket, underWay] of connections) if (underWay === 0) socket.destroy();
      const cut = setTimeout(() => {
        over.abort();
        app.server.closeAllConnections();
      }, limitMs);
      await closed.finally(() => clearTimeout(cut));
      over.abort();
    },
  };
}

/** What the HTTP parser refuses never becomes a request; it is answered in the compat shape and the socket closed. */
function refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || socket.writableLength > 0) {
    socket.destroy();
    return;
  }
  const code: Unreadable =
    error.code === "HPE_HEADER_OVERFLOW"
      ? "headers_too_large"
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? "request_timeout"
        : "invalid_request";
  const refusal = new GatewayError(code, UNREADABLE[code]);
  const body = refusalBody("compat", refusal, "");
  socket.end(
    `HTTP/1.1 ${refusal.status} ${STATUS_TEXT[code]}\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
  const linger = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(linger));
}

type Unreadable = "headers_too_large" | "request_timeout" | "invalid_request";

const UNREADABLE: Readonly<Record<Unreadable, string>> = {
  headers_too_large: `The request's headers are larger than ${MAX_HEADER_BYTES} bytes.`,
  request_timeout: "The request did not arrive in time.",
  invalid_request: "This is not a well-formed HTTP request.",
};
const STATUS_TEXT: Readonly<Record<Unreadable, string>> = {
  headers_too_large: "Request Header Fields Too Large",
  request_timeout: "Request Timeout",
  invalid_request: "Bad Request",
};

/** Listener of the data plane. It limits connections and headers, and passes every request to `serve`. */
import { setMaxListeners } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import Fastify, { type FastifyInstance } from "fastify";
import {
  formatAddress,
  formatDuration,
  GatewayError,
  type Log,
  parseAddress,
  stopAccepting,
} from "../../base/index.ts";
import { refusalBody, refusalHeaders } from "../core/dialects/index.ts";
import { KEEP_ALIVE_MS } from "./answer-writer.ts";
import { createConnections } from "./connections.ts";
import { Exchange } from "./exchange.ts";
import { refuseUpgrade } from "./hops/websocket/tunnel.ts";
import { dialectOf } from "./locate.ts";
import { headWithoutOffer, offersWebSocket } from "./not-upgraded.ts";
import type { Ports, TlsLayer, TlsLayerAnswer } from "./ports.ts";
import { dialectForm } from "./refusal-form.ts";
import { requestIdOf } from "./request-id.ts";
import { createRoom } from "./room.ts";
import { serve } from "./serve.ts";
import { serveUpgrade } from "./upgrade.ts";

/** Timeout for the headers of a request. It limits how long a slow-loris client can occupy a socket. */
const HEADERS_LIMIT_MS = 10_000;
/** Timeout for a whole request including the body: 32 MiB at 1 Mbit/s take 268 s. */
const REQUEST_LIMIT_MS = 300_000;
/** Maximum size of the headers. Tokens and trace headers reach a few KiB, and real requests exceed Node's default of 16 KiB. */
const MAX_HEADER_BYTES = 64 << 10;
const LIMIT_CHECK_MS = 1_000;
/** Time that a refused peer has to read the reason and close its half of the connection, before the gateway closes it. */
const LINGER_MS = 1_000;

const NOT_A_PROXY =
  "This gateway is not a forward proxy. Use its address as the base URL of the client, not in `HTTPS_PROXY`.";

export interface Listener {
  /** Actual address in the form `host:port`. */
  readonly address: string;
  readonly port: number;
  /**
   * Stops accepting and waits, for at most `limitMs`, until running requests and the answers of sessions have ended. The rest is
   * cut off, counted and logged, which takes up to two more seconds. A session without a pending answer is closed at once.
   */
  drain(limitMs: number): Promise<void>;
}

/** Source of connections that another process accepts at this address. */
export interface Accepted {
  readonly address: string;
  readonly port: number;
  /** Registers the listener for connections from which no byte has been read yet. Must be called once. */
  onConnection(listener: (socket: Socket) => void): void;
}

/** Opens the listener; without `tls` it speaks plain HTTP. Rejects with the system's error if the address cannot be bound. */
export async function listen(from: string | Accepted, ports: Ports, tls?: TlsLayer): Promise<Listener> {
  const draining = new AbortController();
  const over = new AbortController();
  const shutdown = { draining: draining.signal, over: over.signal };
  setMaxListeners(0, shutdown.draining, shutdown.over); // every session adds a listener
  const connections = createConnections();
  const app = Fastify({
    logger: false,
    exposeHeadRoutes: false,
    forceCloseConnections: false,
    return503OnClosing: false, // requests that still arrive on a kept connection are served normally
    requestTimeout: REQUEST_LIMIT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http: {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_LIMIT_MS,
      connectionsCheckingInterval: LIMIT_CHECK_MS,
      requireHostHeader: false, // `locate` refuses it with the gateway's own message, like other malformed requests
    },
    clientErrorHandler: (error, socket) => {
      if (connections.owesAnswer(socket)) socket.destroy();
      else refuseUnreadable(error, socket);
    },
  });
  // `serve` routes every request itself; the framework's router and hooks would only add latency.
  app.server.removeAllListeners("request");
  app.server.on("request", (request: IncomingMessage, response: ServerResponse) => handle(request, response));
  const speakers = app.server.listeners("connection") as ((socket: Duplex) => void)[];
  const admit = createRoom({ connections, log: ports.log, isPlain: tls === undefined });
  app.server.removeAllListeners("connection");
  app.server.on("connection", (raw: Socket) => admit(raw, () => begin(raw)));
  /** Registers a connection and passes it to the HTTP server, with `tls` only after the TLS handshake. */
  const begin = (raw: Socket): void => {
    connections.opened(raw);
    const speak = (socket: Duplex): void => {
      for (const speaker of speakers) speaker.call(app.server, socket);
    };
    if (tls === undefined) speak(raw);
    else
      tls.accept(raw, (socket) => {
        if (socket !== raw) connections.secured(raw, socket);
        speak(socket);
      });
  };
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    const own = tls?.judge(request);
    if (own?.kind === "challenge") {
      void answerChallenge(response, own.keyAuthorization);
      return;
    }
    const exchange = new Exchange(request, response, ports);
    connections.begun(exchange);
    exchange.onClosed = connections.ended;
    if (own === undefined) {
      serve(exchange, ports);
      return;
    }
    exchange.form = dialectForm(dialectOf(request));
    exchange.isLast();
    exchange.refuse(own.refusal);
    exchange.report.served();
  };
  // Without this listener Node would send `100 Continue` by itself, before the request is checked.
  app.server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    app.server.emit("request", request, response);
  });
  app.server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (connections.owesAnswer(socket)) {
      socket.destroy();
      return;
    }
    if (!offersWebSocket(request)) {
      readAgain(request, socket, head);
      return;
    }
    const own = tls?.judge(request);
    if (own !== undefined) {
      refuseSession(own, request, socket, ports);
      return;
    }
    connections.upgraded(socket, serveUpgrade(request, socket, head, ports, shutdown));
  });

  // Without this listener Node would close the connection without an answer.
  app.server.on("connect", (request: IncomingMessage, socket: Duplex) => {
    if (connections.owesAnswer(socket)) {
      socket.destroy();
      return;
    }
    const refusal = new GatewayError("invalid_request", NOT_A_PROXY);
    refuseSession({ kind: "refused", refusal }, request, socket, ports);
  });

  /** Parses the request again without its Upgrade offer. */
  const readAgain = (request: IncomingMessage, socket: Duplex, behind: Buffer): void => {
    const head = headWithoutOffer(request);
    if (head === undefined) {
      const refusal = new GatewayError("invalid_request", "The request cannot be read without its Upgrade header.");
      refuseSession({ kind: "refused", refusal }, request, socket, ports);
      return;
    }
    socket.unshift(behind);
    socket.unshift(head);
    for (const speak of speakers) speak.call(app.server, socket);
  };

  const accepting = typeof from === "string" ? await acceptAt(from, app, ports.log) : await takeFrom(from, app);
  return {
    address: accepting.address,
    port: accepting.port,
    async drain(limitMs) {
      draining.abort();
      connections.drain(limitMs);
      const closed = accepting.stop();
      const cut = setTimeout(() => {
        over.abort();
        const left = connections.cut();
        if (left.requests + left.sessions === 0) return;
        ports.log.warn("closed connections that were still open at the end of the drain", {
          ...left,
          drain: formatDuration(limitMs),
        });
      }, limitMs);
      await closed.finally(() => clearTimeout(cut));
      over.abort();
      await app.close();
    },
  };
}

/** Answers an ACME HTTP-01 challenge (RFC 8555, section 8.3). A validator asks from several addresses, and more than once. */
async function answerChallenge(
  response: ServerResponse,
  asked: Extract<TlsLayerAnswer, { kind: "challenge" }>["keyAuthorization"],
): Promise<void> {
  const keyAuthorization = (await asked) ?? "";
  const headers = { "content-type": "application/octet-stream", "content-length": keyAuthorization.length };
  response.writeHead(keyAuthorization === "" ? 404 : 200, { ...headers, connection: "close" });
  response.end(keyAuthorization);
}

function refuseSession(own: TlsLayerAnswer, request: IncomingMessage, socket: Duplex, ports: Ports): void {
  socket.on("error", () => undefined);
  const refusal =
    own.kind === "refused"
      ? own.refusal
      : new GatewayError("invalid_request", "The path of an ACME challenge does not accept WebSockets.");
  const requestId = requestIdOf(request, ports.snapshot());
  ports.metrics.finished(ports.metrics.labels("none"), refusal.status, refusal.code);
  const headers = [...refusalHeaders(refusal, requestId), "content-type", "application/json"];
  refuseUpgrade(socket, refusal.status, headers, refusalBody("compat", refusal, requestId));
}

/** Source of connections. */
interface Accepting {
  readonly address: string;
  readonly port: number;
  /** Stops accepting; resolves once all connections are closed. */
  stop(): Promise<void>;
}

async function acceptAt(address: string, app: FastifyInstance, log: Log): Promise<Accepting> {
  const parsed = parseAddress(address);
  if (parsed === undefined) throw new GatewayError("internal", `cannot listen: ${address} is not host:port or :port`);
  await app.listen({ port: parsed.port, host: parsed.host ?? "::" });
  // Accepting fails, for example, when no file descriptor is left. The listener stays open and accepts again later.
  app.server.on("error", (error) => log.warn("data plane failed to accept", { error }));
  const bound = app.server.address() as AddressInfo;
  return {
    address: formatAddress({ host: bound.address, port: bound.port }),
    port: bound.port,
    stop: () => new Promise((closed) => void stopAccepting(app.server, closed)),
  };
}

async function takeFrom({ address, port, onConnection }: Accepted, app: FastifyInstance): Promise<Accepting> {
  await app.ready();
  // From this event on the server checks the timeouts of its connections.
  app.server.emit("listening");
  const open = new Set<Socket>();
  let onNone: (() => void) | undefined;
  onConnection((socket) => {
    open.add(socket);
    socket.once("close", () => {
      open.delete(socket);
      if (open.size === 0) onNone?.();
    });
    app.server.emit("connection", socket);
  });
  return {
    address,
    port,
    stop: () =>
      new Promise((closed) => {
        onNone = closed;
        if (open.size === 0) closed();
      }),
  };
}

/**
 * Answers bytes that the HTTP parser refuses, which never become a request, with an error in the compat shape. Then it closes the
 * socket.
 */
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

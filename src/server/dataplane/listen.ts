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
  LISTEN_BACKLOG,
  type Log,
  parseAddress,
  stopAccepting,
} from "../../base/index.ts";
import { refusalBody, refusalHeaders } from "../core/dialects/index.ts";
import { KEEP_ALIVE_MS } from "./answer-writer.ts";
import { createConnectionAdmission } from "./connection-admission.ts";
import { createConnections } from "./connections.ts";
import { Exchange } from "./exchange.ts";
import { refuseUpgrade } from "./hops/websocket/tunnel.ts";
import { headWithoutUpgrade, offersWebSocket } from "./ignored-upgrade.ts";
import { dialectOf } from "./match-route.ts";
import type { Ports, TlsLayer, TlsLayerAnswer } from "./ports.ts";
import { dialectForm } from "./refusal-form.ts";
import { requestIdOf } from "./request-id.ts";
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

interface Listener {
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
export interface ConnectionSource {
  readonly address: string;
  readonly port: number;
  /** Registers the listener for connections from which no byte has been read yet. Must be called once. */
  onConnection(listener: (socket: Socket) => void): void;
}

/** Opens the listener; without `tls` it speaks plain HTTP. Rejects with the system's error if the address cannot be bound. */
export async function listen(source: string | ConnectionSource, ports: Ports, tls?: TlsLayer): Promise<Listener> {
  const draining = new AbortController();
  const drainEnded = new AbortController();
  const shutdown = { draining: draining.signal, drainEnded: drainEnded.signal };
  setMaxListeners(0, shutdown.draining, shutdown.drainEnded); // every session adds a listener
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
      if (connections.hasUnansweredRequest(socket)) socket.destroy();
      else answerParseError(error, socket);
    },
  });
  // `serve` routes every request itself; the framework's router and hooks would only add latency.
  app.server.removeAllListeners("request");
  app.server.on("request", (request: IncomingMessage, response: ServerResponse) => handle(request, response));
  const connectionListeners = app.server.listeners("connection") as ((socket: Duplex) => void)[];
  const admitConnection = createConnectionAdmission({ connections, log: ports.log, isPlain: tls === undefined });
  app.server.removeAllListeners("connection");
  app.server.on("connection", (raw: Socket) => admitConnection(raw, () => startConnection(raw)));
  /** Registers a connection and passes it to the HTTP server, with `tls` only after the TLS handshake. */
  const startConnection = (raw: Socket): void => {
    connections.open(raw);
    const serveHttp = (socket: Duplex): void => {
      for (const listener of connectionListeners) listener.call(app.server, socket);
    };
    if (tls === undefined) serveHttp(raw);
    else
      tls.accept(raw, (socket) => {
        if (socket !== raw) connections.replaceSocket(raw, socket);
        serveHttp(socket);
      });
  };
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    const tlsAnswer = tls?.intercept(request);
    if (tlsAnswer?.kind === "challenge") {
      void answerChallenge(response, tlsAnswer.keyAuthorization);
      return;
    }
    const exchange = new Exchange(request, response, ports);
    connections.beginExchange(exchange);
    exchange.onClosed = connections.endExchange;
    if (tlsAnswer === undefined) {
      serve(exchange, ports);
      return;
    }
    exchange.form = dialectForm(dialectOf(request));
    exchange.closeAfterAnswer();
    exchange.refuse(tlsAnswer.refusal);
    exchange.report.markServed();
  };
  // Without this listener Node would send `100 Continue` by itself, before the request is checked.
  app.server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    app.server.emit("request", request, response);
  });
  // Without this listener Node would answer 417 by itself. Unknown expectations may be ignored (RFC 9110, section 10.1.1).
  app.server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    app.server.emit("request", request, response);
  });
  app.server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (connections.hasUnansweredRequest(socket)) {
      socket.destroy();
      return;
    }
    if (!offersWebSocket(request)) {
      reparseWithoutUpgrade(request, socket, head);
      return;
    }
    const tlsAnswer = tls?.intercept(request);
    if (tlsAnswer !== undefined) {
      refuseSession(tlsAnswer, request, socket, ports);
      return;
    }
    connections.becomeSession(socket, serveUpgrade(request, socket, head, ports, shutdown));
  });

  // Without this listener Node would close the connection without an answer.
  app.server.on("connect", (request: IncomingMessage, socket: Duplex) => {
    if (connections.hasUnansweredRequest(socket)) {
      socket.destroy();
      return;
    }
    const refusal = new GatewayError("invalid_request", NOT_A_PROXY);
    refuseSession({ kind: "refused", refusal }, request, socket, ports);
  });

  /** Parses the request again without its Upgrade offer. */
  const reparseWithoutUpgrade = (request: IncomingMessage, socket: Duplex, bytesAfterHead: Buffer): void => {
    const head = headWithoutUpgrade(request);
    if (head === undefined) {
      const refusal = new GatewayError("invalid_request", "The request cannot be read without its Upgrade header.");
      refuseSession({ kind: "refused", refusal }, request, socket, ports);
      return;
    }
    socket.unshift(bytesAfterHead);
    socket.unshift(head);
    for (const listener of connectionListeners) listener.call(app.server, socket);
  };

  const acceptor = typeof source === "string" ? await acceptOn(source, app, ports.log) : await acceptFrom(source, app);
  return {
    address: acceptor.address,
    port: acceptor.port,
    async drain(limitMs) {
      draining.abort();
      connections.drain(limitMs);
      const closed = acceptor.stop();
      const cut = setTimeout(() => {
        drainEnded.abort();
        const left = connections.cutOff();
        if (left.requests + left.sessions === 0) return;
        ports.log.warn("closed connections that were still open at the end of the drain", {
          ...left,
          drain: formatDuration(limitMs),
        });
      }, limitMs);
      await closed.finally(() => clearTimeout(cut));
      drainEnded.abort();
      await app.close();
    },
  };
}

/** Answers an ACME HTTP-01 challenge (RFC 8555, section 8.3). A validator asks from several addresses, and more than once. */
async function answerChallenge(
  response: ServerResponse,
  pending: Extract<TlsLayerAnswer, { kind: "challenge" }>["keyAuthorization"],
): Promise<void> {
  const keyAuthorization = (await pending) ?? "";
  const headers = { "content-type": "application/octet-stream", "content-length": keyAuthorization.length };
  response.writeHead(keyAuthorization === "" ? 404 : 200, { ...headers, connection: "close" });
  response.end(keyAuthorization);
}

function refuseSession(tlsAnswer: TlsLayerAnswer, request: IncomingMessage, socket: Duplex, ports: Ports): void {
  socket.on("error", () => undefined);
  const refusal =
    tlsAnswer.kind === "refused"
      ? tlsAnswer.refusal
      : new GatewayError("invalid_request", "The path of an ACME challenge does not accept WebSockets.");
  const requestId = requestIdOf(request, ports.snapshot());
  ports.metrics.countRequest(ports.metrics.labels("none"), refusal.status, refusal.code);
  const headers = [...refusalHeaders(refusal, requestId), "content-type", "application/json"];
  refuseUpgrade(socket, refusal.status, headers, refusalBody("compat", refusal, requestId));
}

/** Source of connections. */
interface Acceptor {
  readonly address: string;
  readonly port: number;
  /** Stops accepting; resolves once all connections are closed. */
  stop(): Promise<void>;
}

async function acceptOn(address: string, app: FastifyInstance, log: Log): Promise<Acceptor> {
  const parsed = parseAddress(address);
  if (parsed === undefined) throw new GatewayError("internal", `cannot listen: ${address} is not host:port or :port`);
  await app.listen({ port: parsed.port, host: parsed.host ?? "::", backlog: LISTEN_BACKLOG });
  // Accepting fails, for example, when no file descriptor is left. The listener stays open and accepts again later.
  app.server.on("error", (error) => log.warn("data plane failed to accept", { error }));
  const bound = app.server.address() as AddressInfo;
  return {
    address: formatAddress({ host: bound.address, port: bound.port }),
    port: bound.port,
    stop: () => new Promise((closed) => void stopAccepting(app.server, closed)),
  };
}

async function acceptFrom({ address, port, onConnection }: ConnectionSource, app: FastifyInstance): Promise<Acceptor> {
  await app.ready();
  // From this event on the server checks the timeouts of its connections.
  app.server.emit("listening");
  const open = new Set<Socket>();
  let onAllClosed: (() => void) | undefined;
  onConnection((socket) => {
    open.add(socket);
    socket.once("close", () => {
      open.delete(socket);
      if (open.size === 0) onAllClosed?.();
    });
    app.server.emit("connection", socket);
  });
  return {
    address,
    port,
    stop: () =>
      new Promise((closed) => {
        onAllClosed = closed;
        if (open.size === 0) closed();
      }),
  };
}

/**
 * Answers bytes that the HTTP parser refuses, which never become a request, with an error in the compat shape. Then it closes the
 * socket.
 */
function answerParseError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || socket.writableLength > 0) {
    socket.destroy();
    return;
  }
  const code: ParseErrorCode =
    error.code === "HPE_HEADER_OVERFLOW"
      ? "headers_too_large"
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? "request_timeout"
        : "invalid_request";
  const refusal = new GatewayError(code, PARSE_ERROR_MESSAGES[code]);
  const body = refusalBody("compat", refusal, "");
  socket.end(
    `HTTP/1.1 ${refusal.status} ${STATUS_TEXT[code]}\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
  const linger = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(linger));
}

type ParseErrorCode = "headers_too_large" | "request_timeout" | "invalid_request";

const PARSE_ERROR_MESSAGES: Readonly<Record<ParseErrorCode, string>> = {
  headers_too_large: `The request's headers are larger than ${MAX_HEADER_BYTES} bytes.`,
  request_timeout: "The request did not arrive in time.",
  invalid_request: "This is not a well-formed HTTP request.",
};
const STATUS_TEXT: Readonly<Record<ParseErrorCode, string>> = {
  headers_too_large: "Request Header Fields Too Large",
  request_timeout: "Request Timeout",
  invalid_request: "Bad Request",
};

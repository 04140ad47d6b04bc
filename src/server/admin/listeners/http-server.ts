/**
 * Shared HTTP/1.1 server of the admin socket and listener: limits on connections, headers and time, the id and the errors of
 * every answer, answers to invalid HTTP, and draining.
 */

import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { asRefusal, type RefusalCode } from "../../../base/index.ts";
import { discardRest, endAfterLinger, registerExpectContinue } from "../body-reader.ts";
import { errorAnswer, refusal } from "../refusal.ts";

export interface HttpOptions {
  /** Maximum number of connections. It is also the length of the accept queue, since a Unix socket refuses if that is full. */
  readonly maxConnections: number;
  /** Called before a connection is read; if it throws, the connection is closed. */
  readonly onConnection: (socket: Socket) => void;
  /** Registers hooks and routes. Bodies are unread when a route is entered: their limit depends on the route. */
  readonly registerRoutes: (app: FastifyInstance) => void;
  /** Called when accepting fails, for example without a free descriptor; the server continues. */
  readonly onAcceptFailure: (error: Error) => void;
  /** Called with an internal error, whose text is not in the answer. */
  readonly onInternalError: (request: FastifyRequest, error: unknown) => void;
  /** Time limit for a request's complete headers, in milliseconds; ten seconds by default. */
  readonly headersLimitMs?: number;
}

interface HttpServer {
  /** Starts listening. Rejects with the system's error. */
  listen(where: { readonly path: string } | { readonly host: string; readonly port: number }): Promise<void>;
  /** Serves a connection that another server has accepted. */
  accept(socket: Socket): void;
  address(): AddressInfo | string | null;
  /** Stops accepting, and lets running requests finish within `limitMs`; then closes the rest. */
  close(limitMs: number): Promise<void>;
}

const MAX_HEADER_BYTES = 16 << 10;
const HEADERS_LIMIT_MS = 10_000;
/** Interval of checks for slow headers and requests, in milliseconds. */
const LIMIT_CHECK_MS = 1_000;
/** Time limit of a whole request, in milliseconds. Sending the archive of a large state from a slow disk takes minutes. */
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
const MAX_IN_PROGRESS = 16;

/** Headers of every answer: no caching, and no content sniffing by browsers. */
const COMMON_HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const;

/** Valid request id of a caller: visible ASCII. */
const REQUEST_ID = /^[!-~]{1,128}$/;

/** Returns the caller's own id if it is valid. */
function requestId({ headers }: Pick<IncomingMessage, "headers">): string {
  const clientRequestId = headers["x-request-id"];
  return typeof clientRequestId === "string" && REQUEST_ID.test(clientRequestId) ? clientRequestId : randomUUID();
}

/** Abort signals by request. A fastify decorator would be missing on requests whose path fastify cannot decode. */
const signals = new WeakMap<FastifyRequest, AbortSignal>();

/** Returns the signal that aborts when the answer has been sent, or the caller has left. */
export const signalOf = (request: FastifyRequest): AbortSignal => signals.get(request) ?? AbortSignal.abort();

export function createHttpServer(options: HttpOptions): HttpServer {
  const {
    maxConnections,
    onConnection,
    registerRoutes,
    onAcceptFailure,
    onInternalError,
    headersLimitMs = HEADERS_LIMIT_MS,
  } = options;
  const answer = answerError(onInternalError);
  const app = Fastify({
    logger: false,
    exposeHeadRoutes: false,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    requestTimeout: REQUEST_LIMIT_MS,
    connectionTimeout: INACTIVITY_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    clientErrorHandler: refuseMalformedHttp,
    genReqId: requestId,
    http: {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: headersLimitMs,
      connectionsCheckingInterval: Math.min(LIMIT_CHECK_MS, headersLimitMs),
      requireHostHeader: false, // Refused below, with our own message.
    },
    // Fastify calls this for a path that it cannot decode, without running the hooks.
    frameworkErrors(_error, request, reply) {
      try {
        admit(request, reply);
        if (!reply.sent) throw refusal("invalid", "The path is not well-formed.");
      } catch (error) {
        void answer(error, request, reply);
      }
    },
    routerOptions: {
      maxParamLength: MAX_HEADER_BYTES,
      // The query is parsed once the caller is known, and a repeated parameter is refused.
      querystringParser: (text) => ({ text }),
    },
  });
  app.server.maxConnections = maxConnections;
  app.addHook("onRequest", async (request, reply) => admit(request, reply));
  app.setErrorHandler((error, request, reply) => answer(error, request, reply));
  // Bodies are read by the route, with its own limit.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));
  registerRoutes(app);

  // Without this listener Node would answer `100 Continue` at once. Here the caller is authenticated first.
  app.server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    registerExpectContinue(request, response);
    app.server.emit("request", request, response);
  });

  /** Open connections, with the number of requests in progress on each. */
  const connections = new Map<Socket, number>();
  let isClosing = false;
  app.server.prependListener("connection", (socket: Socket) => {
    connections.set(socket, 0);
    socket.once("close", () => connections.delete(socket));
    try {
      onConnection(socket);
    } catch {
      socket.destroy();
    }
  });
  const admit = (request: FastifyRequest, reply: FastifyReply): void => {
    const { socket } = request.raw;
    const inProgress = connections.get(socket) ?? 0;
    if (inProgress >= MAX_IN_PROGRESS) {
      // Closing the connection also drops requests that were pipelined behind this one.
      reply.hijack();
      return void socket.destroy();
    }
    connections.set(socket, inProgress + 1);
    const ended = new AbortController();
    signals.set(request, ended.signal);
    reply.raw.once("close", () => {
      ended.abort(new Error("the caller has disconnected"));
      const left = (connections.get(socket) ?? 1) - 1;
      if (connections.has(socket)) connections.set(socket, left);
      if (isClosing && left === 0) socket.destroySoon();
    });
    // The rest of an unread body would be parsed as the next request.
    reply.raw.once("finish", () => {
      if (!request.raw.complete) endAfterLinger(request.raw);
    });
    reply.headers({ ...COMMON_HEADERS, "x-gateway-request-id": request.id });
    // Exactly one `host` header is required; HTTP/1.0 requests may have none (RFC 9112, section 3.2).
    const count = request.raw.headersDistinct["host"]?.length ?? 0;
    if (count > 1 || (count === 0 && request.raw.httpVersion !== "1.0")) {
      reply.header("connection", "close");
      throw refusal("invalid", "A request must have exactly one `host` header.");
    }
  };

  return {
    async listen(where) {
      await app.listen({ ...where, backlog: maxConnections });
      app.server.on("error", onAcceptFailure);
    },
    accept: (socket) => void app.server.emit("connection", socket),
    address: () => app.server.address(),
    async close(limitMs) {
      isClosing = true;
      const closed = app.close();
      // Node counts a connection without any data as busy, and stops its timeout once the server closes.
      for (const [socket, inProgress] of connections) if (inProgress === 0) socket.destroy();
      const cut = setTimeout(() => app.server.closeAllConnections(), limitMs);
      await closed.finally(() => clearTimeout(cut));
    },
  };
}

/** Returns the error handler. Before it answers, it reads the rest of the request's body, within limits. */
function answerError(onInternalError: HttpOptions["onInternalError"]) {
  return async (error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const signal = signalOf(request);
    const known = isMalformedType(error) ? refusal("invalid", "The header content-type is not well-formed.") : error;
    await discardRest(request.raw, asRefusal(known).code !== "unauthenticated", signal);
    // The caller has left.
    if (signal.aborted) return reply.hijack();
    const { status, headers, body, fault } = errorAnswer(known);
    if (fault !== undefined) onInternalError(request, fault);
    if (!request.raw.complete) reply.header("connection", "close");
    return reply.code(status).headers(headers).type("application/json").send(Buffer.from(body));
  };
}

/** Returns whether fastify refused the content type before the route was entered. */
const isMalformedType = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "FST_ERR_CTP_INVALID_MEDIA_TYPE";

/** Answers input that the HTTP parser refuses, and that never becomes a request. */
function refuseMalformedHttp(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || socket.writableLength > 0) {
    socket.destroy();
    return;
  }
  const [code, statusText, message] = MALFORMED_HTTP_REFUSALS[error.code ?? ""] ?? NOT_HTTP;
  const { status, body } = errorAnswer(refusal(code, message));
  socket.end(
    `HTTP/1.1 ${status} ${statusText}\r\ncontent-type: application/json\r\ncache-control: no-store\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
  const linger = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(linger));
}

type MalformedHttpRefusal = readonly [code: RefusalCode, statusText: string, message: string];

const NOT_HTTP: MalformedHttpRefusal = ["invalid", "Bad Request", "This is not a well-formed HTTP request."];
const MALFORMED_HTTP_REFUSALS: Readonly<Record<string, MalformedHttpRefusal>> = {
  HPE_HEADER_OVERFLOW: [
    "headers_too_large",
    "Request Header Fields Too Large",
    `The request's headers are larger than ${MAX_HEADER_BYTES} bytes.`,
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ["request_timeout", "Request Timeout", "The request did not arrive in time."],
};

/**
 * The admin API on the local socket. Source: specification document 1, Authentication. The socket is of mode 0600, so
 * whoever connects is the user of this process, or root in its place: the caller is `unix:<uid of the process>`.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import Fastify from "fastify";
import type { RefusalCode } from "../../base/index.ts";
import { openPlane } from "./plane.ts";
import type { Ports } from "./ports.ts";
import { localPrincipal } from "./principal.ts";
import { errorAnswer, refusal } from "./refusal.ts";
import { serve } from "./request.ts";
import { placeSocket } from "./socket-path.ts";

export interface LocalDoorOptions {
  /** Absolute, or relative to the working directory. */
  readonly path: string;
  readonly ports: Ports;
  /** Of this process. */
  readonly uid: number;
}

export interface LocalDoor {
  readonly path: string;
  /** Stops accepting, answers what waits, and lets running requests end within `limitMs`; then removes the socket. */
  close(limitMs?: number): Promise<void>;
}

/** Consoles, each with a blocking read a table, and scripts. */
const MAX_CONNECTIONS = 4_096; // also those not yet taken: a Unix socket refuses at once when its queue is full
const MAX_HEADER_BYTES = 16 << 10;
const HEADERS_LIMIT_MS = 10_000;
/** The whole request: the archive of a large state from a slow disk. */
const REQUEST_LIMIT_MS = 600_000;
/** Nothing moves for the longest blocking read; beyond it somebody has stopped reading. */
const INACTIVITY_MS = 330_000;
const KEEP_ALIVE_MS = 75_000;
const CLOSE_LIMIT_MS = 5_000;

/** Rejects with a sentence for the operator when the socket cannot be had. */
export async function openLocalDoor({ path, ports, uid }: LocalDoorOptions): Promise<LocalDoor> {
  const plane = openPlane(ports);
  const principal = localPrincipal(uid);
  const app = Fastify({
    logger: false,
    exposeHeadRoutes: false,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    requestTimeout: REQUEST_LIMIT_MS,
    connectionTimeout: INACTIVITY_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    clientErrorHandler: refuseUnreadable,
    http: { maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: HEADERS_LIMIT_MS },
    // Paths are split and decoded by us; one that the framework cannot decode is refused like any other.
    frameworkErrors: (_error, request, reply) => {
      reply.hijack();
      handle(request.raw, reply.raw);
    },
    routerOptions: { maxParamLength: MAX_HEADER_BYTES },
  });
  app.server.maxConnections = MAX_CONNECTIONS;
  // Hijacked before the framework looks at the body: its bound depends on the operation.
  app.addHook("onRequest", (request, reply) => {
    reply.hijack();
    handle(request.raw, reply.raw);
  });
  app.all("/*", () => undefined);
  app.setNotFoundHandler(() => undefined);
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    void serve(plane, request, response, principal);
  };

  try {
    const placed = await placeSocket(path, (bound) => app.listen({ path: bound, backlog: MAX_CONNECTIONS }));
    let closing: Promise<void> | undefined;
    return {
      path,
      close(limitMs = CLOSE_LIMIT_MS) {
        closing ??= (async () => {
          // The name goes first: whoever comes now is told that nobody is there, not left in a queue.
          await placed.remove();
          plane.close();
          const cut = setTimeout(() => app.server.closeAllConnections(), limitMs);
          await app.close().finally(() => clearTimeout(cut));
        })();
        return closing;
      },
    };
  } catch (error) {
    plane.close();
    await app.close();
    throw error;
  }
}

/** What the HTTP parser refuses never becomes a request. */
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

/**
 * Handles the HTTP part of a WebSocket tunnel: validates the client's upgrade request, forwards headers, performs the upstream's
 * handshake, and sends refusals on the bare socket.
 *
 * Source: RFC 6455 sections 4.1, 4.2 and 11.3; RFC 9110 section 7.6.1 (hop-by-hop headers); dialects reference, section 4.1 (the
 * credential inside the subprotocol list). Headers are raw name and value pairs, like `rawHeaders` of node:http: order, spelling
 * and repetitions are kept.
 */
import {
  type ClientRequest,
  type IncomingMessage,
  STATUS_CODES,
  validateHeaderName,
  validateHeaderValue,
} from "node:http";
import type { Duplex } from "node:stream";
import type { ConnectionOptions } from "node:tls";
import { WebSocket } from "ws";
import { GatewayError, HOP_BY_HOP_HEADERS } from "../../../../base/index.ts";
import type { Route, Server } from "../../../upstream/index.ts";
import { connectionThrough } from "./connection-through-proxy.ts";
import { handshakeFailure, isRedirect, redirectError } from "./handshake-faults.ts";

/** Prefix of the subprotocol in which clients that cannot set headers (browsers) send their credential. */
const CREDENTIAL_PROTOCOL = "openai-insecure-api-key.";

/** Maximum size of an upstream's error body, which is kept in memory. A longer body is truncated. */
const REFUSAL_BODY_MAX_BYTES = 256 * 1024;

/** Maximum size of data that is read from a client before the 101. It should not send any; the rest stays in the kernel. */
const EARLY_MAX_BYTES = 64 * 1024;

/** Time that a refused client has to read the answer and close the connection. */
const REFUSAL_LINGER_MS = 5_000;

const PROTOCOL_LIST_MAX = 32;
const PROTOCOL = /^[!#$%&'*+\-.0-9A-Z^_`a-z|~]+$/;
const HANDSHAKE_KEY = /^[+/0-9A-Za-z]{22}==$/;

/** Headers that are not forwarded: hop-by-hop ones, and those that each side of the tunnel sets itself. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP_HEADERS,
  ...["host", "content-length", "expect", "http2-settings"],
]);

/** Removes headers that concern one connection only: hop-by-hop headers, `host`, lengths, and all `sec-websocket-*`. */
export function prepareUpgradeHeaders(rawHeaders: readonly string[]): string[] {
  return pairs(endToEndHeaders(rawHeaders))
    .filter(([name]) => !name.toLowerCase().startsWith("sec-websocket-"))
    .flat();
}

/** Removes hop-by-hop headers. In a refusal `sec-websocket-version` lists the versions that the server supports. */
function endToEndHeaders(rawHeaders: readonly string[]): string[] {
  const dropped = new Set(HOP_BY_HOP);
  for (const [name, value] of pairs(rawHeaders)) {
    if (name.toLowerCase() !== "connection") continue;
    for (const option of value.split(",")) dropped.add(option.trim().toLowerCase());
  }
  return pairs(rawHeaders)
    .filter(([name]) => !dropped.has(name.toLowerCase()))
    .flat();
}

/** Returns whether a header is hidden from the client. */
export type IsHeaderHidden = (lowerCaseName: string, value: string) => boolean;

/** Returns `ours` followed by the headers of `theirs` that are not hidden and that `ours` does not replace. */
export function withOwnHeaders(ours: readonly string[], theirs: readonly string[], hides?: IsHeaderHidden): string[] {
  const named = new Set(pairs(ours).map(([name]) => name.toLowerCase()));
  const isShown = ([name, value]: readonly [string, string]): boolean =>
    !named.has(name.toLowerCase()) && hides?.(name.toLowerCase(), value) !== true;
  return [...ours, ...pairs(theirs).filter(isShown).flat()];
}

/** Formats header lines. Throws if a name or value is invalid, so no value can end a line early. */
export function headerLines(rawHeaders: readonly string[]): string[] {
  return pairs(rawHeaders).map(([name, value]) => {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return `${name}: ${value}`;
  });
}

/** Returns the subprotocols that a client offers, in order. Throws `invalid_request` for a list that RFC 6455 does not allow. */
export function offeredProtocols(request: IncomingMessage): readonly string[] {
  const header = request.headers["sec-websocket-protocol"];
  if (header === undefined) return [];
  const protocols = header.split(",").map((item) => item.trim());
  assertProtocols(protocols);
  return protocols;
}

/** Returns the credential in a list of subprotocols, if any. It is a secret and is only passed to authentication. */
export function protocolCredential(protocols: readonly string[]): string | undefined {
  return protocols.find((item) => item.startsWith(CREDENTIAL_PROTOCOL))?.slice(CREDENTIAL_PROTOCOL.length);
}

/** Returns the subprotocols to offer upstream if the gateway's credential replaces the client's. */
export function withoutProtocolCredential(protocols: readonly string[]): readonly string[] {
  return protocols.filter((item) => !item.startsWith(CREDENTIAL_PROTOCOL));
}

function assertProtocols(protocols: readonly string[]): void {
  const isList = protocols.length <= PROTOCOL_LIST_MAX && protocols.every((item) => PROTOCOL.test(item));
  if (isList && new Set(protocols).size === protocols.length) return;
  throw new GatewayError("invalid_request", "The Sec-WebSocket-Protocol header is not a list of distinct tokens.");
}

/** Returns false for a WebSocket version other than 13. Throws `invalid_request` if the request is not a WebSocket handshake. */
export function isVersion13(request: IncomingMessage): boolean {
  const key = request.headers["sec-websocket-key"] ?? "";
  if (request.method !== "GET" || request.headers.upgrade?.toLowerCase() !== "websocket" || !HANDSHAKE_KEY.test(key)) {
    throw new GatewayError("invalid_request", "The request is not a WebSocket handshake.");
  }
  return request.headers["sec-websocket-version"] === "13";
}

/**
 * Answers an upgrade request with a plain HTTP/1.1 response and ends the connection. The length and `connection: close` are set
 * here and override those in `headers` (raw pairs). A client that does not close the connection is cut off.
 */
export function refuseUpgrade(socket: Duplex, status: number, headers: readonly string[], body: Buffer | string): void {
  socket.on("error", ignore);
  if (socket.destroyed || !socket.writable) {
    socket.destroy();
    return;
  }
  const isBodyless = status === 204 || status === 304;
  const length = isBodyless ? [] : [`content-length: ${Buffer.byteLength(body)}`];
  const lines = [...headerLines(endToEndHeaders(headers)), ...length, ...connectionLines(status, headers)];
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("\r\n")}\r\n\r\n`, "latin1");
  socket.end(isBodyless ? "" : body);
  // Keep reading: closing with unread bytes in the kernel resets the connection, and the reset may overtake the answer.
  const linger = setTimeout(() => socket.destroy(), REFUSAL_LINGER_MS);
  socket.once("close", () => clearTimeout(linger));
  socket.once("end", () => socket.end(() => socket.destroy()));
  socket.resume();
}

/** Returns the connection headers. A 426 also names the protocol to use instead. Source: RFC 9110, section 15.5.22. */
function connectionLines(status: number, headers: readonly string[]): readonly string[] {
  if (status !== 426) return ["connection: close"];
  const isOfVersion = headers.some((name, at) => at % 2 === 0 && name.toLowerCase() === "sec-websocket-version");
  return ["connection: close, upgrade", `upgrade: ${isOfVersion ? "websocket" : "HTTP/1.1"}`];
}

interface ClientWatch {
  /** Stops watching. Leaves the socket paused and returns the data that the client has sent so far. */
  stop(): Buffer;
}

/** Reads from the client while the upstream is dialed, because an unread socket does not report that its peer has gone. */
export function watchClient(socket: Duplex, head: Buffer, onLeft: () => void): ClientWatch {
  const early: Buffer[] = [head];
  let earlyBytes = head.length;
  const keep = (chunk: Buffer): void => {
    early.push(chunk);
    earlyBytes += chunk.length;
    if (earlyBytes > EARLY_MAX_BYTES) socket.pause();
  };
  socket.on("data", keep).once("end", onLeft).once("close", onLeft);
  socket.resume();
  return {
    stop() {
      socket.pause();
      socket.off("data", keep).off("end", onLeft).off("close", onLeft);
      return Buffer.concat(early);
    },
  };
}

export interface UpstreamAddress {
  /** URL with the scheme `ws://` or `wss://`, path and query. */
  readonly url: string;
  /** Header pairs from `prepareUpgradeHeaders`, with the upstream's credential. */
  readonly headers: readonly string[];
  /** Subprotocols offered to the upstream; see `withoutProtocolCredential`. */
  readonly protocols: readonly string[];
  /** TLS settings for `wss://`: the upstream's authorities and the gateway's own certificate. */
  readonly connect?: Pick<
    ConnectionOptions,
    "ca" | "cert" | "key" | "passphrase" | "servername" | "rejectUnauthorized" | "minVersion" | "maxVersion"
  >;
  /** Servers behind the host name, tried in order until one accepts a connection; `undefined` to connect to the name itself. */
  readonly route?: Route;
}

export type DialOutcome =
  /**
   * Opened WebSocket. It is paused, so that nothing is read before the client is connected. `protocol`: the subprotocol that the
   * upstream selected.
   */
  | {
      readonly kind: "open";
      readonly websocket: WebSocket;
      readonly transport: Duplex;
      readonly protocol: string | undefined;
      readonly headers: readonly string[];
    }
  | { readonly kind: "refused"; readonly status: number; readonly headers: readonly string[]; readonly body: Buffer }
  | { readonly kind: "abandoned" };

interface DialOptions {
  /** Timeout of the whole handshake, including the body of a refusal. */
  readonly handshakeMs: number;
  readonly maxMessageBytes: number;
  readonly closeMs: number;
  /** Whether a redirect is passed on like any other refusal; otherwise it becomes an error. */
  readonly passesRedirects: boolean;
  /** Aborted when the client has gone. The handshake is cut off then, and the outcome is `abandoned`. */
  readonly clientLeft: AbortSignal;
  readonly shutdown: AbortSignal;
}

/** Tries the servers in order until one is connected. Rejects as `dialOne` does. */
export async function dial(upstream: UpstreamAddress, options: DialOptions): Promise<DialResult> {
  const { route } = upstream;
  let server = route?.next(undefined);
  if (route !== undefined && server === undefined) {
    const suffix = route.noServerReason === undefined ? "" : `: ${route.noServerReason}`;
    throw new GatewayError("upstream_unreachable", `The upstream could not be reached${suffix}.`);
  }
  for (;;) {
    server?.beginAttempt();
    try {
      const outcome = await dialOne(upstream, server, options);
      server?.recordConnect();
      if (outcome.kind !== "open") server?.endAttempt();
      return { outcome, onSessionEnd: () => server?.endAttempt() };
    } catch (error) {
      server?.endAttempt();
      const next = isUnconnected(error) ? nextAfter(server, route, error) : undefined;
      if (next === undefined) throw error;
      server = next;
    }
  }
}

function nextAfter(failed: Server | undefined, route: Route | undefined, cause: unknown): Server | undefined {
  failed?.recordConnectFailure(cause);
  return route?.next(failed);
}

/** Returns whether no connection was made, so that nothing was sent. */
function isUnconnected(error: unknown): boolean {
  const cause = error instanceof GatewayError ? (error.cause as NodeJS.ErrnoException | undefined) : undefined;
  return cause?.syscall === "connect" || cause instanceof ConnectTimeoutError;
}

/** Error for the connection timeout of one of several servers. */
class ConnectTimeoutError extends Error {
  readonly code = "ETIMEDOUT";
}

/** Connection timeout per server, the same as for requests to servers of a pool: the other servers are close by, too. */
const SERVER_CONNECT_MS = 2_000;

function limitConnect(request: ClientRequest): void {
  request.once("socket", (socket) => {
    const limit = setTimeout(() => request.destroy(new ConnectTimeoutError()), SERVER_CONNECT_MS);
    socket.once("connect", () => clearTimeout(limit)).once("close", () => clearTimeout(limit));
  });
}

export interface DialResult {
  readonly outcome: DialOutcome;
  /** Must be called after a session that was opened has ended. */
  readonly onSessionEnd: () => void;
}

/**
 * Performs one handshake. Rejects with `upstream_unreachable`, `upstream_timeout`, `upstream_invalid`, `upstream_redirect`, or
 * `overloaded` if the gateway is shutting down.
 */
function dialOne(upstream: UpstreamAddress, server: Server | undefined, options: DialOptions): Promise<DialOutcome> {
  return new Promise((resolve, reject) => {
    if (options.clientLeft.aborted) return resolve({ kind: "abandoned" });
    if (options.shutdown.aborted) return reject(shuttingDown());
    const websocket = connect(upstream, server, options);
    let reply: IncomingMessage | undefined;
    let protocol: string | undefined;

    /** Settles the promise; only the first call has an effect. */
    const settle = (decide: () => void): void => {
      clearTimeout(deadline);
      options.clientLeft.removeEventListener("abort", onLeft);
      options.shutdown.removeEventListener("abort", onShutdown);
      decide();
    };
    const giveUp = (decide: () => void): void => {
      settle(decide);
      websocket.terminate();
    };
    const fail = (error: GatewayError): void => giveUp(() => reject(error));
    const onLeft = (): void => giveUp(() => resolve({ kind: "abandoned" }));
    const onShutdown = (): void => fail(shuttingDown());
    const onTimeout = (): void =>
      fail(new GatewayError("upstream_timeout", "The upstream did not answer the WebSocket handshake in time."));
    const deadline = setTimeout(onTimeout, options.handshakeMs);
    options.clientLeft.addEventListener("abort", onLeft);
    options.shutdown.addEventListener("abort", onShutdown);

    // This listener is never removed: an interrupted handshake reports an error here after the outcome is decided.
    websocket.on("error", (cause) => settle(() => reject(handshakeFailure(cause))));
    websocket.once("upgrade", (response: IncomingMessage) => {
      reply = response;
      protocol = response.headers["sec-websocket-protocol"];
      // If none of its subprotocols was selected, RFC 6455 lets the client decide whether to continue, but `ws` fails. The
      // decision belongs to the real client, so `ws` gets the first subprotocol as the selected one.
      const assumed = upstream.protocols[0];
      if (protocol === undefined && assumed !== undefined) response.headers["sec-websocket-protocol"] = assumed;
    });
    websocket.once("open", () => {
      websocket.pause();
      settle(() => {
        if (reply === undefined) return reject(new GatewayError("internal", "A WebSocket opened without a handshake."));
        const headers = prepareUpgradeHeaders(reply.rawHeaders);
        resolve({ kind: "open", websocket, transport: reply.socket, protocol, headers });
      });
    });
    websocket.once("unexpected-response", (_request: ClientRequest, response: IncomingMessage) => {
      readRefusal(response, (body) => {
        const headers = endToEndHeaders(response.rawHeaders);
        const status = response.statusCode ?? 502;
        const isRefused = !options.passesRedirects && isRedirect(status, response.headers.location);
        if (isRefused) fail(redirectError(status));
        else giveUp(() => resolve({ kind: "refused", status, headers, body }));
      });
      response.once("error", (cause) => {
        fail(new GatewayError("upstream_invalid", "The upstream disconnected during the handshake.", { cause }));
      });
    });
  });
}

function connect(upstream: UpstreamAddress, server: Server | undefined, options: DialOptions): WebSocket {
  const lookup = server?.lookup;
  const proxy = server?.proxies?.proxyFor(new URL(upstream.url));
  assertProtocols(upstream.protocols);
  const fields = new Map<string, { name: string; values: string[] }>();
  for (const [name, value] of pairs(upstream.headers)) {
    const field = fields.get(name.toLowerCase());
    if (field === undefined) fields.set(name.toLowerCase(), { name, values: [value] });
    else field.values.push(value);
  }
  const settings = {
    ...upstream.connect,
    ...(lookup !== undefined && { lookup }),
    ...(proxy !== undefined && { createConnection: connectionThrough(proxy, upstream, options) }),
    perMessageDeflate: false,
    autoPong: false,
    followRedirects: false,
    maxPayload: options.maxMessageBytes,
    // `ws` 8.23 supports this option, but its type declarations lack it.
    closeTimeout: options.closeMs,
    finishRequest(request: ClientRequest) {
      for (const { name, values } of fields.values())
        request.setHeader(name, values.length === 1 ? values[0]! : values);
      // A single server, or one behind a proxy, may use the whole timeout of the handshake.
      if (server !== undefined && server.proxies === undefined) limitConnect(request);
      request.end();
    },
  };
  try {
    return new WebSocket(upstream.url, [...upstream.protocols], settings);
  } catch {
    // The original error contains the address or a header, and so possibly a credential.
    throw new GatewayError("internal", "The upstream's address or headers cannot be used for a WebSocket.");
  }
}

/** Reads the body of a refusal. Calls `done` once with the body, truncated to the limit. */
function readRefusal(response: IncomingMessage, done: (body: Buffer) => void): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const finish = (): void => {
    response.off("data", take).off("end", finish);
    done(Buffer.concat(chunks).subarray(0, REFUSAL_BODY_MAX_BYTES));
  };
  const take = (chunk: Buffer): void => {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= REFUSAL_BODY_MAX_BYTES) finish();
  };
  response.on("data", take).once("end", finish);
}

function pairs(rawHeaders: readonly string[]): (readonly [name: string, value: string])[] {
  const result: (readonly [string, string])[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) result.push([rawHeaders[i]!, rawHeaders[i + 1]!]);
  return result;
}

function shuttingDown(): GatewayError {
  return new GatewayError("overloaded", "The gateway is shutting down.");
}

/** Does nothing. A socket needs a listener for `error`, since Node throws without one. */
export function ignore(): void {}

/**
 * The HTTP part of a WebSocket tunnel: what a client's upgrade request must be, which headers travel, the upstream's
 * handshake, and how a refused upgrade is answered on the bare socket.
 *
 * Source: RFC 6455 sections 4.1, 4.2 and 11.3; RFC 9110 section 7.6.1 (hop-by-hop headers); reference, dialects,
 * section 4.1 (the credential inside the subprotocol list).
 * Headers are raw name and value pairs, as `rawHeaders` of node:http: order, spelling and repetitions are kept.
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
import { handshakeFailure, isRedirect, redirected } from "./handshake-faults.ts";

/** Clients that cannot set headers (browsers) put their credential behind this, in the list of subprotocols. */
const CREDENTIAL_PROTOCOL = "openai-insecure-api-key.";

/** Enough for any provider's error body; more is cut off, since the gateway holds it whole. */
const REFUSAL_BODY_MAX_BYTES = 256 * 1024;

/** A client may not send before the 101; what one sends nevertheless is kept up to here, the rest stays in the kernel. */
const EARLY_MAX_BYTES = 64 * 1024;

/** How long a refused client may take to read its answer and go. */
const REFUSAL_LINGER_MS = 5_000;

const PROTOCOL_LIST_MAX = 32;
const PROTOCOL = /^[!#$%&'*+\-.0-9A-Z^_`a-z|~]+$/;
const HANDSHAKE_KEY = /^[+/0-9A-Za-z]{22}==$/;

/** `host` and the lengths are no hop-by-hop headers, but each side of a tunnel has its own. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP_HEADERS,
  ...["host", "content-length", "expect", "http2-settings"],
]);

/** Pairs without those that belong to one connection: hop-by-hop, `host`, lengths, and all `sec-websocket-*`. */
export function prepareUpgradeHeaders(rawHeaders: readonly string[]): string[] {
  return pairs(endToEndHeaders(rawHeaders))
    .filter(([name]) => !name.toLowerCase().startsWith("sec-websocket-"))
    .flat();
}

/** A refusal keeps its `sec-websocket-version`, with which a server tells what it does speak. */
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

/** By lower-case name and value. */
export type Hides = (lowerCaseName: string, value: string) => boolean;

/** `theirs` after `ours`, without those that `ours` names, since the gateway's own headers are said once, or that are hidden. */
export function withOwnHeaders(ours: readonly string[], theirs: readonly string[], hides?: Hides): string[] {
  const named = new Set(pairs(ours).map(([name]) => name.toLowerCase()));
  const isShown = ([name, value]: readonly [string, string]): boolean =>
    !named.has(name.toLowerCase()) && hides?.(name.toLowerCase(), value) !== true;
  return [...ours, ...pairs(theirs).filter(isShown).flat()];
}

/** Throws when a name or value could not stand in a header; so nothing can end a line early. */
export function headerLines(rawHeaders: readonly string[]): string[] {
  return pairs(rawHeaders).map(([name, value]) => {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return `${name}: ${value}`;
  });
}

/** The subprotocols a client offers, in its order. Throws `invalid_request` for a list that RFC 6455 does not allow. */
export function offeredProtocols(request: IncomingMessage): readonly string[] {
  const header = request.headers["sec-websocket-protocol"];
  if (header === undefined) return [];
  const protocols = header.split(",").map((item) => item.trim());
  assertProtocols(protocols);
  return protocols;
}

/** The credential that an offered list carries, if any. It is a secret: it goes to authentication and nowhere else. */
export function protocolCredential(protocols: readonly string[]): string | undefined {
  return protocols.find((item) => item.startsWith(CREDENTIAL_PROTOCOL))?.slice(CREDENTIAL_PROTOCOL.length);
}

/** What is offered upstream when a credential of the gateway's replaces the client's. */
export function withoutProtocolCredential(protocols: readonly string[]): readonly string[] {
  return protocols.filter((item) => !item.startsWith(CREDENTIAL_PROTOCOL));
}

function assertProtocols(protocols: readonly string[]): void {
  const isList = protocols.length <= PROTOCOL_LIST_MAX && protocols.every((item) => PROTOCOL.test(item));
  if (isList && new Set(protocols).size === protocols.length) return;
  throw new GatewayError("invalid_request", "The Sec-WebSocket-Protocol header is not a list of distinct tokens.");
}

/** Throws `invalid_request` unless the request asks for a WebSocket; `false` for a version other than 13. */
export function speaksVersion13(request: IncomingMessage): boolean {
  const key = request.headers["sec-websocket-key"] ?? "";
  if (request.method !== "GET" || request.headers.upgrade?.toLowerCase() !== "websocket" || !HANDSHAKE_KEY.test(key)) {
    throw new GatewayError("invalid_request", "The request is not a WebSocket handshake.");
  }
  return request.headers["sec-websocket-version"] === "13";
}

/**
 * Answers an upgrade request with a plain HTTP/1.1 response and ends the connection. The length and `connection: close`
 * are set here, whatever `headers` (raw pairs) says of them. A client that does not go by itself is cut off.
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
  // Closing with unread bytes in the kernel resets the connection, and a reset may overtake the answer: read on.
  const linger = setTimeout(() => socket.destroy(), REFUSAL_LINGER_MS);
  socket.once("close", () => clearTimeout(linger));
  socket.once("end", () => socket.end(() => socket.destroy()));
  socket.resume();
}

/** A 426 names the protocol to go on in. Source: RFC 9110, section 15.5.22. */
function connectionLines(status: number, headers: readonly string[]): readonly string[] {
  if (status !== 426) return ["connection: close"];
  const isOfVersion = headers.some((name, at) => at % 2 === 0 && name.toLowerCase() === "sec-websocket-version");
  return ["connection: close, upgrade", `upgrade: ${isOfVersion ? "websocket" : "HTTP/1.1"}`];
}

export interface ClientWatch {
  /** Stops watching, leaves the socket paused, and hands over what the client has sent so far. */
  stop(): Buffer;
}

/** Reads on while the upstream is being dialled, since a socket that is not read does not tell that its peer has gone. */
export function watchClient(socket: Duplex, head: Buffer, left: () => void): ClientWatch {
  const early: Buffer[] = [head];
  let earlyBytes = head.length;
  const keep = (chunk: Buffer): void => {
    early.push(chunk);
    earlyBytes += chunk.length;
    if (earlyBytes > EARLY_MAX_BYTES) socket.pause();
  };
  socket.on("data", keep).once("end", left).once("close", left);
  socket.resume();
  return {
    stop() {
      socket.pause();
      socket.off("data", keep).off("end", left).off("close", left);
      return Buffer.concat(early);
    },
  };
}

export interface UpstreamAddress {
  /** `ws://` or `wss://`, with path and query. */
  readonly url: string;
  /** Raw pairs, as `prepareUpgradeHeaders` leaves them, with the upstream's credential. */
  readonly headers: readonly string[];
  /** Offered to the upstream; see `withoutProtocolCredential`. */
  readonly protocols: readonly string[];
  /** For `wss://`: the upstream's authorities, the gateway's own certificate. */
  readonly connect?: Pick<
    ConnectionOptions,
    "ca" | "cert" | "key" | "passphrase" | "servername" | "rejectUnauthorized" | "minVersion" | "maxVersion"
  >;
  /** The servers behind that name, one after the other while they cannot be connected to; undefined: the name alone. */
  readonly route?: Route;
}

export type Dialled =
  /** Paused, so that nothing is read before the client is there. `protocol` is what the upstream itself selected. */
  | {
      readonly kind: "open";
      readonly websocket: WebSocket;
      readonly transport: Duplex;
      readonly protocol: string | undefined;
      readonly headers: readonly string[];
    }
  | { readonly kind: "refused"; readonly status: number; readonly headers: readonly string[]; readonly body: Buffer }
  | { readonly kind: "abandoned" };

export interface DialOptions {
  /** For the whole handshake, a refusal's body included. */
  readonly handshakeMs: number;
  readonly maxMessageBytes: number;
  readonly closeMs: number;
  /** A redirect is the upstream's answer like any other refusal; false: it is refused. */
  readonly passesRedirects: boolean;
  /** Aborted when the client has gone: the handshake is cut off and the outcome is `abandoned`. */
  readonly left: AbortSignal;
  readonly shutdown: AbortSignal;
}

/** Tries server after server, until one is connected to. Rejects as `dialOne` does. */
export async function dial(upstream: UpstreamAddress, options: DialOptions): Promise<DialledServer> {
  const { route } = upstream;
  let server = route?.next(undefined);
  if (route !== undefined && server === undefined) {
    const why = route.whyNone === undefined ? "" : `: ${route.whyNone}`;
    throw new GatewayError("upstream_unreachable", `The upstream could not be reached${why}.`);
  }
  for (;;) {
    server?.begun();
    try {
      const dialled = await dialOne(upstream, server, options);
      server?.connected();
      if (dialled.kind !== "open") server?.ended();
      return { dialled, ended: () => server?.ended() };
    } catch (error) {
      server?.ended();
      const next = isUnconnected(error) ? nextAfter(server, route, error) : undefined;
      if (next === undefined) throw error;
      server = next;
    }
  }
}

function nextAfter(failed: Server | undefined, route: Route | undefined, cause: unknown): Server | undefined {
  failed?.unreachable(cause);
  return route?.next(failed);
}

/** Nothing was sent: there was no connection. */
function isUnconnected(error: unknown): boolean {
  const cause = error instanceof GatewayError ? (error.cause as NodeJS.ErrnoException | undefined) : undefined;
  return cause?.syscall === "connect" || cause instanceof NotConnected;
}

/** The server took longer to be connected to than one of several may. */
class NotConnected extends Error {
  readonly code = "ETIMEDOUT";
}

/** As of attempts at servers of a pool: the others are near too. */
const SERVER_CONNECT_MS = 2_000;

function limitConnect(request: ClientRequest): void {
  request.once("socket", (socket) => {
    const limit = setTimeout(() => request.destroy(new NotConnected()), SERVER_CONNECT_MS);
    socket.once("connect", () => clearTimeout(limit)).once("close", () => clearTimeout(limit));
  });
}

export interface DialledServer {
  readonly dialled: Dialled;
  /** To be called once a session that was opened is over. */
  readonly ended: () => void;
}

/** Rejects with `upstream_unreachable`, `upstream_timeout`, `upstream_invalid`, `upstream_redirect`, or `overloaded` when the gateway is shutting down. */
function dialOne(upstream: UpstreamAddress, server: Server | undefined, options: DialOptions): Promise<Dialled> {
  return new Promise((resolve, reject) => {
    if (options.left.aborted) return resolve({ kind: "abandoned" });
    if (options.shutdown.aborted) return reject(shuttingDown());
    const websocket = connect(upstream, server, options);
    let reply: IncomingMessage | undefined;
    let protocol: string | undefined;

    /** Whatever comes first decides; what comes later changes nothing, since a promise settles once. */
    const settle = (decide: () => void): void => {
      clearTimeout(deadline);
      options.left.removeEventListener("abort", onLeft);
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
    options.left.addEventListener("abort", onLeft);
    options.shutdown.addEventListener("abort", onShutdown);

    // Stays for good: a handshake that is cut off reports it here, after the decision.
    websocket.on("error", (cause) => settle(() => reject(handshakeFailure(cause))));
    websocket.once("upgrade", (response: IncomingMessage) => {
      reply = response;
      protocol = response.headers["sec-websocket-protocol"];
      // RFC 6455 leaves it to the client whether it goes on when its offer was not taken up; `ws` does not. The tunnel
      // does, because that choice is the real client's, so `ws` is told that the first of the offer was selected.
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
        if (isRefused) fail(redirected(status));
        else giveUp(() => resolve({ kind: "refused", status, headers, body }));
      });
      response.once("error", (cause) => {
        fail(new GatewayError("upstream_invalid", "The upstream broke off its answer to the handshake.", { cause }));
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
    // Known to ws 8.23, not yet to its type declarations.
    closeTimeout: options.closeMs,
    finishRequest(request: ClientRequest) {
      for (const { name, values } of fields.values())
        request.setHeader(name, values.length === 1 ? values[0]! : values);
      // One that stands alone, or behind a proxy, has the whole limit of the handshake.
      if (server !== undefined && server.proxies === undefined) limitConnect(request);
      request.end();
    },
  };
  try {
    return new WebSocket(upstream.url, [...upstream.protocols], settings);
  } catch {
    // The thrown text repeats the address or a header, which may carry a credential.
    throw new GatewayError("internal", "The upstream's address or headers cannot be used for a WebSocket.");
  }
}

/** Calls `done` once, with the body or, when it is longer than the bound, with its beginning. */
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

export function ignore(): void {}

/**
 * Peers of the WebSocket tunnel tests: `ws` clients and servers, and raw sockets for misbehaving ones, all on 127.0.0.1
 * with ports chosen by the system. `closePeers` closes everything a test has opened.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type ClientOptions, WebSocket, WebSocketServer } from "ws";
import { asRefusal, GatewayError } from "../../../../../src/base/index.ts";
import {
  offeredProtocols,
  prepareUpgradeHeaders,
  refuseUpgrade,
  type TunnelResult,
  type TunnelSession,
  tunnel,
  withoutProtocolCredential,
} from "../../../../../src/server/dataplane/hops/websocket/tunnel.ts";

const closers: (() => Promise<void> | void)[] = [];

export async function closePeers(): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close();
}

export interface Deferred<Value> {
  readonly promise: Promise<Value>;
  readonly resolve: (value: Value) => void;
}

export function deferred<Value>(): Deferred<Value> {
  let settle: ((value: Value) => void) | undefined;
  const promise = new Promise<Value>((resolve) => {
    settle = resolve;
  });
  return { promise, resolve: (value) => settle?.(value) };
}

/** Asserts that each entry of `expected` is in `actual`. */
export function assertIncludes(actual: object, expected: Readonly<Record<string, unknown>>): void {
  const found = Object.fromEntries(Object.entries(actual).filter(([name]) => name in expected));
  assert.deepEqual("code" in expected && actual instanceof GatewayError ? { code: actual.code } : found, expected);
}

export async function connectRaw(url: string, options: { readonly allowHalfOpen?: boolean } = {}): Promise<Socket> {
  const socket = connectTcp({ port: Number(new URL(url).port), host: "127.0.0.1", ...options });
  socket.on("error", () => {});
  closers.push(() => void socket.destroy());
  await once(socket, "connect");
  return socket;
}

interface TestGateway {
  readonly url: string;
  readonly sockets: Set<Socket>;
  /** Outcomes in the order in which sessions ended; `result()` returns the next one. */
  result(): Promise<TunnelResult | GatewayError>;
}

type Configure = (request: IncomingMessage) => Partial<TunnelSession> & { readonly upstreamUrl: string };

/** A gateway with only the tunnel: it answers its own refusals like the data plane, in one place. */
export async function openGateway(configure: Configure): Promise<TestGateway> {
  const results: (TunnelResult | GatewayError)[] = [];
  const waiting: ((result: TunnelResult | GatewayError) => void)[] = [];
  const never = new AbortController().signal;
  const { server, sockets } = trackedServer(createServer());
  server.on("upgrade", async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    let result: TunnelResult | GatewayError;
    try {
      const { upstreamUrl, ...rest } = configure(request);
      const upstream = {
        url: upstreamUrl,
        headers: prepareUpgradeHeaders(request.rawHeaders),
        protocols: withoutProtocolCredential(offeredProtocols(request)),
      };
      result = await tunnel({ request, socket, head, upstream, responseHeaders: [], signal: never, ...rest });
    } catch (error) {
      const refusal = asRefusal(error);
      refuseUpgrade(socket, refusal.status, ["content-type", "text/plain"], refusal.code);
      result = refusal;
    }
    const waiter = waiting.shift();
    if (waiter === undefined) results.push(result);
    else waiter(result);
  });
  const port = await listen(server);
  const result = () => {
    const first = results.shift();
    return first === undefined
      ? new Promise<TunnelResult | GatewayError>((take) => waiting.push(take))
      : Promise.resolve(first);
  };
  return { url: `ws://127.0.0.1:${port}/v1/realtime?model=m`, sockets, result };
}

interface Upstream {
  readonly url: string;
  readonly sockets: Set<Socket>;
  readonly requests: IncomingMessage[];
}

/** An upstream with `ws`; `onSession` gets each accepted WebSocket before anything is read from it. */
export async function openUpstream(
  onSession: (websocket: WebSocket, request: IncomingMessage) => void,
  options: {
    readonly autoPong?: boolean;
    readonly handleProtocols?: () => string | false;
    readonly headers?: string[];
  } = {},
): Promise<Upstream> {
  const requests: IncomingMessage[] = [];
  const { server, sockets } = trackedServer(createServer());
  const { headers = [], ...rest } = options;
  const webSockets = new WebSocketServer({ server, maxPayload: 0, ...rest });
  webSockets.on("headers", (lines, request) => {
    requests.push(request);
    lines.push(...headers);
  });
  webSockets.on("connection", (websocket, request) => {
    websocket.on("error", () => {});
    onSession(websocket, request);
  });
  return { url: `ws://127.0.0.1:${await listen(server)}/up`, sockets, requests };
}

/** An upstream that writes raw bytes, beyond what a WebSocket library does. */
export async function openRawUpstream(
  onSocket: (socket: Socket) => void,
): Promise<{ url: string; sockets: Set<Socket> }> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    // Flowing from the start, since an unread socket does not report that its peer is gone.
    socket
      .resume()
      .on("error", () => {})
      .on("close", () => sockets.delete(socket));
    onSocket(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `ws://127.0.0.1:${portOf(server.address())}/up`, sockets };
}

export function trackedServer<S extends Server>(server: S): { server: S; sockets: Set<Socket> } {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { server, sockets };
}

export async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return portOf(server.address());
}

export function portOf(address: AddressInfo | string | null): number {
  assert.ok(address !== null && typeof address === "object");
  return address.port;
}

export function newClient(url: string, protocols: string[] = [], options: ClientOptions = {}): WebSocket {
  const websocket = new WebSocket(url, protocols, { autoPong: true, ...options });
  websocket.on("error", () => {});
  closers.push(() => websocket.terminate());
  return websocket;
}

export async function openClient(url: string, protocols?: string[], options?: ClientOptions): Promise<WebSocket> {
  const websocket = newClient(url, protocols, options);
  await once(websocket, "open");
  return websocket;
}

export async function closeOf(websocket: WebSocket): Promise<{ code: number; reason: string }> {
  const [code, reason] = await once(websocket, "close");
  return { code, reason: String(reason) };
}

export async function isEmpty(sockets: Set<Socket>): Promise<void> {
  for (const socket of [...sockets]) if (!socket.closed) await once(socket, "close");
}

/** Returns a plain HTTP client's answer to an upgrade request with these lines. */
export async function upgradeRaw(url: string, lines: readonly string[]): Promise<string> {
  const { port, pathname } = new URL(url);
  const socket = connectTcp(Number(port), "127.0.0.1");
  closers.push(() => void socket.destroy());
  socket.write(`GET ${pathname} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n${lines.join("\r\n")}\r\n\r\n`);
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    text += chunk;
  });
  await once(socket, "end");
  return text;
}

export const HANDSHAKE = [
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

/** Opens both ends of one tunneled session. */
export async function openPair(
  rest: Partial<TunnelSession> = {},
  clientOptions: ClientOptions = {},
  upstreamOptions = {},
) {
  const accepted = deferred<WebSocket>();
  const upstream = await openUpstream((websocket) => accepted.resolve(websocket), upstreamOptions);
  const gateway = await openGateway(() => ({ upstreamUrl: upstream.url, ...rest }));
  const client = await openClient(gateway.url, [], clientOptions);
  return { client, far: await accepted.promise, gateway, upstream };
}

/**
 * Connects to one origin. An ordinary request uses HTTP/1.1, over the connection that became idle last. If the server supports
 * HTTP/2, or a request is unusual, it is sent through undici. The choice is made before its first byte. A request is sent a
 * second time only if a reused connection ends without a byte of an answer, which is how a server's idle timeout appears; it then
 * gets a new connection.
 */
import type { LookupFunction, Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { type buildConnector, Pool } from "undici";
import {
  type ForwardProxies,
  inAbsoluteForm,
  NO_FORWARD_PROXIES,
  proxyConnector,
  proxyOf,
} from "../../forward-proxy/index.ts";
import type { UpstreamRequest } from "../ports.ts";
import { Connection, type ConnectionOwner, MAX_HEAD_BYTES, type Outgoing } from "./connection.ts";
import { requestText } from "./request-text.ts";
import { type AnswerHandler, type HttpClient, HttpFault } from "./types.ts";
import { dispatchWithUndici } from "./undici-dispatch.ts";

/**
 * Maximum silence of an upstream, before the head and between two chunks, if the provider has no `first_byte_timeout`, in
 * milliseconds. It exceeds the ten minutes that the official SDKs wait by default.
 */
const SILENCE_LIMIT_MS = 15 * 60_000;
/** Time that an idle connection is kept if the server announces no timeout, in milliseconds. */
const IDLE_MS = 4_000;
const MAX_IDLE_MS = 600_000;
/** Margin before the server's own idle timeout, in milliseconds. A request sent later might cross the server's close. */
const IDLE_MARGIN_MS = 2_000;
/** Interval between checks of silence and idleness, in milliseconds. */
const SWEEP_MS = 1_000;

interface HttpClientOptions {
  /** Origin in the form `scheme://host[:port]` to connect to; also the name in TLS and `host`. */
  readonly origin: string;
  readonly lookup: LookupFunction;
  /** Extra trusted roots as PEM. */
  readonly ca: string | undefined;
  /** Timeout of name resolution and connect together, in milliseconds. */
  readonly connectLimitMs: number;
  /** Forward proxies; absent if the origin is reached directly. */
  readonly proxies?: ForwardProxies;
  /** Whether addresses of private networks are reached without a proxy. */
  readonly bypassesProxyForPrivate?: boolean;
}

interface WaitingRequest {
  readonly outgoing: Outgoing;
  readonly request: UpstreamRequest;
  readonly handler: AnswerHandler;
  /** Connection to use; `undefined` while one is being opened. */
  connection: Connection | undefined;
  /** Whether the request is sent for the second time, over a new connection. */
  readonly isReplay: boolean;
}

interface IdleConnection {
  readonly connection: Connection;
  readonly until: number;
}

const closedFault = (): HttpFault => new HttpFault("UPSTREAM_CLOSED", "the gateway no longer uses this server");

export function openHttpClient(options: HttpClientOptions): HttpClient {
  const { origin, lookup, ca, connectLimitMs, proxies = NO_FORWARD_PROXIES, bypassesProxyForPrivate = false } = options;
  const url = new URL(origin);
  const connect = { allowH2: true, timeout: connectLimitMs, lookup, ...(ca !== undefined && { ca }) };
  const connector = proxyConnector({
    proxies,
    connect: connect as buildConnector.BuildOptions,
    bypassesProxyForPrivate,
  });
  const forwarder = url.protocol === "http:" ? proxies.proxyFor(url) : undefined;
  const hostname = url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname;
  const destination: buildConnector.Options = { hostname, host: url.host, protocol: url.protocol, port: url.port };
  const open = new Set<Connection>();
  const idle: IdleConnection[] = [];
  /** Requests that wait for a connect in progress. */
  const waiting: WaitingRequest[] = [];
  let ready: WaitingRequest[] = [];
  let pool: Pool | undefined;
  let isHttp2 = false;
  let isClosing = false;
  let now = performance.now();
  let sweeper: NodeJS.Timeout | undefined;

  const owner: ConnectionOwner = {
    now: () => now,
    onIdle(connection, keepAliveSeconds) {
      const at = waiting.findIndex(({ isReplay }) => !isReplay);
      const next = at < 0 ? undefined : waiting.splice(at, 1)[0];
      if (next !== undefined) sendOn(next, connection);
      else if (isClosing) connection.destroy(closedFault());
      else keepIdle(connection, keepAliveSeconds);
    },
    onClosed(connection) {
      open.delete(connection);
      const at = idle.findIndex((each) => each.connection === connection);
      if (at >= 0) idle.splice(at, 1);
      if (open.size === 0) stopSweeping();
    },
  };

  function keepIdle(connection: Connection, keepAliveSeconds: number | undefined): void {
    const ms =
      keepAliveSeconds === undefined ? IDLE_MS : Math.min(keepAliveSeconds * 1_000 - IDLE_MARGIN_MS, MAX_IDLE_MS);
    if (ms <= 0) connection.destroy(closedFault());
    else idle.push({ connection, until: performance.now() + ms });
  }

  function takeIdle(): Connection | undefined {
    for (let last = idle.pop(); last !== undefined; last = idle.pop()) {
      if (performance.now() < last.until) return last.connection;
      last.connection.destroy(closedFault());
    }
    return undefined;
  }

  /**
   * Queues a request on a connection. It is sent after pending input of idle connections was read, because unexpected bytes or an
   * end disqualify a connection.
   */
  function sendOn(next: WaitingRequest, connection: Connection): void {
    next.connection = connection;
    if (ready.push(next) === 1) setImmediate(sendReady);
  }

  function sendReady(): void {
    const all = ready;
    ready = [];
    for (const next of all) {
      const { connection } = next;
      if (connection === undefined || connection.isGone) dispatchNow(next);
      else connection.send(next.outgoing, next.handler, () => replay(next));
    }
  }

  /** Opens a connection even while the client is closing, because the request was already in progress. */
  function replay({ outgoing, request, handler }: WaitingRequest): void {
    connectFor({ outgoing, request, handler, connection: undefined, isReplay: true });
  }

  function dispatchNow(next: WaitingRequest): void {
    const connection = takeIdle();
    if (connection !== undefined) sendOn(next, connection);
    else connectFor(next);
  }

  function connectFor(next: WaitingRequest): void {
    waiting.push(next);
    connector(
      destination,
      (...[error, socket]: [Error, null] | [null, Socket & { readonly alpnProtocol?: unknown }]) => {
        if (error !== null) waiting.shift()?.handler.onFailed(error);
        else if (socket.alpnProtocol === "h2") toHttp2(socket);
        else add(socket);
      },
    );
  }

  function add(socket: Socket): void {
    const proxy = proxyOf(socket);
    const connection = new Connection(socket, owner, proxy && { proxy, origin });
    open.add(connection);
    startSweeping();
    const next = waiting.shift();
    if (next !== undefined) connection.send(next.outgoing, next.handler);
    else if (isClosing) connection.destroy(closedFault());
    else keepIdle(connection, undefined);
  }

  /** Switches to HTTP/2, which the server supports. This connection and all later requests use it. */
  function toHttp2(socket: Socket): void {
    if (isHttp2 || isClosing) socket.destroy();
    else {
      isHttp2 = true;
      pool = openPool(socket);
    }
    const dispatcher = undiciPool();
    for (const { request, handler } of waiting.splice(0))
      dispatchWithUndici(dispatcher, request, handler, openSinglePool);
    if (isClosing) closePool();
  }

  function openPool(first: Socket | undefined): Pool {
    let made = first;
    const connectOnce: buildConnector.connector = (options, callback) => {
      const socket = made;
      made = undefined;
      if (socket === undefined || socket.destroyed) connector(options, callback);
      else callback(null, socket);
    };
    return new Pool(origin, {
      allowH2: true,
      pipelining: 1,
      headersTimeout: SILENCE_LIMIT_MS,
      bodyTimeout: SILENCE_LIMIT_MS,
      maxHeaderSize: MAX_HEAD_BYTES,
      connect: connectOnce,
    });
  }

  /** Returns a pool for one request, which must close it. */
  function openSinglePool(): Pool {
    return new Pool(origin, {
      connections: 1,
      allowH2: true,
      headersTimeout: SILENCE_LIMIT_MS,
      bodyTimeout: SILENCE_LIMIT_MS,
      maxHeaderSize: MAX_HEAD_BYTES,
      connect: connector,
    });
  }

  function undiciPool(): Pool {
    pool ??= openPool(undefined);
    return pool;
  }

  function closePool(): void {
    pool?.close().catch(() => undefined); // The requests in progress report their failures themselves.
  }

  function startSweeping(): void {
    if (sweeper !== undefined) return;
    now = performance.now();
    sweeper = setInterval(() => {
      now = performance.now();
      for (const connection of open) connection.closeIfSilent(now, SILENCE_LIMIT_MS);
      for (const { connection } of idle.filter(({ until }) => now >= until)) connection.destroy(closedFault());
    }, SWEEP_MS).unref();
  }

  function stopSweeping(): void {
    clearInterval(sweeper);
    sweeper = undefined;
  }

  return {
    dispatch(request, handler) {
      if (isClosing) {
        handler.onFailed(closedFault());
        return;
      }
      const text = isHttp2 ? undefined : requestText(request, url.host);
      if (text === undefined) {
        const asked = forwarder === undefined ? request : inAbsoluteForm(request, origin, forwarder);
        dispatchWithUndici(undiciPool(), asked, handler, openSinglePool);
        return;
      }
      const outgoing = { method: request.method, text, body: request.body };
      dispatchNow({ outgoing, request, handler, connection: undefined, isReplay: false });
    },
    get connections() {
      return open.size + (pool?.stats.connected ?? 0);
    },
    close() {
      isClosing = true;
      for (const { connection } of idle.splice(0)) connection.destroy(closedFault());
      closePool();
    },
    async destroy() {
      isClosing = true;
      for (const { handler } of [...waiting.splice(0), ...ready.splice(0)]) handler.onFailed(closedFault());
      for (const connection of [...open]) connection.destroy(closedFault());
      stopSweeping();
      await pool?.destroy();
    },
  };
}

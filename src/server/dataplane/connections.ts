/**
 * Tracks the connections of a listener and the requests on them, so that a shutdown breaks none of them.
 *
 * HTTP/1.1 can only announce the end of a connection in an answer, with `connection: close` (RFC 9112, section 9.6), and a
 * client that sends while the gateway closes sees a reset. So every answer after the drain begins carries that header. A
 * connection without a pending answer is closed after a silent period, because a client hardly ever sends at that moment.
 * Whatever still runs at the drain limit is cut off with an error that its client can read.
 */
import type { Duplex } from "node:stream";
import { GatewayError } from "../../base/index.ts";
import type { Exchange } from "./exchange.ts";

/** Share of the drain for which a connection must be silent before it is closed, up to `MAX_SILENT_MS`. */
const SILENT_SHARE = 0.1;
const MAX_SILENT_MS = 2_000;
/** Time allowed for the last frames of requests that were cut off, and for the closing handshakes of sessions. */
const CUT_OFF_LIMIT_MS = 2_000;

export interface Connections {
  /** Must be called when a client has connected. */
  open(socket: Duplex): void;
  /** Must be called after a TLS handshake, when the traffic moves from `raw` to `secure`. */
  replaceSocket(raw: Duplex, secure: Duplex): void;
  /** Must be called when a request has arrived. */
  beginExchange(exchange: Exchange): void;
  /** Must be called when the answer is written or the connection is lost. */
  endExchange(exchange: Exchange): void;
  /**
   * Returns whether a fully received request is not answered yet. Anything written to the socket now would be taken for its
   * answer.
   */
  hasUnansweredRequest(socket: Duplex): boolean;
  /** Must be called when the connection becomes a WebSocket session. `ended` settles when the session ends. */
  becomeSession(socket: Duplex, ended: Promise<unknown>): void;
  /**
   * Closes up to `maxCount` connections that have no request under way and were silent for `idleMs`, the longest silent first.
   * Returns how many it closed.
   */
  closeIdle(maxCount: number, idleMs: number): number;
  /** Begins the drain. `limitMs`: length of the whole drain. */
  drain(limitMs: number): void;
  /** Cuts off the remaining requests, and two seconds later all connections and sessions. Returns how many there were. */
  cutOff(): CutOffCounts;
}

interface CutOffCounts {
  readonly requests: number;
  readonly sessions: number;
}

/**
 * Connection and its pending exchanges. Exchanges are stored per connection: V8 would move a set of all exchanges to its old
 * generation, from where it keeps finished exchanges alive until the next full garbage collection.
 */
interface Connection {
  pendingCount: number;
  /** Time of the monotonic clock at which the last request ended. `bytesReadWhenIdle`: number of bytes read by then. */
  idleSince: number;
  bytesReadWhenIdle: number | undefined;
  /** First pending exchange, usually the only one. `pipelined` contains further ones. */
  first: Exchange | undefined;
  pipelined: Set<Exchange> | undefined;
}

function exchangesOf({ first, pipelined }: Connection): readonly Exchange[] {
  return [...(first === undefined ? [] : [first]), ...(pipelined ?? [])];
}

/** Socket; `bytesRead` is missing if it is not a network socket. */
type Socketlike = Duplex & { readonly bytesRead?: number };

export function createConnections(): Connections {
  /** Open connections, without sessions. */
  const connections = new Map<Socketlike, Connection>();
  const sessions = new Set<Duplex>();
  /** Silent period before a connection is closed; `undefined` before the drain. */
  let silentMs: number | undefined;

  const open = (socket: Socketlike): Connection => {
    const connection: Connection = {
      pendingCount: 0,
      idleSince: performance.now(),
      bytesReadWhenIdle: socket.bytesRead,
      first: undefined,
      pipelined: undefined,
    };
    connections.set(socket, connection);
    socket.once("close", () => connections.delete(socket));
    if (silentMs !== undefined) closeWhenSilent(socket, connection, silentMs);
    return connection;
  };

  const closeWhenSilent = (socket: Socketlike, connection: Connection, afterMs: number): void => {
    const readBefore = socket.bytesRead;
    const timer = setTimeout(() => {
      // A request that has begun to arrive is served, or fails by the header timeout.
      if (connections.get(socket) === connection && connection.pendingCount === 0 && socket.bytesRead === readBefore)
        socket.destroy();
    }, afterMs);
    socket.once("close", () => clearTimeout(timer));
  };

  return {
    open,
    replaceSocket(raw, secure) {
      connections.delete(raw);
      open(secure);
    },
    beginExchange(exchange) {
      const { socket } = exchange.request;
      const connection = connections.get(socket) ?? open(socket);
      connection.pendingCount++;
      if (connection.first === undefined) connection.first = exchange;
      else {
        connection.pipelined ??= new Set();
        connection.pipelined.add(exchange);
      }
      if (silentMs !== undefined) exchange.closeAfterAnswer();
    },
    endExchange(exchange) {
      const { socket } = exchange.request;
      const connection = connections.get(socket);
      if (connection === undefined) return;
      connection.pendingCount--;
      if (connection.first === exchange) connection.first = undefined;
      else connection.pipelined?.delete(exchange);
      connection.idleSince = performance.now();
      connection.bytesReadWhenIdle = (socket as Socketlike).bytesRead;
      // An answer whose head was sent before the drain did not announce the end of the connection.
      if (silentMs !== undefined && connection.pendingCount === 0) closeWhenSilent(socket, connection, silentMs);
    },
    hasUnansweredRequest(socket) {
      const connection = connections.get(socket);
      return connection !== undefined && exchangesOf(connection).some(({ request }) => request.complete);
    },
    becomeSession(socket, ended) {
      connections.delete(socket);
      sessions.add(socket);
      void ended.finally(() => sessions.delete(socket));
    },
    closeIdle(maxCount, idleMs) {
      const before = performance.now() - idleMs;
      const idle = [...connections]
        .filter(
          ([socket, it]) =>
            it.pendingCount === 0 && it.idleSince <= before && it.bytesReadWhenIdle === socket.bytesRead,
        )
        .sort(([, a], [, b]) => a.idleSince - b.idleSince)
        .slice(0, maxCount);
      for (const [socket] of idle) socket.destroy();
      return idle.length;
    },
    drain(limitMs) {
      silentMs = Math.min(limitMs * SILENT_SHARE, MAX_SILENT_MS);
      for (const [socket, connection] of connections) {
        for (const exchange of exchangesOf(connection)) exchange.closeAfterAnswer();
        if (connection.pendingCount === 0) closeWhenSilent(socket, connection, silentMs);
      }
    },
    cutOff() {
      const stopping = new GatewayError("stopping", "The gateway is stopping and did not wait for this answer.");
      let requests = 0;
      for (const [socket, connection] of connections) {
        for (const exchange of exchangesOf(connection)) if (exchange.abortWithError(stopping)) requests++;
        if (connection.pendingCount === 0) socket.destroy();
      }
      const left = [...connections.keys(), ...sessions];
      const timer = setTimeout(() => {
        for (const socket of left) socket.destroy();
      }, CUT_OFF_LIMIT_MS);
      timer.unref();
      return { requests, sessions: sessions.size };
    },
  };
}

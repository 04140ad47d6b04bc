/**
 * The connections of a listener and what is under way on them, so that a stop breaks none of it.
 *
 * HTTP/1.1 has no word for "this connection ends" but an answer's `connection: close` (RFC 9112 section 9.6), and a client
 * that sends as we close sees a reset. So each answer from the stop on says it, and a connection that has no answer to say
 * it on is closed once it has been silent for a while: whoever uses it heard of the stop, whoever does not hardly speaks
 * just then. What still runs at the limit is cut off with an error that its client can read.
 */
import type { Duplex } from "node:stream";
import { GatewayError } from "../../base/index.ts";
import type { Exchange } from "./exchange.ts";

/** A connection is closed when it was silent for this part of the drain, and for so many milliseconds at most. */
const SILENT_PART = 0.1;
const MAX_SILENT_MS = 2_000;
/** For the last frames of what was cut off, and the closing handshakes of sessions. */
const CUT_LIMIT_MS = 2_000;

export interface Connections {
  /** A client has connected. */
  opened(socket: Duplex): void;
  /** TLS was agreed on: what comes and goes does so on `secure` from here on. */
  secured(raw: Duplex, secure: Duplex): void;
  /** A request has come. */
  begun(exchange: Exchange): void;
  /** Its answer is written, or its connection lost. */
  ended(exchange: Exchange): void;
  /** A request that came whole is not answered yet: what is written to it now would be taken for its answer. */
  owesAnswer(socket: Duplex): boolean;
  /** The connection became a session's; `over` tells when it ended. */
  upgraded(socket: Duplex, over: Promise<unknown>): void;
  /** Closes connections without a request under way that were silent for `idleMs`, the longest first. Returns how many. */
  closeIdle(most: number, idleMs: number): number;
  /** From here on. `limitMs` is the whole drain's. */
  drain(limitMs: number): void;
  /** Cuts off what is left, and tells how much that was. */
  cut(): CutOff;
}

export interface CutOff {
  readonly requests: number;
  readonly sessions: number;
}

/**
 * What is under way stands with its connection, which lives as long as the client likes. In one set for all, the table of
 * that set would be what the collector finds old, and keep what is short-lived from being collected as such.
 */
interface Connection {
  underWay: number;
  /** Nothing has been under way since, by the monotonic clock, and what had been read by then. */
  idleSince: number;
  read: number | undefined;
  /** Its requests, of which there is hardly ever more than one: the others are pipelined. */
  first: Exchange | undefined;
  others: Set<Exchange> | undefined;
}

function exchangesOf({ first, others }: Connection): readonly Exchange[] {
  return [...(first === undefined ? [] : [first]), ...(others ?? [])];
}

/** `bytesRead` is missing where the socket is no socket of the network. */
type Socketlike = Duplex & { readonly bytesRead?: number };

export function createConnections(): Connections {
  /** Sessions are not among them. */
  const connections = new Map<Socketlike, Connection>();
  const sessions = new Set<Duplex>();
  /** Undefined until the drain. */
  let silentMs: number | undefined;

  const opened = (socket: Socketlike): Connection => {
    const connection = {
      underWay: 0,
      idleSince: performance.now(),
      read: socket.bytesRead,
      first: undefined,
      others: undefined,
    };
    connections.set(socket, connection);
    socket.once("close", () => connections.delete(socket));
    if (silentMs !== undefined) closeWhenSilent(socket, connection, silentMs);
    return connection;
  };

  const closeWhenSilent = (socket: Socketlike, connection: Connection, afterMs: number): void => {
    const readBefore = socket.bytesRead;
    const timer = setTimeout(() => {
      // What has begun to come is a request soon, or runs into the time limit of its headers.
      if (connections.get(socket) === connection && connection.underWay === 0 && socket.bytesRead === readBefore)
        socket.destroy();
    }, afterMs);
    socket.once("close", () => clearTimeout(timer));
  };

  return {
    opened,
    secured(raw, secure) {
      connections.delete(raw);
      opened(secure);
    },
    begun(exchange) {
      const { socket } = exchange.request;
      const connection = connections.get(socket) ?? opened(socket);
      connection.underWay++;
      if (connection.first === undefined) connection.first = exchange;
      else {
        connection.others ??= new Set();
        connection.others.add(exchange);
      }
      if (silentMs !== undefined) exchange.isLast();
    },
    ended(exchange) {
      const { socket } = exchange.request;
      const connection = connections.get(socket);
      if (connection === undefined) return;
      connection.underWay--;
      if (connection.first === exchange) connection.first = undefined;
      else connection.others?.delete(exchange);
      connection.idleSince = performance.now();
      connection.read = (socket as Socketlike).bytesRead;
      // One whose head was sent before the stop did not say that it was the last.
      if (silentMs !== undefined && connection.underWay === 0) closeWhenSilent(socket, connection, silentMs);
    },
    owesAnswer(socket) {
      const connection = connections.get(socket);
      return connection !== undefined && exchangesOf(connection).some(({ request }) => request.complete);
    },
    upgraded(socket, over) {
      connections.delete(socket);
      sessions.add(socket);
      void over.finally(() => sessions.delete(socket));
    },
    closeIdle(most, idleMs) {
      const before = performance.now() - idleMs;
      const idle = [...connections]
        .filter(([socket, it]) => it.underWay === 0 && it.idleSince <= before && it.read === socket.bytesRead)
        .sort(([, a], [, b]) => a.idleSince - b.idleSince)
        .slice(0, most);
      for (const [socket] of idle) socket.destroy();
      return idle.length;
    },
    drain(limitMs) {
      silentMs = Math.min(limitMs * SILENT_PART, MAX_SILENT_MS);
      for (const [socket, connection] of connections) {
        for (const exchange of exchangesOf(connection)) exchange.isLast();
        if (connection.underWay === 0) closeWhenSilent(socket, connection, silentMs);
      }
    },
    cut() {
      const stopping = new GatewayError("stopping", "The gateway is stopping and waits no longer for this answer.");
      let requests = 0;
      for (const [socket, connection] of connections) {
        for (const exchange of exchangesOf(connection)) if (exchange.cutOff(stopping)) requests++;
        if (connection.underWay === 0) socket.destroy();
      }
      const left = [...connections.keys(), ...sessions];
      const timer = setTimeout(() => {
        for (const socket of left) socket.destroy();
      }, CUT_LIMIT_MS);
      timer.unref();
      return { requests, sessions: sessions.size };
    },
  };
}

/**
 * Admits connections while file descriptors run out. Idle connections are closed to make room, the longest silent first. If none
 * is idle, a new connection waits unread, and is refused with 503 when too many wait or none was closed in time. The last
 * descriptors are never given to connections, because without any the system would reset queued connections.
 */
import type { Socket } from "node:net";
import {
  countDescriptorsLeft,
  descriptorLimit,
  descriptorsLeft,
  GatewayError,
  type Log,
  recordBaselineDescriptors,
  reservedDescriptors,
} from "../../base/index.ts";
import { refusalBody } from "../core/dialects/index.ts";
import type { Connections } from "./connections.ts";

/** Minimum silence of an idle connection. A client that has just connected is likely to send soon. */
const IDLE_MS = 1_000;
/** Number of idle connections that are closed together, so that not every new connection searches all of them. */
const MIN_CLOSED = 8;
const CHECK_MS = 100;
const WAIT_MS = 10_000;
/** Minimum interval between log lines. */
const LOG_EVERY_MS = 10_000;
const LINGER_MS = 500;

interface ConnectionAdmissionOptions {
  readonly connections: Pick<Connections, "closeIdle">;
  readonly log: Log;
  /** Whether a refusal can be sent in plain text; with TLS the connection is closed instead. */
  readonly isPlain: boolean;
}

interface WaitingConnection {
  readonly socket: Socket;
  readonly since: number;
  readonly serve: () => void;
}

/** Returns a function that must be called with each new connection and the callback that serves it. */
export function createConnectionAdmission({
  connections,
  log,
  isPlain,
}: ConnectionAdmissionOptions): (socket: Socket, serve: () => void) => void {
  recordBaselineDescriptors();
  let waiting: WaitingConnection[] = [];
  let isCheckScheduled = false;
  let closed = 0;
  let refused = 0;
  let loggedAt = Number.NEGATIVE_INFINITY;

  const logShortage = (): void => {
    const now = performance.now();
    if (now - loggedAt < LOG_EVERY_MS) return;
    loggedAt = now;
    const limit = descriptorLimit();
    log.warn(
      "file descriptors are running out: idle connections are closed, and new ones wait or get status 503. Raise `ulimit -n`",
      { limit, closed, waiting: waiting.length, refused },
    );
    closed = 0;
    refused = 0;
  };

  const refuse = (socket: Socket): void => {
    refused += 1;
    if (isPlain) refuseConnection(socket, "The gateway has no file descriptor left for this connection.");
    else socket.destroy();
  };

  const closeIdle = (count: number): boolean => {
    const closedCount = connections.closeIdle(Math.max(count, MIN_CLOSED), IDLE_MS);
    closed += closedCount;
    return closedCount > 0;
  };

  const checkWaiting = (): void => {
    isCheckScheduled = false;
    waiting = waiting.filter(({ socket }) => !socket.destroyed);
    if (waiting.length > 0) closeIdle(waiting.length);
    const now = performance.now();
    const all = waiting;
    waiting = [];
    // Waiting connections already have their descriptors.
    let room = all.length === 0 ? 0 : countDescriptorsLeft() + all.length;
    for (const connection of all) {
      if (room > 0) {
        room -= 1;
        connection.serve();
      } else if (now - connection.since >= WAIT_MS) refuse(connection.socket);
      else waiting.push(connection);
    }
    logShortage();
    if (waiting.length > 0) scheduleCheck();
  };

  const scheduleCheck = (): void => {
    if (!isCheckScheduled) setTimeout(checkWaiting, CHECK_MS);
    isCheckScheduled = true;
  };

  return (socket, serve) => {
    if (descriptorsLeft(socket) >= 1) {
      serve();
      return;
    }
    if (waiting.length === 0 && closeIdle(1)) {
      logShortage();
      serve();
      return;
    }
    socket.on("error", () => undefined);
    if (waiting.length >= reservedDescriptors(descriptorLimit()) / 16) refuse(socket);
    else waiting.push({ socket, since: performance.now(), serve });
    logShortage();
    scheduleCheck();
  };
}

/** Answers a connection with 503 in the compat shape, before any request is read. */
export function refuseConnection(socket: Socket, reason: string): void {
  const refusal = new GatewayError("overloaded", reason);
  const body = refusalBody("compat", refusal, "");
  socket.on("error", () => undefined);
  socket.write(
    `HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
  // If very many connections are refused at once, their descriptors are needed immediately.
  if (8 * descriptorsLeft(socket) < -reservedDescriptors(descriptorLimit())) {
    socket.destroy();
    return;
  }
  socket.end();
  // Bytes that the client still sends are read and dropped: closing a socket with unread bytes would reset the connection
  // before the answer is read.
  socket.resume();
  const linger = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(linger));
}

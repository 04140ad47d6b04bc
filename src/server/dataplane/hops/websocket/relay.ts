/**
 * Relays between two open WebSockets: messages, pings, pongs and closes of each side are passed to the other.
 *
 * Source: RFC 6455 sections 5.4, 5.5 and 7. Kind (text or binary) and boundaries of messages are kept; fragmentation is not,
 * because `ws` delivers whole messages. Data for a side is queued up to a limit plus one message; beyond that the other side is
 * not read. Only masking copies data. If messages are inspected, they are passed on in order of arrival as the inspector
 * decides, and a close follows behind them.
 *
 * Closing, by cause:
 * - A close frame is passed on with its code and reason, or without a code if it has none (1005).
 * - The client's connection is lost (1006): the upstream's is cut off immediately, so that the upstream also sees 1006.
 * - The upstream's connection is lost (1006): the client first gets everything that had arrived, then 1011.
 * - A side violated the protocol or sent too long a message: both get the corresponding code (1002, 1007, 1008, 1009).
 * - The gateway ends the session (`signal`, idle, stalled, an exception of `observe`): both get the same code.
 * In each case a connection is destroyed if its peer does not answer the close within `closeMs`.
 */
import type { Duplex } from "node:stream";
import { type RawData, WebSocket } from "ws";
import { createMessageQueue, type MessageQueue } from "./message-queue.ts";
import type {
  Frame,
  RefusedMessage,
  SideName,
  TunnelAccount,
  TunnelClosing,
  TunnelInspector,
  TunnelObserver,
} from "./tunnel-types.ts";

interface RelayLimits {
  readonly highWaterBytes: number;
  readonly idleMs: number;
  readonly stallMs: number;
}

interface RelayOptions {
  readonly client: RelayEnd;
  readonly upstream: RelayEnd;
  readonly limits: RelayLimits;
  readonly observe: TunnelObserver | undefined;
  /** Inspector; `undefined` if all messages pass uninspected. */
  readonly inspect: TunnelInspector | undefined;
  /**
   * Memory account of incomplete messages and of messages that wait for a slow reader. `hold` throws if the memory budget is
   * exhausted.
   */
  readonly account: TunnelAccount | undefined;
  readonly signal: AbortSignal;
}

/** Paused WebSocket and its connection. */
interface RelayEnd {
  readonly websocket: WebSocket;
  readonly transport: Duplex;
}

export interface RelayOutcome {
  /** Close code that was seen first: 1005 for a close frame without a code, 1006 for a lost connection. */
  readonly code: number;
  readonly by: SideName | "gateway";
  /** Payload bytes of messages. */
  readonly bytesFromClient: number;
  readonly bytesFromUpstream: number;
}

/**
 * Reading resumes when the queue has shrunk to this fraction of the limit: well before it is empty, but not after every frame.
 */
const LOW_WATER_SHARE = 4;

/** Maximum interval of the session's only timer, and so the accuracy of its limits. */
const CHECK_EVERY_MS = 15_000;

/** Memory that a received piece takes beyond its bytes until its message is complete. */
const PIECE_BYTES = 256;

const FAILED: TunnelClosing = { kind: "tunnel_closing", code: 1011, reason: "the gateway failed" };
const SHUTDOWN: TunnelClosing = { kind: "tunnel_closing", code: 1001, reason: "the gateway is shutting down" };

interface Side extends RelayEnd {
  readonly name: SideName;
  receivedBytes: number;
  /** Accounted bytes of the incomplete message. */
  arrivingBytes: number;
  /** Time of `performance.now()` since which this side is not read because the other one is slow. */
  pausedSince: number | undefined;
  /** Whether this side is not read because a message of it is being inspected. */
  isInspected: boolean;
  isClosed: boolean;
}

interface Relay {
  readonly client: Side;
  readonly upstream: Side;
  readonly limits: RelayLimits;
  readonly observe: TunnelObserver | undefined;
  readonly inspect: TunnelInspector | undefined;
  readonly account: TunnelAccount | undefined;
  /**
   * Number of frames from both sides. A session is silent while the number does not change, so that the clock need not be read
   * for each frame.
   */
  frames: number;
  ended: { readonly code: number; readonly by: SideName | "gateway" } | undefined;
}

/** Relays until both connections are closed. Never rejects. */
export function relay(options: RelayOptions): Promise<RelayOutcome> {
  const { limits, observe, inspect, account, signal } = options;
  const initialState = {
    receivedBytes: 0,
    arrivingBytes: 0,
    pausedSince: undefined,
    isInspected: false,
    isClosed: false,
  };
  const client: Side = { name: "client", ...options.client, ...initialState };
  const upstream: Side = { name: "upstream", ...options.upstream, ...initialState };
  const session: Relay = { client, upstream, limits, observe, inspect, account, frames: 0, ended: undefined };

  return new Promise((resolve) => {
    const onAbort = (): void => endByGateway(session, isTunnelClosing(signal.reason) ? signal.reason : SHUTDOWN);
    const timer = watchSilence(session);
    const onClosed = (): void => {
      if (!client.isClosed || !upstream.isClosed) return;
      clearInterval(timer);
      signal.removeEventListener("abort", onAbort);
      const { code, by } = session.ended ?? { code: 1006, by: "gateway" };
      resolve({ code, by, bytesFromClient: client.receivedBytes, bytesFromUpstream: upstream.receivedBytes });
    };
    forward(session, client, upstream, onClosed);
    forward(session, upstream, client, onClosed);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort);
    client.websocket.resume();
    upstream.websocket.resume();
  });
}

function forward(session: Relay, from: Side, to: Side, onClosed: () => void): void {
  const source = from.websocket;
  const sink = to.websocket;
  const lowWaterBytes = session.limits.highWaterBytes / LOW_WATER_SHARE;

  const onWritten = (): void => {
    if (from.pausedSince !== undefined && sink.bufferedAmount <= lowWaterBytes) resumeReading(from);
  };
  const onPassed = (): void => {
    session.frames++;
    if (from.pausedSince !== undefined || sink.bufferedAmount <= session.limits.highWaterBytes) return;
    from.pausedSince = performance.now();
    source.pause();
  };

  const pass = ({ data, isBinary }: Frame): void => {
    if (sink.readyState !== WebSocket.OPEN || !tryHold(session, data.length)) return;
    sink.send(data, { binary: isBinary }, () => {
      session.account?.release(data.length);
      onWritten();
    });
    onPassed();
  };
  const queue = session.inspect && createInspectedQueue(session, session.inspect, from, sink, pass);

  // This runs before `ws` reads the chunk, because `ws` buffers incomplete messages.
  from.transport.prependListener("data", (chunk: Buffer) => {
    const bytes = chunk.length + PIECE_BYTES;
    if (tryHold(session, bytes)) from.arrivingBytes += bytes;
  });
  source.on("message", (raw: RawData, isBinary: boolean) => {
    const message = wholeMessage(raw);
    from.receivedBytes += message.length;
    session.account?.release(from.arrivingBytes);
    from.arrivingBytes = 0;
    const frame = { data: message, isBinary };
    // Messages of the upstream are observed when they are passed on, so that a message that ends the session is passed first.
    if (queue === undefined || from.name === "client") notifyObserver(session, from.name, frame);
    if (queue === undefined) pass(frame);
    else queue.push(frame);
  });
  source.on("ping", (payload: Buffer) => {
    if (sink.readyState !== WebSocket.OPEN) return;
    sink.ping(payload, undefined, onWritten);
    onPassed();
  });
  source.on("pong", (payload: Buffer) => {
    if (sink.readyState !== WebSocket.OPEN) return;
    sink.pong(payload, undefined, onWritten);
    onPassed();
  });
  source.on("error", (error: Error) => {
    const broken = closingForError(error);
    if (broken !== undefined) endByGateway(session, broken);
  });
  // The end of the stream without a close frame is a lost connection. `ws` would only report it once everything is written,
  // which the peer may never read.
  from.transport.prependListener("end", () => {
    if (source.readyState === WebSocket.OPEN) source.terminate();
  });
  source.on("close", (code: number, reason: Buffer) => {
    from.isClosed = true;
    session.ended ??= { code, by: from.name };
    // A client that left without a close reads nothing, so there is no need to wait for its pending messages.
    const isCutOff = code === 1006 && from.name === "client";
    if (queue === undefined || isCutOff) passClose(from, to, code, reason);
    else queue.end(() => passClose(from, to, code, reason));
    onClosed();
  });
}

function createInspectedQueue(
  session: Relay,
  inspector: TunnelInspector,
  from: Side,
  sink: WebSocket,
  pass: (frame: Frame) => void,
): MessageQueue {
  const isOpen = (): boolean => sink.readyState === WebSocket.OPEN;
  const refuse = ({ closing, notice }: RefusedMessage): void => {
    const { websocket } = session.client;
    if (notice !== undefined && websocket.readyState === WebSocket.OPEN) websocket.send(notice);
    endByGateway(session, closing);
  };
  inspector.attach(from.name, {
    pass,
    refuse: (refused) => {
      if (isOpen()) refuse(refused);
    },
  });
  return createMessageQueue({
    inspect: (message) => inspector.message(from.name, message),
    end: () => inspector.end(from.name),
    isOpen,
    observe(message) {
      if (from.name === "upstream") notifyObserver(session, from.name, message);
    },
    pass,
    refuse,
    fail: () => endByGateway(session, FAILED),
    setWaiting(isWaiting) {
      from.isInspected = isWaiting;
      if (isWaiting) from.websocket.pause();
      else if (from.pausedSince === undefined) from.websocket.resume();
    },
    hold: (bytes) => tryHold(session, bytes),
    account: session.account,
  });
}

function notifyObserver(session: Relay, from: SideName, { data, isBinary }: Frame): void {
  try {
    session.observe?.message(from, data, isBinary);
  } catch {
    endByGateway(session, FAILED);
  }
}

/** Returns false if the memory budget is exhausted, in which case the session ends. */
function tryHold(session: Relay, bytes: number): boolean {
  try {
    session.account?.hold(bytes);
    return true;
  } catch {
    endByGateway(session, { kind: "tunnel_closing", code: 1013, reason: "the gateway is overloaded" });
    return false;
  }
}

function passClose(from: Side, to: Side, code: number, reason: Buffer): void {
  if (to.isClosed) return;
  if (code !== 1006) close(to, code, reason);
  else if (from.name === "client") to.websocket.terminate();
  else close(to, 1011, "the connection to the upstream was lost");
}

function endByGateway(session: Relay, closing: TunnelClosing): void {
  session.ended ??= { code: closing.code, by: "gateway" };
  close(session.client, closing.code, closing.reason);
  close(session.upstream, closing.code, closing.reason);
}

/** Sends a close frame behind the queued data. Has no effect on a side that is closing or closed. */
function close(side: Side, code: number, reason: Buffer | string): void {
  if (code === 1005) side.websocket.close();
  else side.websocket.close(code, reason);
  // The answer to the close must be read even if reading was paused.
  side.isInspected = false;
  resumeReading(side);
}

function resumeReading(side: Side): void {
  side.pausedSince = undefined;
  if (!side.isInspected) side.websocket.resume();
}

/**
 * Returns the close for a protocol error that `ws` found, or `undefined` for a failed connection, which the `close` event
 * reports.
 */
function closingForError(error: Error): TunnelClosing | undefined {
  const code = "code" in error ? String(error.code) : "";
  if (!code.startsWith("WS_ERR_")) return undefined;
  const kind = "tunnel_closing";
  if (code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH") return { kind, code: 1009, reason: "message too long" };
  if (code === "WS_ERR_INVALID_UTF8") return { kind, code: 1007, reason: "text that is not UTF-8" };
  if (code === "WS_ERR_TOO_MANY_BUFFERED_PARTS") return { kind, code: 1008, reason: "too many fragments" };
  return { kind, code: 1002, reason: "WebSocket protocol error" };
}

/**
 * Ends a session that is silent in both directions, or one of whose sides has not been read for too long because the other is
 * slow.
 */
function watchSilence(session: Relay): NodeJS.Timeout {
  const { idleMs, stallMs } = session.limits;
  const kind = "tunnel_closing";
  let frames = session.frames;
  let silentSince = performance.now();
  const check = (): void => {
    const now = performance.now();
    const isStalled = [session.client, session.upstream].some(
      (it) => it.pausedSince !== undefined && now - it.pausedSince >= stallMs,
    );
    if (isStalled) {
      endByGateway(session, { kind, code: 1011, reason: "the other side does not read its messages" });
    } else if (frames !== session.frames) {
      frames = session.frames;
      silentSince = now;
    } else if (now - silentSince >= idleMs) {
      endByGateway(session, { kind, code: 1001, reason: "idle for too long" });
    }
  };
  return setInterval(check, Math.min(CHECK_EVERY_MS, idleMs / 4, stallMs / 4));
}

function isTunnelClosing(reason: unknown): reason is TunnelClosing {
  return typeof reason === "object" && reason !== null && "kind" in reason && reason.kind === "tunnel_closing";
}

/** Returns a message as one Buffer, as `ws` delivers it by default; its declared type includes other forms. */
function wholeMessage(raw: RawData): Buffer {
  if (Buffer.isBuffer(raw)) return raw;
  return Array.isArray(raw) ? Buffer.concat(raw) : Buffer.from(raw);
}

/**
 * The clients of the soak, one kind of behavior each. A kind knows whether its requests reach the upstream, so that the
 * final counts must agree exactly: early disconnects happen only once the request has certainly been read. A reset
 * (RST) discards unread data of the other side, so it is sent only after the answer has begun.
 */

import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createResponseReader } from "../child/response-reader.ts";

export interface ClientKind {
  readonly name: string;
  /** The requested fault. The sent name has the kind's after a colon, so that each kind is counted separately. */
  readonly model: string;
  readonly isStreamed: boolean;
  /** Number of concurrent clients. */
  readonly count: number;
  /** The simulator's final count for its requests. */
  readonly endsAs: "answered" | "aborted" | "dropped" | "unseen";
  readonly leaves: "at-end" | "before-headers" | "mid-stream" | "by-reset" | "mid-request" | "when-cut";
  /** Pause after each piece read, in milliseconds; 0 reads at full speed. */
  readonly readPauseMs: number;
  /**
   * Pause between two requests, so that the machine is busy and not saturated; large answers cost the simulator most.
   */
  readonly thinkMs: number;
  /** Status of a whole answer; `undefined` if none is awaited. */
  readonly expects: number | undefined;
}

const normal = { isStreamed: false, endsAs: "answered", readPauseMs: 0, thinkMs: 5, expects: undefined } as const;
const leaving = { ...normal, isStreamed: true, endsAs: "aborted" } as const;

/** 4 MiB flow through a slow reader's connection at some MiB per second; 16 MiB exceed the sockets' buffers. */
export const CLIENT_KINDS: readonly ClientKind[] = [
  { ...normal, name: "unary", model: "sim-long-20", count: 6, leaves: "at-end", expects: 200 },
  { ...normal, name: "stream", model: "sim-long-100", isStreamed: true, count: 4, leaves: "at-end", expects: 200 },
  { ...normal, name: "upstream error", model: "sim-500", count: 1, leaves: "at-end", expects: 500 },
  {
    ...{ ...normal, name: "slow reader", model: "sim-big-4096k", isStreamed: true, count: 3 },
    ...{ leaves: "at-end", readPauseMs: 4, thinkMs: 1_000, expects: 200 },
  },
  {
    ...leaving,
    name: "abort before headers",
    model: "sim-slow-5s",
    isStreamed: false,
    count: 8,
    leaves: "before-headers",
  },
  { ...leaving, name: "abort mid-stream", model: "sim-slow-stream-20ms", count: 6, leaves: "mid-stream" },
  { ...leaving, name: "reset mid-stream", model: "sim-slow-stream-20ms", count: 6, leaves: "by-reset" },
  {
    ...leaving,
    name: "reset of slow reader",
    model: "sim-big-16384k",
    count: 2,
    leaves: "by-reset",
    readPauseMs: 20,
    thinkMs: 2_000,
  },
  { ...normal, name: "leaves mid-request", model: "sim-long-20", count: 2, endsAs: "unseen", leaves: "mid-request" },
  {
    ...{ ...normal, name: "upstream drops mid-stream", model: "sim-drop-mid-stream", isStreamed: true, count: 2 },
    ...{ endsAs: "dropped", leaves: "when-cut" },
  },
  {
    ...{ ...normal, name: "upstream drops before headers", model: "sim-drop-before-headers", count: 2 },
    ...{ endsAs: "dropped", leaves: "at-end", expects: 502 },
  },
];

export function modelOf(kind: ClientKind): string {
  return `${kind.model}:${kind.name.replaceAll(" ", "-")}`;
}

/** Long enough for a busy gateway and its upstream to read a request, far shorter than the upstream's answer. */
const BEFORE_HEADERS_MS = 500;
/** Maximum duration of a request; the slow readers need a tenth of it. */
const ACTION_TIMEOUT_MS = 60_000;
/** Pieces that a client reads before it disconnects mid-stream. */
const MID_STREAM_PIECES = 3;

export interface Tally {
  sent: number;
  /** Unexpected results, only the first few. */
  readonly surprises: string[];
  surprised: number;
}

export function createTally(): Tally {
  return { sent: 0, surprises: [], surprised: 0 };
}

/** Sends one request after another until the signal; the current one is completed. */
export async function runClient(kind: ClientKind, port: number, tally: Tally, ended: AbortSignal): Promise<void> {
  const bytes = buildSoakRequest(kind, port);
  while (!ended.aborted) {
    tally.sent += 1;
    const surprise = await act(kind, port, bytes);
    if (surprise !== undefined) {
      tally.surprised += 1;
      if (tally.surprises.length < 3) tally.surprises.push(surprise);
    }
    await sleep(kind.thinkMs);
  }
}

/** Sends one request on its own connection; returns what was unexpected. */
function act(kind: ClientKind, port: number, bytes: Buffer): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    const timer = setTimeout(() => finish("no end in time"), ACTION_TIMEOUT_MS);
    const finish = (surprise?: string): void => {
      clearTimeout(timer);
      socket.removeAllListeners();
      socket.on("error", () => undefined);
      if (kind.leaves === "by-reset" && surprise === undefined) socket.resetAndDestroy();
      else socket.destroy();
      resolve(surprise);
    };
    socket.once("error", (error) => finish(error.message));
    socket.once("connect", () => {
      if (kind.leaves === "mid-request") {
        socket.write(bytes.subarray(0, bytes.length - 10), () => setTimeout(finish, 20));
        return;
      }
      socket.write(bytes);
      if (kind.leaves === "before-headers") leaveBeforeHeaders(socket, finish);
      else readAnswer(kind, socket, finish);
    });
  });
}

function leaveBeforeHeaders(socket: Socket, finish: (surprise?: string) => void): void {
  const leaving = setTimeout(finish, BEFORE_HEADERS_MS);
  socket.once("data", () => {
    clearTimeout(leaving);
    finish("answered before it could leave");
  });
}

function readAnswer(kind: ClientKind, socket: Socket, finish: (surprise?: string) => void): void {
  let pieces = 0;
  const reader = createResponseReader((status) => {
    if (kind.leaves === "at-end") finish(status === kind.expects ? undefined : `status ${status}`);
    else if (kind.leaves === "when-cut") finish();
    else finish("it ended before the client left");
  });
  socket.once("close", () => finish(kind.leaves === "when-cut" ? undefined : "cut off by the gateway"));
  socket.on("data", (piece: Buffer) => {
    pieces += 1;
    try {
      reader.push(piece);
    } catch (error) {
      finish(error instanceof Error ? error.message : String(error));
      return;
    }
    const leavesNow = kind.leaves === "mid-stream" || kind.leaves === "by-reset";
    if (leavesNow && pieces >= MID_STREAM_PIECES) finish();
    else if (kind.readPauseMs > 0) pauseReading(socket, kind.readPauseMs);
  });
}

function pauseReading(socket: Socket, ms: number): void {
  socket.pause();
  setTimeout(() => socket.resume(), ms);
}

function buildSoakRequest(kind: ClientKind, port: number): Buffer {
  const messages = [{ role: "user", content: `A question of the soak. ${"word ".repeat(100)}` }];
  const body = JSON.stringify({ model: modelOf(kind), ...(kind.isStreamed ? { stream: true } : {}), messages });
  const head = [
    "POST /v1/chat/completions HTTP/1.1",
    `Host: 127.0.0.1:${port}`,
    "Authorization: Bearer soak-client-credential",
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
  ].join("\r\n");
  return Buffer.from(`${head}\r\n\r\n${body}`);
}

/** A server that sends given bytes, and a client's result. */
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import {
  type AnswerHandler,
  type HttpClient,
  HttpFault,
  type RequestInProgress,
} from "../../../../../src/server/upstream/http/index.ts";
import type { UpstreamRequest } from "../../../../../src/server/upstream/ports.ts";
import { atEnd, type Owner } from "../../../../e2e/support/wait.ts";

/** Output for one request, one write per piece, each once the previous one was written. */
export interface Script {
  readonly pieces: readonly Buffer[];
  /** State of the connection after the answer. */
  readonly after: "end" | "keep" | "reset";
}

interface Wire {
  readonly origin: string;
  /** Received requests, with connections numbered from 1. */
  readonly requests: { readonly connection: number; readonly bytes: Buffer }[];
  /** Sets the script for later requests. */
  say(script: Script): void;
  /** Number of open connections. */
  readonly open: () => number;
}

export async function openWire(owner: Owner): Promise<Wire> {
  const reported: { connection: number; bytes: Buffer }[] = [];
  const sockets = new Set<Socket>();
  let script: Script = { pieces: [], after: "end" };
  let connections = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    connections += 1;
    const connection = connections;
    let bytes: Buffer = Buffer.alloc(0);
    socket.setNoDelay(true);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    socket.on("data", (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      const end = bytes.indexOf("\r\n\r\n");
      if (end < 0) return;
      const length = Number(/\r\ncontent-length: (\d+)\r\n/.exec(bytes.toString("latin1", 0, end + 4))?.[1] ?? 0);
      if (bytes.length < end + 4 + length) return;
      reported.push({ connection, bytes });
      bytes = Buffer.alloc(0);
      void play(socket, script);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  atEnd(owner, async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, "close");
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return {
    origin: `http://127.0.0.1:${address.port}`,
    requests: reported,
    say(next) {
      script = next;
    },
    open: () => sockets.size,
  };
}

async function play(socket: Socket, { pieces, after }: Script): Promise<void> {
  for (const piece of pieces) {
    if (socket.destroyed) return;
    await new Promise<void>((done) => socket.write(piece, () => setImmediate(done)));
  }
  if (after === "end") socket.end();
  if (after === "reset") socket.resetAndDestroy();
}

/** A client's result for an answer. */
export interface Outcome {
  readonly end: "complete" | "failed";
  /** `undefined` if no answer began. */
  readonly head:
    | { readonly status: number; readonly statusText: string; readonly headers: readonly string[] }
    | undefined;
  readonly body: string;
  readonly wasSent: boolean;
  readonly cause: Error | undefined;
}

export const POST: UpstreamRequest = {
  method: "POST",
  path: "/v1/chat/completions",
  headers: ["content-type", "application/json", "authorization", "Bearer of-the-test"],
  body: Buffer.from('{"model":"m"}'),
};

export type Dispatch = HttpClient["dispatch"];

/** Settles with the received data; `drive` may abort, or report that there is no room. */
export function outcomeOf(
  dispatch: Dispatch,
  request: UpstreamRequest = POST,
  drive: { readonly connected?: (sending: RequestInProgress, handler: AnswerHandler) => void } = {},
): Promise<Outcome> {
  return new Promise((done) => {
    let head: Outcome["head"];
    let wasSent = false;
    const chunks: Buffer[] = [];
    const settle = (end: Outcome["end"], cause: Error | undefined): void =>
      done({ end, head, body: Buffer.concat(chunks).toString("latin1"), wasSent, cause });
    const handler: AnswerHandler = {
      onConnected(sending) {
        wasSent = true;
        drive.connected?.(sending, handler);
      },
      onHead(status, statusText, headers) {
        head = { status, statusText, headers };
      },
      onData(chunk) {
        chunks.push(Buffer.from(chunk));
        return true;
      },
      onComplete: () => settle("complete", undefined),
      onFailed: (cause) => settle("failed", cause),
    };
    dispatch(request, handler);
  });
}

export const codeOf = (cause: Error | undefined): string => (cause instanceof HttpFault ? cause.code : String(cause));

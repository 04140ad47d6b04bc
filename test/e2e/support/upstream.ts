/**
 * A provider that a test scripts byte by byte over plain sockets: it records each request unchanged and passes the
 * socket to a script, so that it can misbehave in ways that no HTTP library allows.
 */
import { createServer, type Socket } from "node:net";
import { listenLocally } from "./ports.ts";
import { atEnd, type Owner } from "./wait.ts";

export interface Recorded {
  readonly method: string;
  readonly target: string;
  /** Headers in order and as spelled. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer;
}

/** Answers one request. The connection stays open for the next unless the script ends it. */
export type Script = (socket: Socket, request: Recorded) => void;

export interface Upstream {
  readonly url: string;
  readonly port: number;
  /** All complete requests so far. */
  readonly requests: readonly Recorded[];
  /** Number of open connections. */
  open(): number;
  /** Script for answers from now on. */
  script: Script;
}

export async function scriptedUpstream(owner: Owner, script: Script = (socket) => reply(socket)): Promise<Upstream> {
  const requests: Recorded[] = [];
  const sockets = new Set<Socket>();
  // Without delay, so that written bytes are sent at once.
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => sockets.delete(socket));
    let pending: Buffer = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => {
      pending = Buffer.concat([pending, chunk]);
      for (let parsed = parseRequest(pending); parsed !== undefined; parsed = parseRequest(pending)) {
        pending = pending.subarray(parsed.length);
        requests.push(parsed.request);
        upstream.script(socket, parsed.request);
      }
    });
  });
  const port = await listenLocally(server);
  atEnd(owner, async () => {
    const closed = new Promise((done) => server.close(done));
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  const upstream: Upstream = {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    open: () => sockets.size,
    script,
  };
  return upstream;
}

export interface Reply {
  readonly status?: number;
  /** Header lines beside the length. */
  readonly headers?: readonly string[];
  readonly body?: string | Buffer;
}

/** Sends a complete, valid answer. */
export function reply(socket: Socket, { status = 200, headers = [], body = "{}" }: Reply = {}): void {
  const lines = [`HTTP/1.1 ${status} Whatever`, ...headers, `Content-Length: ${Buffer.byteLength(body)}`, "", ""];
  socket.write(Buffer.concat([Buffer.from(lines.join("\r\n"), "latin1"), Buffer.from(body)]));
}

/** Sends the head of an event stream, chunked. */
export function startEvents(socket: Socket): void {
  socket.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
}

export function writeChunk(socket: Socket, bytes: string | Buffer): boolean {
  const size = Buffer.byteLength(bytes).toString(16);
  return socket.write(Buffer.concat([Buffer.from(`${size}\r\n`), Buffer.from(bytes), Buffer.from("\r\n")]));
}

export function endChunks(socket: Socket): void {
  socket.write("0\r\n\r\n");
}

function parseRequest(bytes: Buffer): { readonly request: Recorded; readonly length: number } | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const [requestLine = "", ...lines] = bytes.toString("latin1", 0, headEnd).split("\r\n");
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  const size = headers.find(([name]) => name.toLowerCase() === "content-length")?.[1] ?? "0";
  const start = headEnd + 4;
  const length = start + Number(size);
  if (bytes.length < length) return undefined;
  const [method = "", target = ""] = requestLine.split(" ");
  return { request: { method, target, headers, body: Buffer.from(bytes.subarray(start, length)) }, length };
}

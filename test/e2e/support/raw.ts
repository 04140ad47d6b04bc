/** A client that writes exact bytes, and reads HTTP/1.1 answers with their headers unchanged. */
import { connect, type Socket } from "node:net";
import { atEnd, eventually, type Owner, within } from "./wait.ts";

export type Bytes = string | Buffer;

export interface Answer {
  readonly status: number;
  /** Headers in order and as spelled. */
  readonly headers: readonly (readonly [string, string])[];
  /** Body without the chunked framing. */
  readonly body: Buffer;
}

export interface RawClient {
  readonly socket: Socket;
  send(...pieces: readonly Bytes[]): void;
  /** Returns everything received so far. */
  received(): Buffer;
  /** Resolves with the next complete answer (1xx are answers too); rejects when the connection ends without one. */
  answer(limitMs?: number): Promise<Answer>;
  /** Resolves when the connection is closed for any reason. */
  readonly closed: Promise<void>;
}

/** Text is written as Latin-1, like headers of HTTP/1.1. */
export async function rawClient(owner: Owner, port: number): Promise<RawClient> {
  const socket = connect(port, "127.0.0.1");
  atEnd(owner, () => socket.destroy());
  const chunks: Buffer[] = [];
  let taken = 0;
  let isClosed = false;
  const closed = new Promise<void>((done) => {
    socket.once("close", () => {
      isClosed = true;
      done();
    });
  });
  socket.on("error", () => undefined); // a reset counts as an end; `close` follows
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  await within("the connection", new Promise<void>((done) => socket.once("connect", done)));
  const received = (): Buffer => Buffer.concat(chunks);
  return {
    socket,
    closed,
    received,
    send(...pieces) {
      for (const piece of pieces) socket.write(typeof piece === "string" ? Buffer.from(piece, "latin1") : piece);
    },
    answer: (limitMs) =>
      eventually(
        "an answer",
        () => {
          const rest = received().subarray(taken);
          const parsed = parseAnswer(rest, isClosed);
          if (parsed === undefined && isClosed)
            throw new Error(`closed after ${JSON.stringify(rest.toString("latin1"))}`);
          if (parsed !== undefined) taken += parsed.length;
          return parsed?.answer;
        },
        limitMs,
      ),
  };
}

/** Sends one request on a connection of its own and resolves with its answer. */
export async function exchange(owner: Owner, port: number, ...pieces: readonly Bytes[]): Promise<Answer> {
  const client = await rawClient(owner, port);
  client.send(...pieces);
  try {
    return await client.answer();
  } finally {
    client.socket.destroy();
  }
}

export function post(path: string, body: Bytes, headers: readonly string[] = []): Buffer {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  const lines = [`POST ${path} HTTP/1.1`, "Host: gateway", ...headers, `Content-Length: ${bytes.length}`, "", ""];
  return Buffer.concat([Buffer.from(lines.join("\r\n"), "latin1"), bytes]);
}

export function headerOf({ headers }: Pick<Answer, "headers">, name: string): string | undefined {
  return headers.find(([candidate]) => candidate.toLowerCase() === name)?.[1];
}

interface Parsed {
  readonly answer: Answer;
  /** Number of consumed bytes. */
  readonly length: number;
}

function parseAnswer(bytes: Buffer, isWhole: boolean): Parsed | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const [statusLine = "", ...lines] = bytes.toString("latin1", 0, headEnd).split("\r\n");
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  const status = Number(statusLine.split(" ")[1]);
  const start = headEnd + 4;
  const lengthHeader = headerOf({ headers }, "content-length");
  const answer = (body: Buffer, end: number): Parsed => ({ answer: { status, headers, body }, length: end });
  if (status < 200 || status === 204 || status === 304) return answer(Buffer.alloc(0), start);
  if (headerOf({ headers }, "transfer-encoding") === "chunked") {
    const decoded = dechunk(bytes, start);
    return decoded && answer(decoded.body, decoded.end);
  }
  if (lengthHeader === undefined) return isWhole ? answer(bytes.subarray(start), bytes.length) : undefined;
  const end = start + Number(lengthHeader);
  return bytes.length < end ? undefined : answer(bytes.subarray(start, end), end);
}

function dechunk(bytes: Buffer, start: number): { readonly body: Buffer; readonly end: number } | undefined {
  const pieces: Buffer[] = [];
  for (let at = start; ; ) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
    const next = lineEnd + 2 + size + 2;
    if (bytes.length < next) return undefined;
    if (size === 0) return { body: Buffer.concat(pieces), end: next };
    pieces.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = next;
  }
}

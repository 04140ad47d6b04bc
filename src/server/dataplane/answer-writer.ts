/**
 * Writes an answer to its connection in as few system calls as possible. Head and body of an answer with a declared length are
 * one write, for which `ServerResponse` needs two. A chunk of a stream with its framing is one write instead of four. All other
 * answers use the methods of `ServerResponse`, as do all answers on a Node version that fails the self-check.
 */
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";

/**
 * Keep-alive timeout of idle connections. It exceeds the 60 s of common load balancers, so that they close idle connections
 * first.
 */
export const KEEP_ALIVE_MS = 75_000;

/** Maximum size of a body that is joined with its head. Copying a larger piece costs more than the second write. */
const MAX_JOINED_BYTES = 16 << 10;
const INVALID_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const KEEP_ALIVE_HEADERS = `Connection: keep-alive\r\nKeep-Alive: timeout=${KEEP_ALIVE_MS / 1_000}\r\n\r\n`;

/** Maximum size of `plainNames`, the cache of header names that are valid tokens and not in `NODE_MANAGED`. Each spelling counts. */
const MAX_SPELLINGS = 1_000;
const plainNames = new Set<string>();
/** Headers that influence which headers Node adds by itself. */
const NODE_MANAGED: ReadonlySet<string> = new Set(["connection", "transfer-encoding", "trailer", "expect"]);

/** Private members of `ServerResponse`: the text of its head, and whether the head was sent. */
interface ResponseInternals {
  _header: string | null;
  _headerSent: boolean;
}

interface PendingHead {
  readonly status: number;
  readonly statusText: string;
  readonly pairs: string[];
  readonly length: number;
}

export class AnswerWriter {
  readonly #response: ServerResponse;
  /** Head of the answer, kept until it is sent together with the body. */
  #pending: PendingHead | undefined;
  #drainListener: (() => void) | undefined;
  #isDrainAwaited = false;
  /** Whether `ServerResponse` has sent the head. */
  #isHeadSent = false;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  /** Whether the answer has begun and can no longer be replaced by another one. */
  get hasBegun(): boolean {
    return this.#pending !== undefined || this.#response.headersSent;
  }

  /** Begins the answer. `contentLength` is `NaN` if none is declared. Throws if a header cannot be written. */
  writeHead(status: number, statusText: string, pairs: string[], contentLength: number): void {
    const response = this.#response;
    if (contentLength > 0 && contentLength <= MAX_JOINED_BYTES && mayJoin(response, status)) {
      response.statusCode = status;
      this.#pending = { status, statusText, pairs, length: contentLength };
      return;
    }
    response.writeHead(status, statusText, pairs);
  }

  /** Sends the head before any byte of the body. */
  flush(): void {
    const response = this.#response;
    this.releaseHead();
    if (response.writableEnded || response.destroyed) return;
    response.flushHeaders();
    this.#isHeadSent = true;
  }

  /** Writes a chunk. `isLast`: the chunk completes the declared length. Returns whether the buffer has room for more. */
  write(chunk: Buffer, isLast: boolean): boolean {
    const response = this.#response;
    if (isLast) {
      if (!this.#writeJoined(chunk)) {
        this.releaseHead();
        // The last bytes of a declared length go out with the headers and the end, in one write.
        response.end(chunk);
      }
      return true;
    }
    this.releaseHead();
    const hasRoom = this.#writeFramed(chunk) ?? response.write(chunk);
    this.#isHeadSent = true;
    if (!hasRoom) this.#awaitDrain();
    return hasRoom;
  }

  onDrain(listener: () => void): void {
    this.#drainListener = listener;
  }

  end(): void {
    this.releaseHead();
    if (!this.#response.writableEnded) this.#response.end();
  }

  /** Hands the pending head, if any, to `ServerResponse`. */
  releaseHead(): void {
    const pending = this.#pending;
    if (pending === undefined) return;
    this.#pending = undefined;
    this.#response.writeHead(pending.status, pending.statusText, pending.pairs);
  }

  /** Writes head and body as one buffer. Returns false if that is not possible; then nothing was written. */
  #writeJoined(body: Buffer): boolean {
    const pending = this.#pending;
    const response = this.#response;
    const { socket } = response;
    if (pending === undefined || body.length !== pending.length) return false;
    if (socket === null || !socket.writable || socket.writableLength > 0 || !response.shouldKeepAlive) return false;
    const head = headText(pending);
    if (head === undefined) return false;
    this.#pending = undefined;
    const bytes = Buffer.allocUnsafe(head.length + body.length);
    bytes.write(head, 0, "latin1");
    body.copy(bytes, head.length);
    const inner = response as unknown as ResponseInternals;
    inner._header = head;
    inner._headerSent = true;
    socket.write(bytes);
    response.end();
    return true;
  }

  /** Writes a chunk with its framing (RFC 9112, section 7.1). Returns `undefined` if `ServerResponse` must write it. */
  #writeFramed(chunk: Buffer): boolean | undefined {
    const response = this.#response;
    const { socket } = response;
    if (!this.#isHeadSent || !response.chunkedEncoding || response.writableEnded || !supportsInternals())
      return undefined;
    if (socket === null || !socket.writable || chunk.length === 0 || chunk.length > MAX_JOINED_BYTES) return undefined;
    const size = `${chunk.length.toString(16)}\r\n`;
    const end = size.length + chunk.length;
    const bytes = Buffer.allocUnsafe(end + 2);
    bytes.write(size, 0, "latin1");
    chunk.copy(bytes, size.length);
    bytes[end] = 0x0d;
    bytes[end + 1] = 0x0a;
    // The socket is corked, so that chunks that arrive in one read are written by one system call.
    if (socket.writableCorked === 0) {
      socket.cork();
      process.nextTick(uncork, socket);
    }
    return socket.write(bytes);
  }

  /**
   * Waits until there is room to write: in the socket, or in the response if it is queued behind another one on its connection.
   */
  #awaitDrain(): void {
    if (this.#isDrainAwaited) return;
    this.#isDrainAwaited = true;
    (this.#response.socket ?? this.#response).once("drain", () => {
      this.#isDrainAwaited = false;
      if (!this.#response.writableEnded) this.#drainListener?.();
    });
  }
}

function uncork(socket: Socket): void {
  socket.uncork();
}

function mayJoin(response: ServerResponse, status: number): boolean {
  const { req, socket } = response;
  const isBodied = status >= 200 && status !== 204 && status !== 304 && req.method !== "HEAD";
  return isBodied && socket !== null && req.httpVersionMinor === 1 && req.httpVersionMajor === 1 && supportsInternals();
}

/** Returns the head as Node would write it, or `undefined` if Node would add to it or refuse it. */
function headText({ status, statusText, pairs }: PendingHead): string | undefined {
  let text = `HTTP/1.1 ${status} ${statusText}\r\n`;
  let hasDate = false;
  for (let at = 0; at < pairs.length; at += 2) {
    const name = pairs[at] as string;
    const value = pairs[at + 1] as string;
    if (!isPlainName(name) || INVALID_IN_VALUE.test(value)) return undefined;
    hasDate ||= name.length === 4 && name.toLowerCase() === "date";
    text += `${name}: ${value}\r\n`;
  }
  return hasDate ? text + KEEP_ALIVE_HEADERS : undefined;
}

function isPlainName(name: string): boolean {
  if (plainNames.has(name)) return true;
  if (!TOKEN.test(name) || NODE_MANAGED.has(name.toLowerCase())) return false;
  if (plainNames.size < MAX_SPELLINGS) plainNames.add(name);
  return true;
}

let internalsWork: boolean | undefined;

/** Returns whether `ServerResponse` works as expected on this Node version; checked once, without a connection. */
function supportsInternals(): boolean {
  internalsWork ??= checkInternals();
  return internalsWork;
}

function checkInternals(): boolean {
  try {
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    const inner = response as unknown as ResponseInternals;
    if (inner._header !== null || inner._headerSent !== false || response.headersSent) return false;
    inner._header = "HTTP/1.1 200 OK\r\n\r\n";
    inner._headerSent = true;
    response.end();
    return response.headersSent && response.writableEnded && response.writableLength === 0;
  } catch {
    return false;
  }
}

/**
 * One HTTP/1.1 connection, which carries one request at a time. Its answer is read in place: data are views of the socket's
 * buffers, and only a head that arrived in pieces is copied.
 */
import type { Socket } from "node:net";
import { type ForwardProxy, refusedByProxy } from "../../forward-proxy/index.ts";
import { ChunkedParser } from "./chunked.ts";
import { type AnswerHead, parseHead } from "./head.ts";
import { type AnswerHandler, HttpFault, malformed, type RequestInProgress } from "./types.ts";

/** Maximum size of all heads of one answer in bytes, including informational ones and line ends. */
export const MAX_HEAD_BYTES = 64 << 10;
/** Maximum size at which head and body are sent in one write, in bytes. */
const MAX_JOINED_BYTES = 16 << 10;

const START_OF_HEAD = "HTTP/1.";
const END_OF_HEAD = "\r\n\r\n";
const LF = 0x0a;
const CR = 0x0d;

export interface Outgoing {
  readonly method: string;
  /** Head of the request; each character is one byte. */
  readonly text: string;
  readonly body: Buffer | null;
}

/** Proxy to which the requests of a connection are sent, in absolute form. */
interface Forwarding {
  readonly proxy: ForwardProxy;
  /** Origin of the requests, in the form `scheme://host[:port]`. */
  readonly origin: string;
}

export interface ConnectionOwner {
  /** Called when the connection can carry another request. `keepAliveSeconds`: idle time that the server announced. */
  onIdle(connection: Connection, keepAliveSeconds: number | undefined): void;
  /** Called once, when the connection can carry no further request. */
  onClosed(connection: Connection): void;
  /** Returns the time of the last clock reading, in monotonic milliseconds. It is imprecise. */
  now(): number;
}

export class Connection implements RequestInProgress {
  /** Receiver of the answer; `undefined` while the connection is idle. */
  #handler: AnswerHandler | undefined;
  #method = "";
  #head: AnswerHead | undefined;
  /** Number of remaining bytes of a body of known length. */
  #remainingBytes = 0;
  #chunked: ChunkedParser | undefined;
  /** Bytes of an incomplete head. */
  #partial: Buffer | undefined;
  #headBytes = 0;
  /** Bytes that were read while the receiver had no room for them. */
  #unread: Buffer | undefined;
  #isPaused = false;
  #isSent = false;
  #isGone = false;
  /** Whether the connection carried an earlier request. */
  #isReused = false;
  /** Whether the first byte of the answer has arrived. */
  #hasFirstByte = false;
  /** Sends the request again, over another connection. */
  #replay: (() => void) | undefined;
  #silentSince = 0;
  readonly #socket: Socket;
  readonly #owner: ConnectionOwner;
  readonly #forwarding: Forwarding | undefined;
  readonly #resume = (): void => this.#resumeReading();
  readonly #onChunk = (data: Buffer): boolean => this.#deliver(data);

  constructor(socket: Socket, owner: ConnectionOwner, forwarding?: Forwarding) {
    this.#socket = socket;
    this.#owner = owner;
    this.#forwarding = forwarding;
    socket.on("data", (chunk: Buffer) => this.#onBytes(chunk));
    socket.on("end", () => this.#onEnd());
    socket.on("error", (error) => this.#onClose(error));
    socket.on("close", () => this.#onClose(new HttpFault("UPSTREAM_CLOSED", "the connection was closed")));
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /**
   * Sends a request over an idle connection. If the connection was used before and the server closes it before any byte of the
   * answer, `replay` is called instead of `handler.onFailed`: the server's idle timeout ended the connection while the request was
   * on its way.
   */
  send({ method, text: written, body }: Outgoing, handler: AnswerHandler, replay?: () => void): void {
    const text = this.#forwarding === undefined ? written : absoluteForm(written, this.#forwarding);
    this.#handler = handler;
    this.#replay = this.#isReused ? replay : undefined;
    this.#isReused = true;
    this.#hasFirstByte = false;
    this.#method = method;
    this.#head = undefined;
    this.#headBytes = 0;
    this.#isSent = false;
    this.#silentSince = this.#owner.now();
    handler.onConnected(this);
    if (this.#handler !== handler) return; // The handler has aborted within `onConnected`.
    this.#isSent = true;
    const length = body?.length ?? 0;
    if (text.length + length <= MAX_JOINED_BYTES) {
      const bytes = Buffer.allocUnsafe(text.length + length);
      bytes.write(text, "latin1");
      if (body !== null) body.copy(bytes, text.length);
      this.#socket.write(bytes);
      return;
    }
    this.#socket.cork();
    this.#socket.write(text, "latin1");
    if (body !== null) this.#socket.write(body);
    this.#socket.uncork();
  }

  abort(handler: AnswerHandler): void {
    if (this.#handler !== handler) return;
    if (this.#isSent) {
      this.#close(new HttpFault("UPSTREAM_ABORTED", "the request was aborted"));
      return;
    }
    this.#handler = undefined;
    handler.onFailed(new HttpFault("UPSTREAM_ABORTED", "the request was aborted"));
    this.#owner.onIdle(this, undefined);
  }

  /** Closes the connection if an answer was expected, there was room for it, and nothing arrived within the limit. */
  closeIfSilent(now: number, limitMs: number): void {
    if (this.#handler === undefined || this.#isPaused || now - this.#silentSince < limitMs) return;
    this.#close(new HttpFault("UPSTREAM_SILENT", `nothing came for ${limitMs} ms`));
  }

  /** Fails the request in progress. */
  destroy(cause: Error): void {
    this.#close(cause);
  }

  #onBytes(chunk: Buffer): void {
    this.#hasFirstByte = true;
    this.#silentSince = this.#owner.now();
    this.#guarded(() => this.#read(chunk));
  }

  #read(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length && !this.#isGone) {
      if (this.#handler === undefined) {
        // These bytes are unexpected, and the next request must not take them for its answer.
        this.#close(malformed("data after its end"));
        return;
      }
      if (this.#isPaused) {
        const more = at === 0 ? bytes : bytes.subarray(at);
        this.#unread = this.#unread === undefined ? more : Buffer.concat([this.#unread, more]);
        return;
      }
      at = this.#head === undefined ? this.#readHead(bytes, at) : this.#readBody(this.#head, bytes, at);
    }
  }

  #readHead(bytes: Buffer, at: number): number {
    if (this.#partial !== undefined) return this.#readPartial(this.#partial, bytes, at);
    const end = bytes.indexOf(END_OF_HEAD, at, "latin1");
    if (end < 0) {
      this.#partial = NOTHING;
      return this.#readPartial(NOTHING, bytes, at);
    }
    this.#beginBody(bytes.toString("latin1", at, end), end + END_OF_HEAD.length - at);
    return end + END_OF_HEAD.length;
  }

  /** Continues a head that arrived in pieces; invalid lines are rejected before it is complete. */
  #readPartial(before: Buffer, bytes: Buffer, at: number): number {
    const room = MAX_HEAD_BYTES - this.#headBytes;
    const all = before.length === 0 ? bytes.subarray(at) : Buffer.concat([before, bytes.subarray(at, at + room)]);
    const end = all.indexOf(END_OF_HEAD, Math.max(0, before.length - END_OF_HEAD.length + 1), "latin1");
    if (end < 0) {
      if (all.length >= room) throw malformed("its head is too long");
      refuseOtherProtocol(all);
      refuseBareLineEnd(all, before.length);
      this.#partial = before.length === 0 ? Buffer.from(all) : all;
      return bytes.length;
    }
    this.#partial = undefined;
    const next = end + END_OF_HEAD.length;
    this.#beginBody(all.toString("latin1", 0, end), next);
    return at + next - before.length;
  }

  #beginBody(text: string, headBytes: number): void {
    this.#headBytes += headBytes;
    if (this.#headBytes > MAX_HEAD_BYTES) throw malformed("its head is too long");
    const head = parseHead(text, this.#method);
    const { status, framing } = head;
    if (status === 101) throw malformed(`${status}, which was not asked for`);
    // A final answer follows an informational one. 100 may come although no request asks for it (RFC 9110, section 15.2.1).
    if (status < 200) return;
    if (status === 407 && this.#forwarding !== undefined) {
      throw refusedByProxy(this.#forwarding.proxy, this.#forwarding.origin, status);
    }
    this.#head = head;
    this.#chunked = framing === "chunked" ? new ChunkedParser() : undefined;
    this.#remainingBytes = typeof framing === "number" ? framing : 0;
    this.#handler?.onHead(status, head.statusText, head.headers, this.#resume);
    if (framing === 0) this.#complete(head);
  }

  #readBody(head: AnswerHead, bytes: Buffer, at: number): number {
    if (this.#chunked !== undefined) {
      const next = this.#chunked.read(bytes, at, this.#onChunk);
      if (this.#chunked.isComplete && !this.#isGone) this.#complete(head);
      return next;
    }
    if (head.framing === "close") {
      this.#deliver(at === 0 ? bytes : bytes.subarray(at));
      return bytes.length;
    }
    const end = Math.min(bytes.length, at + this.#remainingBytes);
    this.#remainingBytes -= end - at;
    this.#deliver(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end));
    if (this.#remainingBytes === 0 && !this.#isGone) this.#complete(head);
    return end;
  }

  /** Delivers a chunk. Returns false if there is no room for more. */
  #deliver(data: Buffer): boolean {
    const hasRoom = this.#handler?.onData(data) !== false;
    if (!hasRoom && !this.#isGone) {
      this.#isPaused = true;
      this.#socket.pause();
    }
    return hasRoom && !this.#isGone;
  }

  #resumeReading(): void {
    if (!this.#isPaused || this.#isGone) return;
    this.#isPaused = false;
    this.#silentSince = this.#owner.now();
    const unread = this.#unread;
    this.#unread = undefined;
    if (unread !== undefined) this.#onBytes(unread);
    if (!this.#isPaused && !this.#isGone) this.#socket.resume();
  }

  #complete({ isReusable, keepAliveSeconds }: AnswerHead): void {
    const handler = this.#handler;
    this.#handler = undefined;
    this.#head = undefined;
    this.#chunked = undefined;
    if (this.#isPaused) {
      this.#isPaused = false;
      this.#socket.resume();
    }
    handler?.onComplete();
    // Unsent bytes of this request would precede the next one.
    if (isReusable && this.#socket.writableLength === 0 && !this.#isGone) this.#owner.onIdle(this, keepAliveSeconds);
    else this.#close(new HttpFault("UPSTREAM_CLOSED", "the connection was closed"));
  }

  #onEnd(): void {
    this.#guarded(() => {
      const head = this.#head;
      if (head?.framing === "close" && this.#handler !== undefined) this.#complete(head);
      else this.#onClose(new HttpFault("UPSTREAM_CLOSED", "the server closed the connection"));
    });
  }

  /** Handles a connection that the server or the network closed. */
  #onClose(cause: Error): void {
    const replay = this.#hasFirstByte || this.#isGone ? undefined : this.#replay;
    const handler = this.#handler;
    if (replay === undefined || handler === undefined) {
      const isCut = this.#hasFirstByte && handler !== undefined && this.#head === undefined;
      this.#close(isCut ? malformed("the connection ended within its headers") : cause);
      return;
    }
    this.#handler = undefined;
    this.#close(cause);
    handler.onDisconnected?.();
    replay();
  }

  /** Runs `work` and keeps a handler's exception away from the socket. */
  #guarded(work: () => void): void {
    try {
      work();
    } catch (cause) {
      this.#close(cause instanceof Error ? cause : new Error(String(cause)));
    }
  }

  #close(cause: Error): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#unread = undefined;
    this.#partial = undefined;
    this.#socket.destroy();
    const handler = this.#handler;
    this.#handler = undefined;
    this.#owner.onClosed(this);
    handler?.onFailed(cause);
  }
}

const NOTHING = Buffer.alloc(0);

/** Throws if the answer of another protocol begins, whose server may keep the connection open without an end of a head. */
function refuseOtherProtocol(bytes: Buffer): void {
  const start = bytes.toString("latin1", 0, START_OF_HEAD.length);
  if (!START_OF_HEAD.startsWith(start)) throw malformed("its first line");
}

/** Converts a request to absolute form (RFC 9112, section 3.2.2). `text`: head of a request in origin form. */
function absoluteForm(text: string, { proxy, origin }: Forwarding): string {
  const path = text.indexOf(" ") + 1;
  const headers = text.indexOf("\r\n") + 2;
  const credentials = proxy.authorization === undefined ? "" : `proxy-authorization: ${proxy.authorization}\r\n`;
  return `${text.slice(0, path)}${origin}${text.slice(path, headers)}${credentials}${text.slice(headers)}`;
}

function refuseBareLineEnd(bytes: Buffer, from: number): void {
  for (let at = bytes.indexOf(LF, from); at >= 0; at = bytes.indexOf(LF, at + 1)) {
    if (at === 0 || bytes[at - 1] !== CR) throw malformed("a line that does not end in CR LF");
  }
}

/**
 * Writes an answer, with the fault that the model name selects.
 *
 * Every wait ends when the client leaves. A fault that cuts a stream leaves at least its last event unwritten, so that
 * no client can mistake the rest for the whole answer.
 */

import { constants, createGzip, gzipSync } from "node:zlib";
import { type Fault, MAX_WAIT_MS } from "./fault-table.ts";
import { type Exchange, pause, writeError, writeHead, writeWhole } from "./http-exchange.ts";
import { countTokens } from "./request-counters.ts";
import type { Answer, Frame } from "./route-types.ts";

type Body = Extract<Answer, { kind: "body" }>;
type EventStream = Extract<Answer, { kind: "events" }>;

/** Number of events before a stream is cut: in both dialects the start and a few words. */
const EVENTS_BEFORE_CUT = 5;

/** Number of pieces of a body that is written slowly. */
const SLOW_PIECES = 4;

const EVENT_STREAM = "text/event-stream; charset=utf-8";

const HTML_PAGE = "<!doctype html>\n<html><head><title>502</title></head><body><h1>Not an answer</h1></body></html>\n";

/** Delivers an answer with its fault. `produce` is called only if an answer is needed; the caller handles what it throws. */
export async function deliver(
  exchange: Exchange,
  fault: Fault,
  produce: () => Answer | Promise<Answer>,
): Promise<void> {
  const { request, response } = exchange;
  switch (fault.kind) {
    case "status":
      return writeError(exchange, {
        status: fault.status,
        message: `The name asked for a ${fault.status}.`,
        retryAfterSeconds: fault.retryAfterSeconds,
      });
    case "unreadable":
      return writeError(exchange, { status: 400, message: `The model name is not of the form ${fault.name}.` });
    case "drop-before-headers":
      return dropConnection(exchange);
    case "reset":
      exchange.isDropped = true;
      request.socket.resetAndDestroy();
      return;
    case "bad-http":
      exchange.isDropped = true;
      request.socket.end("THIS IS NOT HTTP\r\n\r\n", () => request.socket.destroy());
      return;
    case "never":
      if (await pause(response, MAX_WAIT_MS)) dropConnection(exchange);
      return;
    case "garbage":
      return writeWhole(exchange, { status: 200, contentType: "text/html; charset=utf-8" }, HTML_PAGE);
    case "empty":
      return writeWhole(exchange, { status: 200, contentType: "application/json" }, "");
    case "slow":
      if (!(await pause(response, fault.ms))) return;
      break;
    default:
  }
  const produced = produce();
  const answer = produced instanceof Promise ? await produced : produced;
  return answer.kind === "body" ? deliverBody(exchange, fault, answer) : deliverEvents(exchange, fault, answer);
}

function dropConnection(exchange: Exchange): void {
  exchange.isDropped = true;
  exchange.request.socket.destroy();
}

/** Writes a chunk. After it was sent, the connection is closed or reset, or nothing more is written. */
function writeAndStop(exchange: Exchange, kind: Fault["kind"], chunk: Buffer): void {
  const { socket } = exchange.request;
  exchange.tally.bytesOut += chunk.length;
  exchange.isDropped = kind !== "stall-mid-stream";
  if (chunk.length === 0) exchange.response.flushHeaders();
  exchange.response.write(chunk, () => {
    if (kind === "reset-mid-stream") socket.resetAndDestroy();
    else if (kind !== "stall-mid-stream") socket.destroy();
    else void pause(exchange.response, MAX_WAIT_MS).then((hasTimedOut) => hasTimedOut && dropConnection(exchange));
  });
}

function deliverBody(exchange: Exchange, fault: Fault, answer: Body): Promise<void> | undefined {
  const { contentType, body, status = 200, headers } = answer;
  const head = { status, contentType, headers };
  switch (fault.kind) {
    case "error-first-event":
      writeError(exchange, { status: 529, message: "The model name asked for an error." });
      return undefined;
    case "error-mid-stream":
      writeError(exchange, { status: 500, message: "The model name asked for an error." });
      return undefined;
    case "drop-mid-stream":
    case "drop-mid-body":
    case "reset-mid-stream":
    case "stall-mid-stream": {
      const bytes = Buffer.from(body);
      writeHead(exchange, { ...head, length: bytes.length });
      writeAndStop(exchange, fault.kind, bytes.subarray(0, Math.ceil(bytes.length / 2)));
      return undefined;
    }
    case "slow-stream":
      return writeSlowly(exchange, fault.ms, answer);
    case "gzip":
      exchange.tokens = answer.tokens;
      if (acceptsGzip(exchange)) writeWhole(exchange, { ...head, encoding: "gzip" }, gzipSync(body));
      else writeWhole(exchange, head, body);
      return undefined;
    default:
      exchange.tokens = answer.tokens;
      writeWhole(exchange, head, body);
      return undefined;
  }
}

async function writeSlowly(exchange: Exchange, ms: number, answer: Body): Promise<void> {
  const { body, contentType, tokens, status = 200, headers } = answer;
  const bytes = Buffer.from(body);
  const size = Math.max(1, Math.ceil(bytes.length / SLOW_PIECES));
  writeHead(exchange, { status, contentType, length: bytes.length, headers });
  for (let at = 0; at < bytes.length; at += size) {
    if (at > 0 && !(await pause(exchange.response, ms))) return;
    const piece = bytes.subarray(at, at + size);
    exchange.tally.bytesOut += piece.length;
    exchange.response.write(piece);
  }
  exchange.tokens = tokens;
  exchange.response.end();
}

async function deliverEvents(exchange: Exchange, fault: Fault, answer: EventStream): Promise<void> {
  const isGzip = fault.kind === "gzip" && acceptsGzip(exchange);
  const head = { status: 200, contentType: EVENT_STREAM, length: undefined, headers: answer.headers };
  writeHead(exchange, isGzip ? { ...head, encoding: "gzip" } : head);
  if (isGzip) return writeGzip(exchange, answer);
  switch (fault.kind) {
    case "error-first-event":
      return endWith(exchange, Buffer.from(answer.failure(0)));
    case "error-mid-stream": {
      const { sent, count } = await cutStream(answer);
      return endWith(exchange, Buffer.concat([sent, Buffer.from(answer.failure(count))]));
    }
    case "drop-mid-stream":
    case "reset-mid-stream":
    case "stall-mid-stream":
      return writeAndStop(exchange, fault.kind, (await cutStream(answer)).sent);
    case "drop-mid-body": {
      const { sent, next } = await cutStream(answer);
      return writeAndStop(exchange, fault.kind, Buffer.concat([sent, next.subarray(0, Math.ceil(next.length / 2))]));
    }
    default:
      return writeEvents(exchange, answer, fault.kind === "slow-stream" ? fault.ms : 0);
  }
}

function endWith(exchange: Exchange, bytes: Buffer): void {
  exchange.tally.bytesOut += bytes.length;
  exchange.response.end(bytes);
}

interface CutStream {
  /** Events before a cut, and their number. */
  readonly sent: Buffer;
  readonly count: number;
  /** Event in which the stream is cut. */
  readonly next: Buffer;
}

async function cutStream({ frames }: EventStream): Promise<CutStream> {
  const frameBuffers: Buffer[] = [];
  for await (const frame of frames) {
    frameBuffers.push(Buffer.from(frame));
    if (frameBuffers.length > EVENTS_BEFORE_CUT) break;
  }
  const next = frameBuffers.pop() ?? Buffer.alloc(0);
  return { sent: Buffer.concat(frameBuffers), count: frameBuffers.length, next };
}

/**
 * Writes the events. Node batches the writes of one turn of the event loop, so a fast stream needs few packets, and a
 * slow one needs one packet per event.
 */
async function writeEvents(exchange: Exchange, { frames, tokens }: EventStream, ms: number): Promise<void> {
  const { response, tally } = exchange;
  let isFirst = true;
  /** Writes a frame. Returns `undefined` if it was written at once; the promise resolves to false if the client left. */
  const write = (frame: Frame): Promise<boolean> | undefined => {
    tally.bytesOut += Buffer.byteLength(frame);
    return response.write(frame) ? undefined : waitForDrain(exchange);
  };
  if (Symbol.asyncIterator in frames) {
    response.flushHeaders();
    for await (const frame of frames) {
      if (ms > 0 && !isFirst && !(await pause(response, ms))) return;
      isFirst = false;
      if (response.closed || (await write(frame)) === false) return;
    }
  } else {
    for (const frame of frames) {
      if (ms > 0 && !isFirst && !(await pause(response, ms))) return;
      isFirst = false;
      const written = write(frame);
      if (written !== undefined && !(await written)) return;
    }
  }
  exchange.tokens = tokens;
  response.end();
}

/** Waits until the client reads again. Resolves to false if the client left instead. */
function waitForDrain({ response }: Exchange): Promise<boolean> {
  return new Promise((done) => {
    if (response.destroyed || response.closed) return done(false);
    const onDrain = () => {
      response.off("close", onClose);
      done(true);
    };
    const onClose = () => {
      response.off("drain", onDrain);
      done(false);
    };
    response.once("drain", onDrain);
    response.once("close", onClose);
  });
}

/** Writes one gzip stream, flushed after each event, so that a client can read each one as it arrives. */
async function writeGzip(exchange: Exchange, { frames, tokens }: EventStream): Promise<void> {
  const { response, tally } = exchange;
  const gzip = createGzip();
  response.once("close", () => gzip.destroy());
  gzip.on("data", (chunk: Buffer) => {
    tally.bytesOut += chunk.length;
  });
  gzip.pipe(response);
  for await (const frame of frames) {
    if (response.closed) return;
    gzip.write(frame);
    await new Promise<void>((done) => {
      response.once("close", done);
      gzip.flush(constants.Z_SYNC_FLUSH, () => {
        response.off("close", done);
        done();
      });
    });
  }
  exchange.tokens = tokens;
  gzip.end();
}

function acceptsGzip({ request }: Exchange): boolean {
  return /\bgzip\b/.test(String(request.headers["accept-encoding"] ?? ""));
}

/** Counts the request as answered, aborted or dropped. Call it when the response has closed. */
export function countOutcome(exchange: Exchange): void {
  const { tally, response } = exchange;
  if (exchange.isDropped) tally.dropped += 1;
  else if (!response.writableFinished) tally.aborted += 1;
  else {
    tally.answered += 1;
    if (exchange.tokens === undefined) return;
    countTokens(tally, exchange.model, exchange.tokens);
    exchange.bill?.(exchange.tokens);
  }
}

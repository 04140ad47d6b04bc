/**
 * Reads bodies of requests: each limited, all together limited, and only valid UTF-8.
 *
 * A body over its limit is refused as soon as that is known, by its declared length or while it arrives. The rest of it is not
 * stored, but part of it is still read: closing a connection that has unread bytes resets it, and the reset overtakes the
 * answer that gives the reason.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Operation } from "../../admin-api/index.ts";
import { findJsonFault } from "../../base/index.ts";
import { refusal } from "./refusal.ts";
import { quoteName } from "./validate-input.ts";

/** Maximum size of JSON bodies, in bytes. A larger one would not fit into a log entry. */
export const MAX_JSON_BYTES = 1 << 20;
/** Maximum nesting; no operation needs more than three levels. */
const MAX_JSON_DEPTH = 64;
/** Maximum size of configuration documents, in bytes. */
export const MAX_DOCUMENT_BYTES = 8 << 20;
/** Maximum size for operations without a body, in bytes: room for an empty object. */
const MAX_EMPTY_BYTES = 1 << 10;
/** Time limit for a complete body, in milliseconds. A client that stops in the middle would block memory for others. */
const BODY_LIMIT_MS = 120_000;
/** Maximum size of all bodies in memory, in bytes: eight documents, and small bodies beside them. */
const MAX_BUFFERED_BYTES = 72 << 20;

/** Maximum number of bytes read of a refused body. A client that sends more may see a broken connection instead of the answer. */
const MAX_DISCARDED_BYTES = 64 << 20;
/** Maximum number of bytes read of a refused body from an unauthenticated caller. */
const MAX_DISCARDED_UNAUTHENTICATED_BYTES = 1 << 20;
const DISCARD_LIMIT_MS = 5_000;
/** Time without a byte after which reading of a refused body ends, in milliseconds: its sender is then waiting, too. */
const DISCARD_PAUSE_MS = 500;

/** Requests whose client sends its body only on request. Source: RFC 9110, section 10.1.1. */
const awaitingContinue = new WeakMap<IncomingMessage, ServerResponse>();

/** Remembers a request with `Expect: 100-continue`. */
export function registerExpectContinue(request: IncomingMessage, response: ServerResponse): void {
  awaitingContinue.set(request, response);
}

/** Returns whether the client is still waiting to be asked for its body. */
const isAwaitingContinue = (request: IncomingMessage): boolean => awaitingContinue.has(request);

/** Asks a waiting client for its body. */
function sendContinue(request: IncomingMessage): void {
  awaitingContinue.get(request)?.writeContinue();
  awaitingContinue.delete(request);
}

/** Returns the body of an operation that streams it; asks the client for it at the first read. */
export async function* streamBody(request: IncomingMessage): AsyncGenerator<Uint8Array> {
  sendContinue(request);
  yield* request as AsyncIterable<Uint8Array>;
}

export interface BodyReader {
  /** Returns the bytes; empty for an operation without a body. The caller calls `release` when it no longer needs them. */
  read(request: IncomingMessage, operation: Operation, signal: AbortSignal): Promise<BufferedBody>;
}

export interface BufferedBody {
  readonly bytes: Buffer;
  release(): void;
}

export function createBodyReader(
  maxBufferedBytes: number = MAX_BUFFERED_BYTES,
  timeoutMs: number = BODY_LIMIT_MS,
): BodyReader {
  let bufferedBytes = 0;
  return {
    async read(request, operation, signal) {
      const { kind } = operation.body;
      const limit = kind === "document" ? MAX_DOCUMENT_BYTES : kind === "none" ? MAX_EMPTY_BYTES : MAX_JSON_BYTES;
      const tooLong = (): Error => (kind === "none" ? bodyNotAllowed() : bodyTooLarge(limit));
      const declared = Number(request.headers["content-length"] ?? 0);
      if (declared > limit) throw tooLong();
      sendContinue(request);
      let ownBytes = 0;
      const release = (): void => {
        bufferedBytes -= ownBytes;
        ownBytes = 0;
      };
      const chunks: Buffer[] = [];
      const limitTimer = setTimeout(() => request.destroy(new Error("the body took too long")), timeoutMs);
      try {
        for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
          signal.throwIfAborted();
          ownBytes += chunk.length;
          bufferedBytes += chunk.length;
          if (ownBytes > limit) throw tooLong();
          if (bufferedBytes > maxBufferedBytes)
            throw refusal("busy", "Too many large requests are in progress; try again.");
          chunks.push(chunk);
        }
      } catch (error) {
        release();
        throw error;
      } finally {
        clearTimeout(limitTimer);
      }
      return { bytes: Buffer.concat(chunks), release };
    },
  };
}

/** Reads and drops the rest of a body. Resolves when it has ended, enough was read, or nothing more arrives. Never rejects. */
export function discardRest(request: IncomingMessage, isAuthenticated: boolean, signal: AbortSignal): Promise<void> {
  if (request.complete || request.destroyed || signal.aborted) return Promise.resolve();
  // A client that sent `Expect: 100-continue` sends no body before it has an answer.
  if (isAwaitingContinue(request) && request.readableLength === 0) return Promise.resolve();
  return new Promise((resolve) => {
    let remainingBytes = isAuthenticated ? MAX_DISCARDED_BYTES : MAX_DISCARDED_UNAUTHENTICATED_BYTES;
    const finish = (): void => {
      clearTimeout(limit);
      clearTimeout(pause);
      request.off("data", onData).off("end", finish).off("close", finish).off("error", finish);
      signal.removeEventListener("abort", finish);
      request.pause();
      resolve();
    };
    const onData = (chunk: Buffer): void => {
      remainingBytes -= chunk.length;
      pause.refresh();
      if (remainingBytes < 0) finish();
    };
    const limit = setTimeout(finish, DISCARD_LIMIT_MS);
    const pause = setTimeout(finish, DISCARD_PAUSE_MS);
    request.on("data", onData).once("end", finish).once("close", finish).once("error", finish);
    signal.addEventListener("abort", finish, { once: true });
    request.resume();
  });
}

/**
 * Time to read the rest of an unread body, in milliseconds: closing on unread bytes resets the connection before the answer
 * arrives.
 */
const LINGER_MS = 1_000;

/** Ends the connection of an answered request whose body was not read to its end. */
export function endAfterLinger(request: IncomingMessage): void {
  if (!isAwaitingContinue(request)) {
    request.destroy();
    return;
  }
  const limit = setTimeout(() => request.destroy(), LINGER_MS);
  request.once("close", () => clearTimeout(limit));
  request.resume();
}

/** Returns the refusal of a body for an operation that takes none. */
export const bodyNotAllowed = (): Error => refusal("invalid", "This operation takes no body.");

function bodyTooLarge(limit: number): Error {
  return refusal("body_too_large", `The body is larger than ${limit} bytes.`, { limit });
}

/**
 * Parses a body; an empty one counts as an empty object. Throws `invalid` for invalid JSON, without the parser's message, which
 * would repeat part of the body. Also refuses duplicate members: a proxy in front may have read the other value.
 */
export function parseJson(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return {};
  const text = decodeText(bytes);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw refusal("invalid", "The body is not JSON.");
  }
  const fault = findJsonFault(text, MAX_JSON_DEPTH);
  if (fault?.kind === "deep") throw refusal("invalid", `The body is nested deeper than ${MAX_JSON_DEPTH} levels.`);
  if (fault !== undefined) throw refusal("invalid", `The body has the member ${quoteName(fault.name)} twice.`);
  return value;
}

export function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw refusal("invalid", "The body is not UTF-8.");
  }
}

/**
 * Answers on their way out. A list may be long, so it is written in slices: neither its text nor the thread is held at
 * once, and a reader that is slow slows the writer and nobody else.
 */

import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";

type Headers = Readonly<Record<string, string>>;

/** Characters gathered before a write. */
const SLICE_LENGTH = 64 << 10;
/** Work on the thread without a break; others wait at most this and one row. */
const TURN_MS = 5;

/** Of every answer: nothing here is for a cache or for a browser to guess at. */
const ALWAYS: Headers = { "cache-control": "no-store", "x-content-type-options": "nosniff" };
const JSON_TYPE: Headers = { "content-type": "application/json" };

/** A caller's own id of a request: visible ASCII. */
const REQUEST_ID = /^[!-~]{1,128}$/;

/** The id that the request is known by, the caller's own where it is one. Every answer carries it. */
export function nameRequest(request: IncomingMessage, response: ServerResponse): string {
  const given = request.headers["x-request-id"];
  const id = typeof given === "string" && REQUEST_ID.test(given) ? given : randomUUID();
  response.setHeader("x-gateway-request-id", id);
  return id;
}

export function sendText(response: ServerResponse, status: number, body: string, headers: Headers = {}): void {
  response.writeHead(status, { ...ALWAYS, ...JSON_TYPE, "content-length": Buffer.byteLength(body), ...headers });
  response.end(body);
}

export function sendEmpty(response: ServerResponse, headers: Headers = {}): void {
  response.writeHead(204, { ...ALWAYS, ...headers });
  response.end();
}

/** Rejects when the reader goes. */
export async function sendStream(
  response: ServerResponse,
  parts: AsyncIterable<Uint8Array | string>,
  headers: Headers,
  signal: AbortSignal,
): Promise<void> {
  response.writeHead(200, { ...ALWAYS, ...headers });
  for await (const part of parts) {
    signal.throwIfAborted();
    if (!response.write(part)) await drained(response, signal);
  }
  response.end();
}

export const sendList = (
  response: ServerResponse,
  { index, rows }: { readonly index: number; readonly rows: Iterable<unknown> },
  headers: Headers,
  signal: AbortSignal,
): Promise<void> =>
  sendStream(response, listText(rows, index), { ...JSON_TYPE, etag: `"${index}"`, ...headers }, signal);

/** `{"items":[…],"index":N}`, a row a line. */
async function* listText(rows: Iterable<unknown>, index: number): AsyncGenerator<string> {
  let text = '{"items":[';
  let separator = "\n";
  let turn = performance.now();
  for (const row of rows) {
    text += separator + JSON.stringify(row);
    separator = ",\n";
    if (text.length >= SLICE_LENGTH) {
      yield text;
      text = "";
    }
    if (performance.now() - turn > TURN_MS) {
      await nextTurn();
      turn = performance.now();
    }
  }
  yield `${text}],"index":${index}}\n`;
}

function drained(response: ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      response.off("drain", settle);
      response.off("close", settle);
      signal.removeEventListener("abort", settle);
      if (signal.aborted || response.destroyed) reject(signal.reason ?? new Error("the reader has gone"));
      else resolve();
    };
    response.once("drain", settle);
    response.once("close", settle);
    signal.addEventListener("abort", settle, { once: true });
  });
}

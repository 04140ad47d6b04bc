/**
 * Sends answers. A list may be long, so it is written in slices: neither its text is in memory as a whole nor the thread
 * blocked, and a slow reader slows only its own answer.
 */

import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import { JsonText } from "./handler.ts";

type Headers = Readonly<Record<string, string>>;

/** Number of characters that are gathered before a write. */
const SLICE_LENGTH = 64 << 10;
/**
 * Maximum time on the thread without a break, in milliseconds. A request of the data plane waits for several such turns, one
 * for each of its own.
 */
const TURN_MS = 1;

/** Maximum number of items of a list that is written at once. */
const MAX_WHOLE_ITEMS = 1_000;

/** Headers of every answer: no caching, and no content sniffing by browsers. */
const ALWAYS: Headers = { "cache-control": "no-store", "x-content-type-options": "nosniff" };
const JSON_TYPE: Headers = { "content-type": "application/json" };

/** Valid request id of a caller: visible ASCII. */
const REQUEST_ID = /^[!-~]{1,128}$/;

/** Returns the request's id, the caller's own if it is valid. Every answer has it as a header. */
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

/** Rejects if the reader leaves. */
export async function sendStream(
  response: ServerResponse,
  parts: AsyncIterable<Uint8Array | string> | Iterable<string>,
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

export interface SentList {
  readonly index: number;
  readonly rows: Iterable<unknown>;
  /** Members of the answer beside the rows. */
  readonly others?: object;
}

export const sendList = (
  response: ServerResponse,
  { index, rows, others = {} }: SentList,
  headers: Headers,
  signal: AbortSignal,
): Promise<void> =>
  sendStream(response, listText(rows, { index, ...others }), { ...JSON_TYPE, etag: `"${index}"`, ...headers }, signal);

const listText = (rows: Iterable<unknown>, others: object): AsyncGenerator<string> =>
  slices('{"items":[', rows, `],${JSON.stringify(others).slice(1)}\n`);

/** Sends a value whose longest list is written in slices, one item per line; a value without a long list is written at once. */
export async function sendValue(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Headers,
  signal: AbortSignal,
): Promise<void> {
  if (value instanceof JsonText) {
    const [whole = "", ...more] = value.parts;
    if (more.length === 0) return sendText(response, status, whole, headers);
    return await sendStream(response, value.parts, { ...JSON_TYPE, ...headers }, signal);
  }
  const fields = Object.entries(value ?? {});
  const [name, items] = fields.find(([, field]) => Array.isArray(field) && field.length > MAX_WHOLE_ITEMS) ?? [];
  if (name === undefined || status !== 200) return sendText(response, status, `${JSON.stringify(value)}\n`, headers);
  const others = JSON.stringify(Object.fromEntries(fields.filter(([field]) => field !== name)));
  const head = others === "{}" ? "{" : `${others.slice(0, -1)},`;
  const parts = slices(`${head}${JSON.stringify(name)}:[`, items as readonly unknown[], "]}\n");
  await sendStream(response, parts, { ...JSON_TYPE, ...headers }, signal);
}

/** Yields items, one per line, between head and tail. */
async function* slices(head: string, items: Iterable<unknown>, tail: string): AsyncGenerator<string> {
  let text = head;
  let separator = "\n";
  let turn = performance.now();
  for (const item of items) {
    text += separator + JSON.stringify(item);
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
  yield text + tail;
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

/** One HTTP request in progress, and functions to write whole answers. */

import type { IncomingMessage, ServerResponse } from "node:http";
import { type AnswerProtocol, errorBody } from "./dialect-errors.ts";
import type { Json } from "./json-fields.ts";
import type { Tally } from "./request-counters.ts";
import type { Tokens } from "./route-types.ts";

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly tally: Tally;
  readonly serial: number;
  readonly requestId: string;
  dialect: AnswerProtocol;
  /** Id of the JSON-RPC request; null if there is none. */
  rpcId: Json;
  /** Model, or the call to an agent, for the log; empty if there is none. */
  model: string;
  /** True if a fault, and not the client, closed the connection. */
  isDropped: boolean;
  /** Tokens of the answer, which are counted once it was written whole. */
  tokens: Tokens | undefined;
  /** Adds the counted tokens to the organization's usage; `undefined` for a route that is not billed. */
  bill: ((tokens: Tokens) => void) | undefined;
}

interface Head {
  readonly status: number;
  readonly contentType: string;
  /** Length in bytes; `undefined` for a stream. */
  readonly length: number | undefined;
  readonly encoding?: "gzip";
  readonly retryAfterSeconds?: number | undefined;
  /** Headers as flat name and value pairs. */
  readonly headers?: readonly string[] | undefined;
}

/** Rate limit headers as a provider sends them. They are constants, since answers must not depend on the load. */
const COMPAT_LIMITS: readonly string[] = [
  ["openai-version", "2020-10-01"],
  ["openai-organization", "simulated"],
  ["openai-processing-ms", "1"],
  ["x-ratelimit-limit-requests", "10000"],
  ["x-ratelimit-limit-tokens", "2000000"],
].flat();

const MESSAGES_LIMITS: readonly string[] = [
  ["anthropic-organization-id", "simulated"],
  ["anthropic-ratelimit-requests-limit", "10000"],
  ["anthropic-ratelimit-tokens-limit", "2000000"],
].flat();

/** Returns the headers as flat name and value pairs, the cheapest form for `writeHead`. */
function headersOf(exchange: Exchange, head: Head): string[] {
  if (exchange.dialect === "rpc") return rpcHeadersOf(head);
  const isRefused = head.status === 429;
  const left = isRefused ? "0" : "9999";
  const tokensLeft = isRefused ? "0" : "1999000";
  const headers = ["content-type", head.contentType];
  if (head.length !== undefined) headers.push("content-length", String(head.length));
  else headers.push("cache-control", "no-cache");
  if (head.encoding !== undefined) headers.push("content-encoding", head.encoding, "vary", "accept-encoding");
  if (head.retryAfterSeconds !== undefined) headers.push("retry-after", String(head.retryAfterSeconds));
  if (head.headers !== undefined) headers.push(...head.headers);
  if (exchange.dialect === "messages") {
    const reset = resetTime(head.retryAfterSeconds ?? 1);
    headers.push("request-id", exchange.requestId, ...MESSAGES_LIMITS);
    headers.push("anthropic-ratelimit-requests-remaining", left, "anthropic-ratelimit-requests-reset", reset);
    headers.push("anthropic-ratelimit-tokens-remaining", tokensLeft, "anthropic-ratelimit-tokens-reset", reset);
  } else {
    const reset = head.retryAfterSeconds === undefined ? "6ms" : `${head.retryAfterSeconds}s`;
    headers.push("x-request-id", exchange.requestId, ...COMPAT_LIMITS);
    headers.push("x-ratelimit-remaining-requests", left, "x-ratelimit-reset-requests", reset);
    headers.push("x-ratelimit-remaining-tokens", tokensLeft, "x-ratelimit-reset-tokens", reset);
  }
  return headers;
}

/** Returns the headers as the official SDKs of both agent protocols write them. */
function rpcHeadersOf({
  status,
  contentType,
  length,
  encoding,
  retryAfterSeconds,
  headers: more = [],
}: Head): string[] {
  const headers = contentType === "" ? [] : ["content-type", contentType];
  if (length !== undefined) headers.push("content-length", String(length));
  else headers.push("cache-control", "no-cache, no-transform", "x-accel-buffering", "no");
  if (encoding !== undefined) headers.push("content-encoding", encoding, "vary", "accept-encoding");
  if (retryAfterSeconds !== undefined) headers.push("retry-after", String(retryAfterSeconds));
  if (status === 401) headers.push("www-authenticate", "Bearer");
  return [...headers, ...more];
}

/** Returns a time in RFC 3339 format, to the second. */
function resetTime(inSeconds: number): string {
  const second = Math.ceil(Date.now() / 1_000) + inSeconds;
  return `${new Date(second * 1_000).toISOString().slice(0, 19)}Z`;
}

export function writeHead(exchange: Exchange, head: Head): void {
  exchange.response.writeHead(head.status, headersOf(exchange, head));
}

/** Writes a whole answer. */
export function writeWhole(exchange: Exchange, head: Omit<Head, "length">, body: string | Buffer): void {
  const length = Buffer.byteLength(body);
  exchange.tally.bytesOut += length;
  writeHead(exchange, { ...head, length });
  exchange.response.end(body);
}

interface ErrorAnswer {
  readonly status: number;
  readonly message: string;
  readonly param?: string | null;
  readonly code?: string | null | undefined;
  readonly retryAfterSeconds?: number | undefined;
}

export function writeError(
  exchange: Exchange,
  { status, message, param = null, code, retryAfterSeconds }: ErrorAnswer,
): void {
  const { dialect, requestId, rpcId } = exchange;
  const body = errorBody(dialect, { status, message, param, code, requestId, rpcId });
  writeWhole(exchange, { status, contentType: "application/json", retryAfterSeconds }, body);
}

/** Waits; returns false if the connection closed first. */
export function pause(response: ServerResponse, ms: number): Promise<boolean> {
  return new Promise((done) => {
    if (response.destroyed || response.closed) return done(false);
    const onClose = () => {
      clearTimeout(timer);
      done(false);
    };
    const timer = setTimeout(() => {
      response.off("close", onClose);
      done(true);
    }, ms);
    response.once("close", onClose);
  });
}

/**
 * Requests to the admin API over the socket or the network, with streamed answers. It implements HTTP and knows nothing of the
 * operations, so that a verb that calls one of them does not load the table of all.
 *
 * An exchange ends with its answer, its time limit or its signal, whichever comes first, and rejects with `AdminError`; a
 * status of 400 or above is an answer. The connection is kept for the next exchange. Redirects are not followed: a token is for
 * the gateway that was addressed.
 */

import { Agent, type IncomingHttpHeaders, type IncomingMessage, type OutgoingHttpHeaders, request } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { anySignal } from "../base/index.ts";
import { type AdminAddress, addressText, type TokenSource } from "./admin-address.ts";
import { AdminError } from "./admin-error.ts";

/** Body of a request. A function returns the same bytes at each call, so that its request can be repeated. */
export type RequestBody = string | Uint8Array | AsyncIterable<Uint8Array> | (() => AsyncIterable<Uint8Array>);

interface AdminRequest {
  readonly method: string;
  /** Path from the root of the gateway, with its query: `/admin/v1/keys?consistent=true`. */
  readonly path: string;
  readonly headers?: OutgoingHttpHeaders | undefined;
  readonly body?: RequestBody | undefined;
}

export interface AdminAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Body; must be read to its end, or closed. Rejects with `AdminError` if it breaks off. */
  readonly body: AsyncIterable<Uint8Array>;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly timeLimitMs?: number;
}

export interface Transport {
  readonly address: AdminAddress;
  /** Makes one exchange. The time limit covers the answer's head and `read`, but not an answer that `read` returns. */
  exchange<T>(
    request: AdminRequest,
    readAnswer: (answer: AdminAnswer) => T | Promise<T>,
    options?: CallOptions,
  ): Promise<T>;
  /** Closes idle connections, and aborts exchanges in progress. */
  close(): void;
}

interface TransportOptions {
  /** Default time limit in milliseconds; a blocking read must set one above its `wait`. */
  readonly timeLimitMs?: number | undefined;
}

const DEFAULT_TIME_LIMIT_MS = 30_000;
/** Maximum number of connections; a console has a blocking read for each table it shows. */
const MAX_CONNECTIONS = 64;
/** Size of the pieces of a text: an early refusal is then seen before the whole body is sent. */
const SLICE_BYTES = 64 << 10;

/** Sends a request, with the token of the address. */
type Dial = (options: {
  method: string;
  path: string;
  headers: OutgoingHttpHeaders;
  signal: AbortSignal;
}) => Promise<ReturnType<typeof request>>;

export function openTransport(
  address: AdminAddress,
  { timeLimitMs: defaultTimeLimitMs }: TransportOptions = {},
): Transport {
  const connection =
    address.kind === "socket" ? socketConnection(address.path) : networkConnection(new URL(address.url));
  const tokens = address.kind === "url" && address.token !== undefined ? sharedTokens(address.token) : undefined;
  // Each exchange has its own controller, because on Node 20 a long-lived signal retains memory for each signal derived
  // from it.
  const running = new Set<AbortController>();
  let isClosed = false;

  async function send(call: AdminRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const token = await rejectOnAbort(tokens?.(), signal);
    const answer = await sendAttempt(connection.dial, call, token, signal);
    const isRepeatable = !(typeof call.body === "object" && Symbol.asyncIterator in call.body);
    if (answer.statusCode !== 401 || tokens === undefined || !isRepeatable) return answer;
    const renewed = await rejectOnAbort(tokens({ renew: true }), signal);
    if (renewed === undefined || renewed === token) return answer;
    // Stops sending the rest of a long body.
    if (isBuffered(call.body)) answer.resume();
    else answer.destroy();
    return await sendAttempt(connection.dial, call, renewed, signal);
  }

  return {
    address,
    async exchange(call, readAnswer, options = {}) {
      const timeLimitMs = options.timeLimitMs ?? defaultTimeLimitMs ?? DEFAULT_TIME_LIMIT_MS;
      const timeout = new AbortController();
      const limit = setTimeout(() => timeout.abort(), timeLimitMs);
      const closing = new AbortController();
      running.add(closing);
      if (isClosed) closing.abort();
      const callerSignal = options.signal === undefined ? closing.signal : anySignal([closing.signal, options.signal]);
      const signal = anySignal([timeout.signal, callerSignal]);
      let isFinished = true;
      const release = (): void => void running.delete(closing);
      try {
        signal.throwIfAborted();
        const answer = await send(call, signal);
        const value = await readAnswer({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          body: bytes(answer, callerSignal),
        });
        // A stream that was returned counts as in progress until it ends.
        isFinished = answer.closed || answer.complete;
        if (!isFinished) answer.once("close", release);
        return value;
      } catch (error) {
        if (error instanceof AdminError && error.status > 0) throw error;
        if (timeout.signal.aborted) {
          const effect = call.method === "GET" ? "" : "; the change may still be made";
          const message = `The gateway gave no answer within ${timeLimitMs} ms${effect}.`;
          throw new AdminError(0, "timeout", message, { cause: error });
        }
        if (error instanceof AdminError) throw error;
        if (signal.aborted) throw new AdminError(0, "aborted", "The call was aborted.", { cause: error });
        const message = `The gateway at ${addressText(address)} could not be reached.`;
        throw new AdminError(0, "unreachable", message, { cause: error });
      } finally {
        clearTimeout(limit);
        if (isFinished) release();
      }
    },
    close() {
      isClosed = true;
      for (const closing of running) closing.abort();
      connection.close();
    },
  };
}

interface Connection {
  readonly dial: Dial;
  close(): void;
}

function socketConnection(socketPath: string): Connection {
  const agent = new Agent({ keepAlive: true, maxSockets: MAX_CONNECTIONS });
  return { dial: async (options) => request({ ...options, socketPath, agent }), close: () => agent.destroy() };
}

function networkConnection({ protocol, hostname, port, pathname }: URL): Connection {
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const base = pathname.replace(/\/+$/, "");
  const agentOptions = { keepAlive: true, maxSockets: MAX_CONNECTIONS };
  let agent: Agent | undefined;
  return {
    async dial(options) {
      // TLS is loaded on demand: it costs a small verb a fifth of its start.
      const { Agent: OwnAgent, request: dial } =
        protocol === "https:" ? await import("node:https") : { Agent, request };
      agent ??= new OwnAgent(agentOptions);
      return dial({ ...options, host, port, path: base + options.path, agent });
    },
    close: () => agent?.destroy(),
  };
}

/** Shares one renewal between calls that are refused at the same time; a source that fails counts as no token. */
function sharedTokens(source: TokenSource): TokenSource {
  let renewing: Promise<string | undefined> | undefined;
  const requestToken = async (renew: boolean): Promise<string | undefined> => {
    try {
      return await (renew ? source({ renew }) : source());
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : String(cause);
      throw new AdminError(renew ? 401 : 0, "unauthenticated", message, { cause });
    }
  };
  return ({ renew = false } = {}) => {
    if (!renew) return requestToken(false);
    renewing ??= requestToken(true).finally(() => {
      renewing = undefined;
    });
    return renewing;
  };
}

async function sendAttempt(
  dial: Dial,
  { method, path, headers, body }: AdminRequest,
  token: string | undefined,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const length = lengthOf(body);
  const outgoing = await dial({
    method,
    path,
    headers: {
      ...headers,
      ...(length !== undefined && { "content-length": length }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    signal,
  });
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once("response", resolve);
    outgoing.on("error", reject);
    outgoing.once("close", () => reject(new Error("closed without an answer")));
  });
  if (isBuffered(body)) outgoing.end(body);
  // A refusal may come before the body is sent, and is then more informative than the failed send. A body that cannot be read
  // closes the request, which rejects `answered`.
  else pipeline(Readable.from(partsOf(body), { objectMode: false }), outgoing).catch(() => {});
  return await answered;
}

function lengthOf(body: RequestBody | undefined): number | undefined {
  return typeof body === "string" || body instanceof Uint8Array ? Buffer.byteLength(body) : undefined;
}

function isBuffered(body: RequestBody | undefined): body is string | Uint8Array | undefined {
  return body === undefined || (lengthOf(body) ?? Number.POSITIVE_INFINITY) <= SLICE_BYTES;
}

function partsOf(body: RequestBody): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  if (typeof body === "function") return body();
  if (typeof body === "string") return slices(Buffer.from(body));
  return body instanceof Uint8Array ? slices(body) : body;
}

function* slices(whole: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < whole.length; at += SLICE_BYTES) yield whole.subarray(at, at + SLICE_BYTES);
}

/** Yields the body of an answer. `signal` shows whether the reader has given up. */
async function* bytes(answer: IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) yield chunk;
  } catch (cause) {
    throw new AdminError(0, signal.aborted ? "aborted" : "unreachable", "The answer broke off.", { cause });
  } finally {
    answer.destroy();
  }
}

async function rejectOnAbort<T>(wait: Promise<T> | undefined, signal: AbortSignal): Promise<T | undefined> {
  if (wait === undefined) return undefined;
  signal.throwIfAborted();
  let onAbort = (): void => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
  });
  return Promise.race([wait, aborted]).finally(() => signal.removeEventListener("abort", onAbort));
}

/**
 * The admin API as typed calls over the local socket.
 *
 * One `call` for every operation of the table. A call ends by its answer, its time limit or its signal, whichever comes
 * first; what is not a success rejects with `AdminError`. An answer that is streamed is handed over once its headers are
 * there; whoever takes it reads it to its end or ends it, and the time limit does not cover its body (the signal does).
 */

import { Agent, type IncomingMessage, type OutgoingHttpHeaders, request } from "node:http";
import { pipeline } from "node:stream/promises";
import { AdminError } from "./errors.ts";
import type { Operation } from "./operation.ts";
import {
  BASE_PATH,
  OPERATIONS,
  type OperationAnswer,
  type OperationBody,
  type OperationId,
  type OperationParams,
  type OperationQuery,
} from "./operations.ts";

export interface ClientOptions {
  readonly socketPath: string;
  /** Limit of a call that names none; a blocking read must name one above its `wait`. */
  readonly timeLimitMs?: number;
}

/** Keys with nothing required in them may be left out. */
type Given<Name extends string, T> = [T] extends [undefined]
  ? { readonly [N in Name]?: undefined }
  : Record<never, never> extends T
    ? { readonly [N in Name]?: T }
    : { readonly [N in Name]: T };

export type CallInput<Id extends OperationId> = Given<"params", OperationParams<Id>> &
  Given<"query", OperationQuery<Id>> &
  Given<"body", OperationBody<Id>> & {
    /** The same request under the same key is applied once. */
    readonly idempotencyKey?: string;
    /** The revision that is to be replaced. */
    readonly ifMatch?: number;
  };

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly timeLimitMs?: number;
}

export interface AdminClient {
  call<Id extends OperationId>(
    id: Id,
    ...rest: Record<never, never> extends CallInput<Id>
      ? [input?: CallInput<Id>, options?: CallOptions]
      : [input: CallInput<Id>, options?: CallOptions]
  ): Promise<OperationAnswer<Id>>;
  /** Ends its idle connections, and calls under way. */
  close(): void;
}

const DEFAULT_TIME_LIMIT_MS = 30_000;
/** A list of 100,000 keys is some 40 MB. */
const MAX_ANSWER_BYTES = 256 << 20;
/** A console has a blocking read open for each table it shows. */
const MAX_CONNECTIONS = 64;

interface AnyInput {
  readonly params?: object | undefined;
  readonly query?: object | undefined;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
  readonly ifMatch?: number;
}

export function createAdminClient({ socketPath, timeLimitMs: ownLimit }: ClientOptions): AdminClient {
  const agent = new Agent({ keepAlive: true, maxSockets: MAX_CONNECTIONS });
  const closing = new AbortController();

  async function call(id: OperationId, input: AnyInput = {}, options: CallOptions = {}): Promise<unknown> {
    const operation: Operation = OPERATIONS[id];
    const timeLimitMs = options.timeLimitMs ?? ownLimit ?? DEFAULT_TIME_LIMIT_MS;
    const late = new AbortController();
    const limit = setTimeout(() => late.abort(), timeLimitMs);
    const signal = AbortSignal.any([late.signal, closing.signal, ...(options.signal ? [options.signal] : [])]);
    try {
      const answer = await send(operation, input, signal);
      const status = answer.statusCode ?? 0;
      if (status >= 400) throw refusal(status, await text(answer, signal));
      if (operation.answer.kind === "stream") return bytes(answer, options.signal);
      const body = await text(answer, signal);
      return operation.answer.kind === "empty" ? undefined : json(status, body);
    } catch (error) {
      if (error instanceof AdminError) throw error;
      if (late.signal.aborted) {
        throw new AdminError(0, "timeout", `The gateway gave no answer within ${timeLimitMs} ms.`, { cause: error });
      }
      if (signal.aborted) throw new AdminError(0, "aborted", "The call was given up.", { cause: error });
      throw new AdminError(0, "unreachable", `The gateway at ${socketPath} could not be reached.`, { cause: error });
    } finally {
      clearTimeout(limit);
    }
  }

  async function send(operation: Operation, input: AnyInput, signal: AbortSignal): Promise<IncomingMessage> {
    signal.throwIfAborted();
    const { headers, body } = encoded(operation, input);
    const outgoing = request({
      socketPath,
      agent,
      method: operation.method,
      path: target(operation, input),
      headers,
      signal,
    });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once("response", resolve);
      outgoing.on("error", reject);
      outgoing.once("close", () => reject(new Error("closed without an answer")));
    });
    if (body === undefined || typeof body === "string") outgoing.end(body);
    // A refusal may come before the body is through, and then says more than the failure to send the rest. A body that
    // cannot be read closes the request, which rejects `answered`.
    else pipeline(body, outgoing).catch(() => {});
    return await answered;
  }

  return {
    call: call as AdminClient["call"],
    close() {
      closing.abort();
      agent.destroy();
    },
  };
}

interface Encoded {
  readonly headers: OutgoingHttpHeaders;
  readonly body: string | AsyncIterable<Uint8Array> | undefined;
}

function encoded(operation: Operation, { body, idempotencyKey, ifMatch }: AnyInput): Encoded {
  const headers: OutgoingHttpHeaders = {
    ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
    ...(ifMatch !== undefined && { "if-match": `"${ifMatch}"` }),
  };
  switch (operation.body.kind) {
    case "none":
      return { headers, body: undefined };
    case "json":
      return withText({ ...headers, "content-type": "application/json" }, JSON.stringify(body ?? {}));
    case "document":
      return withText({ ...headers, "content-type": "application/yaml" }, String(body));
    case "stream":
      return {
        headers: { ...headers, "content-type": operation.body.contentType },
        body: body as AsyncIterable<Uint8Array>,
      };
    default:
      return operation.body satisfies never;
  }
}

function withText(headers: OutgoingHttpHeaders, body: string): Encoded {
  return { headers: { ...headers, "content-length": Buffer.byteLength(body) }, body };
}

function target(operation: Operation, { params = {}, query = {} }: AnyInput): string {
  const values = new Map<string, unknown>(Object.entries(params));
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values.get(name))));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.append(name, String(value));
  return `${BASE_PATH}${path}${search.size === 0 ? "" : `?${search}`}`;
}

async function text(answer: IncomingMessage, signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    signal.throwIfAborted();
    length += chunk.length;
    if (length > MAX_ANSWER_BYTES) {
      answer.destroy();
      throw new AdminError(answer.statusCode ?? 0, "unintelligible", `The answer is over ${MAX_ANSWER_BYTES} bytes.`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

async function* bytes(answer: IncomingMessage, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) yield chunk;
  } catch (cause) {
    const code = signal?.aborted ? "aborted" : "unreachable";
    throw new AdminError(0, code, "The answer broke off.", { cause });
  } finally {
    answer.destroy();
  }
}

function json(status: number, body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (cause) {
    throw new AdminError(status, "unintelligible", `The answer (${status}) is not JSON.`, { cause });
  }
}

function refusal(status: number, body: string): AdminError {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch (cause) {
    return new AdminError(status, "unintelligible", `The answer (${status}) is not JSON.`, { cause });
  }
  const { error } = (parsed ?? {}) as { readonly error?: { code?: unknown; message?: unknown; details?: unknown } };
  if (typeof error?.code !== "string" || typeof error.message !== "string") {
    return new AdminError(status, "unintelligible", `The answer (${status}) is no error of the admin API.`);
  }
  return new AdminError(status, error.code, error.message, { details: error.details });
}

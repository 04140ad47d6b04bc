/**
 * The admin API as typed calls over the socket or the network.
 *
 * One `call` for every operation of the table. A call ends with its answer, its time limit or its signal, whichever comes
 * first; an answer other than a success rejects with `AdminError`. A streamed answer is returned once its headers have arrived;
 * its receiver must read it to the end or close it, and the time limit does not cover its body (the signal does).
 */

import type { OutgoingHttpHeaders } from "node:http";
import type { AdminAddress } from "./admin-address.ts";
import { BASE_PATH } from "./admin-paths.ts";
import { type AdminAnswer, type CallOptions, openTransport, type RequestBody } from "./admin-transport.ts";
import type { Operation } from "./operation-definition.ts";
import {
  OPERATIONS,
  type OperationAnswer,
  type OperationBody,
  type OperationId,
  type OperationParams,
  type OperationQuery,
} from "./operation-table.ts";
import { readJson, readText, throwIfRefused } from "./read-admin-answer.ts";

interface ClientOptions {
  readonly address: AdminAddress;
  /** Default time limit of a call; a blocking read must set one above its `wait`. */
  readonly timeLimitMs?: number;
}

/** Makes an object without required keys optional. */
type OptionalIfEmpty<Name extends string, T> = [T] extends [undefined]
  ? { readonly [N in Name]?: undefined }
  : Record<never, never> extends T
    ? { readonly [N in Name]?: T }
    : { readonly [N in Name]: T };

export type CallInput<Id extends OperationId> = OptionalIfEmpty<"params", OperationParams<Id>> &
  OptionalIfEmpty<"query", OperationQuery<Id>> &
  OptionalIfEmpty<"body", OperationBody<Id>> & {
    /** Idempotency key: a repeated request with the same key is applied once. */
    readonly idempotencyKey?: string;
    /** Revision to replace. */
    readonly ifMatch?: number;
  };

interface RawOptions extends CallOptions {
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: RequestBody;
}

export interface AdminClient {
  call<Id extends OperationId>(
    id: Id,
    ...rest: Record<never, never> extends CallInput<Id>
      ? [input?: CallInput<Id>, options?: CallOptions]
      : [input: CallInput<Id>, options?: CallOptions]
  ): Promise<OperationAnswer<Id>>;
  /** Makes any request and returns its answer, whatever the status; the time limit does not cover its body (the signal does). */
  raw(method: string, path: string, options?: RawOptions): Promise<AdminAnswer>;
  /** Closes its idle connections, and aborts calls in progress. */
  close(): void;
}

interface AnyInput {
  readonly params?: object | undefined;
  readonly query?: object | undefined;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
  readonly ifMatch?: number;
}

export function createAdminClient({ address, timeLimitMs }: ClientOptions): AdminClient {
  const transport = openTransport(address, { timeLimitMs });

  function call(id: OperationId, input: AnyInput = {}, options: CallOptions = {}): Promise<unknown> {
    const operation: Operation = OPERATIONS[id];
    const request = {
      method: operation.method,
      path: requestPath(operation, input),
      ...encodeRequest(operation, input),
    };
    return transport.exchange(request, (answer) => readAnswer(operation, answer), options);
  }

  return {
    call: call as AdminClient["call"],
    raw: (method, path, { headers, body, ...options } = {}) =>
      transport.exchange(
        { method, path: path.startsWith("/") ? path : `${BASE_PATH}/${path}`, headers, body },
        (answer) => answer,
        options,
      ),
    close: () => transport.close(),
  };
}

async function readAnswer(operation: Operation, answer: AdminAnswer): Promise<unknown> {
  switch (operation.answer.kind) {
    case "json":
    case "list":
      return await readJson(answer);
    case "empty":
      await throwIfRefused(answer);
      await readText(answer);
      return undefined;
    case "stream":
      await throwIfRefused(answer);
      return answer.body;
    default:
      return operation.answer satisfies never;
  }
}

interface EncodedRequest {
  readonly headers: OutgoingHttpHeaders;
  readonly body: RequestBody | undefined;
}

function encodeRequest(operation: Operation, { body, idempotencyKey, ifMatch }: AnyInput): EncodedRequest {
  const headers: OutgoingHttpHeaders = {
    ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
    ...(ifMatch !== undefined && { "if-match": `"${ifMatch}"` }),
  };
  switch (operation.body.kind) {
    case "none":
      return { headers, body: undefined };
    case "json":
      return { headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body ?? {}) };
    case "document":
      return { headers: { ...headers, "content-type": "application/yaml" }, body: String(body) };
    case "stream":
      return {
        headers: { ...headers, "content-type": operation.body.contentType },
        body: body as AsyncIterable<Uint8Array>,
      };
    default:
      return operation.body satisfies never;
  }
}

function requestPath(operation: Operation, { params = {}, query = {} }: AnyInput): string {
  const values = new Map<string, unknown>(Object.entries(params));
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values.get(name))));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.append(name, String(value));
  return `${BASE_PATH}${path}${search.size === 0 ? "" : `?${search}`}`;
}

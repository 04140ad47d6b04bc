/** Input and output of handlers: the checked request, and the answer's value. One handler per operation. */

import type {
  OperationAnswer,
  OperationBody,
  OperationId,
  OperationParams,
  OperationQuery,
  RowOf,
  TableName,
} from "../../admin-api/index.ts";
import type { WriteOptions } from "../cluster/index.ts";
import type { ListSource } from "./lists.ts";
import type { Ports } from "./ports.ts";
import type { Principal } from "./principal.ts";
import type { QueryEngine } from "./query/index.ts";

export interface HandlerCall<Id extends OperationId> {
  /** Authenticated caller; NOBODY for an operation that needs no authentication. */
  readonly principal: Principal;
  /** Tables that the caller may list. */
  readonly tables: readonly TableName[];
  /** Returns whether the policy permits the caller another operation, whose resource has a fixed name. */
  readonly may: (action: OperationId) => boolean;
  readonly params: OperationParams<Id>;
  readonly query: OperationQuery<Id>;
  readonly body: OperationBody<Id>;
  /** Revision of `If-Match`, for an operation that accepts it. */
  readonly ifMatch: number | undefined;
  /** Options for a write of this request: actor, timeout and idempotency key. */
  readonly write: WriteOptions;
  /** Aborts when the caller leaves. */
  readonly signal: AbortSignal;
}

/** JSON of an answer that is text already, in parts that are sent as they are. */
export class JsonText {
  readonly parts: readonly string[];

  constructor(parts: readonly string[]) {
    this.parts = parts;
  }
}

export interface HandlerReply<Id extends OperationId> {
  readonly value: OperationAnswer<Id> | (Id extends "run_query" ? JsonText : never);
  /** Revision, for the ETag. */
  readonly revision?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Ports of handlers, beyond the node's. */
export interface HandlerPorts extends Ports {
  readonly query: QueryEngine;
}

type Handler<Id extends OperationId> = (
  call: HandlerCall<Id>,
  ports: HandlerPorts,
) => HandlerReply<Id> | Promise<HandlerReply<Id>>;

/** Operations that read a list. One function reads all lists, so they have sources instead of handlers. */
export type ListId = `list_${TableName}`;
export type Handlers = { readonly [Id in Exclude<OperationId, ListId>]: Handler<Id> };
export type ListSources = { readonly [T in TableName]: (ports: Ports) => ListSource<RowOf<T>> };

export const NO_CONTENT = { value: undefined } as const;

/** Formats milliseconds since 1970 as RFC 3339 in UTC. */
export function rfc3339(ms: number): string {
  return new Date(ms).toISOString();
}

/** Maps current rows of a state table lazily, as they are taken. */
export function* mapRows<T, Row>(rows: Iterable<T>, map: (row: T) => Row): Generator<Row> {
  for (const row of rows) yield map(row);
}

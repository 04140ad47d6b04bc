/**
 * Interface of the engine for SQL over the lists. Source: specification document 1, `gateway query`; design decisions, section
 * 3.
 */

import type { QueryResult, TableName } from "../../../admin-api/index.ts";
import type { Log } from "../../../base/index.ts";
import type { GatherRows } from "../gather-nodes.ts";
import type { ListSource } from "../lists.ts";

/** Rows of a table, and a number that changes with them. */
export type QuerySource = Pick<ListSource<unknown>, "version" | "take" | "parts">;

export interface QueryEngineOptions {
  /** Sources by table. A table without a source has no rows. */
  readonly sources: ReadonlyMap<TableName, QuerySource>;
  /** Returns the log index of the current state. */
  readonly index: () => number;
  /** Returns the current time, in milliseconds since 1970. */
  readonly now: () => number;
  readonly log: Log;
  /** Time limit of one statement, in milliseconds; 5,000 by default. */
  readonly runLimitMs?: number;
  /** Time after which the worker of an unused engine ends, in milliseconds; five minutes by default. */
  readonly idleMs?: number;
}

export interface QueryRequest {
  readonly sql: string;
  /** Values of its `?`: texts, numbers, booleans or null. */
  readonly params: readonly unknown[];
  /** Tables that the caller may read. */
  readonly tables: readonly TableName[];
  /**
   * Replaces rows of this node by those of all nodes; returns `undefined` for a table that is the same on all. Omitted to read
   * only this node's.
   */
  readonly gather?: GatherRows | undefined;
  readonly signal: AbortSignal;
}

/**
 * Answer of a statement. `rows` is JSON text as the worker wrote it, in parts that only have to be joined, a row on each line:
 * parsing a large answer, and formatting it again, would block the thread of the node.
 */
export interface QueryAnswer extends Omit<QueryResult, "rows"> {
  readonly rows: readonly string[];
}

export interface QueryEngine {
  /**
   * Rejects with `invalid` for a statement that is refused or was stopped by a bound (`details.reason` is then `time`,
   * `rows` or `memory`), and with `busy` when too many wait.
   */
  run(request: QueryRequest): Promise<QueryAnswer>;
  /** Refuses running and waiting statements. Waits for the worker to end. */
  close(): Promise<void>;
}

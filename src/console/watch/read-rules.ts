/**
 * Rules for each read: its path, whether the gateway can hold the answer back until it changes (lists can), and otherwise its
 * polling interval and the list whose change triggers it. Source: design decisions, section 3; operator console reference, B3.
 */

import {
  BASE_PATH,
  KEPT_RECORDS,
  LISTS,
  OPERATIONS,
  type Operation,
  type OperationId,
  TABLES,
  type TableName,
} from "../../admin-api/index.ts";
import type { JsonSchema } from "../../base/index.ts";
import { encoded } from "../model/action.ts";
import type { Need, ReadableId } from "../model/data.ts";

type ListId = `list_${TableName}`;
/** Reads that this machine answers. */
export type OwnId = "metrics" | "packs" | "pack_trial" | "threshold_trial";
export type PlainId = Exclude<ReadableId, ListId | OwnId>;

interface PlainRule {
  /** List whose change triggers this read, while that list is read too. */
  readonly follows?: ListId;
  /** Polling interval; `once` means once per connection. */
  readonly every: "soon" | "seldom" | "once";
  /** True if the value is the `items` of the answer. */
  readonly isList?: true;
  readonly query?: string;
  /** Query parameter for the name of the need; if missing, the name is part of the path. */
  readonly named?: string;
  /** Query without a name, for an older node that refuses the current one; its answer may contain more. */
  readonly earlier?: string;
}

export const PLAIN: Readonly<Record<PlainId, PlainRule>> = {
  get_status: { follows: "list_cluster_members", every: "soon" },
  get_whoami: { every: "once" },
  get_config: { follows: "list_sources", every: "seldom" },
  list_query_tables: { every: "once", isList: true },
  list_audit_records: {
    follows: "list_audit_heads",
    every: "soon",
    isList: true,
    query: `limit=${KEPT_RECORDS / 4}&nodes=all`,
    named: "event",
    earlier: `limit=${KEPT_RECORDS / 4}`,
  },
  list_backend_errors: { follows: "list_backends", every: "soon", isList: true, query: "nodes=all", earlier: "" },
  list_backend_members: { follows: "list_backends", every: "soon", isList: true, query: "nodes=all" },
  list_source_revisions: { follows: "list_sources", every: "seldom", isList: true },
};

/** Filter in the query of a list that would otherwise be long. */
export const ONLY: ReadonlyMap<TableName, string> = new Map([["history", "kind=backends"]]);

/**
 * Lists that can be read in part from every node: the parameter for the name, and the blocking time in milliseconds. The time
 * is short, since the buckets of other nodes end slightly before or after those of the connected node.
 */
export const NAMED: ReadonlyMap<TableName, { readonly parameter: string; readonly holdMs: number }> = new Map([
  ["history", { parameter: "kind", holdMs: 5_000 }],
  ["history_minutes", { parameter: "kind", holdMs: 15_000 }],
]);

export type Row = Readonly<Record<string, unknown>>;

export function tableOfList(id: ReadableId): TableName | undefined {
  const table = id.startsWith("list_") ? id.slice("list_".length) : "";
  return isTable(table) ? table : undefined;
}

const isTable = (name: string): name is TableName => Object.hasOwn(TABLES, name);

export function rowSchemaOf(table: TableName): JsonSchema {
  return TABLES[table].json;
}

/** Returns the function that identifies a row, so that an unchanged row is the same object in the next answer. */
export function rowIdOf(table: TableName): (row: Row) => string {
  const columns: readonly string[] = LISTS[table].identity;
  const [first = "", ...others] = columns;
  return (row) => others.reduce((id, column) => `${id}\n${row[column]}`, String(row[first]));
}

/** Returns the schema of the answer to a plain read; `undefined` allows any JSON. */
export function answerSchemaOf(id: PlainId): JsonSchema | undefined {
  const { answer }: Operation = OPERATIONS[id];
  return answer.kind === "json" ? answer.schema.json : undefined;
}

/** Returns the path with its query, whose parts are already encoded. `isEarlier` selects the form for an older node. */
export function pathOf({ id, name }: Need<Exclude<ReadableId, OwnId>>, query = "", isEarlier = false): string {
  const operation: OperationId = id;
  const parameter = isPlain(id) && !isEarlier ? PLAIN[id].named : undefined;
  const asked = [
    ...(query === "" ? [] : [query]),
    ...(parameter === undefined || name === undefined ? [] : [`${parameter}=${encoded(name)}`]),
  ].join("&");
  const path = OPERATIONS[operation].path.replace("{name}", () => encoded(name ?? ""));
  return `${BASE_PATH}${path}${asked === "" ? "" : `?${asked}`}`;
}

const isPlain = (id: ReadableId): id is PlainId => Object.hasOwn(PLAIN, id);

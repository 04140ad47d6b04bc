/**
 * How each thing that can be read is read: its path, whether the gateway can hold the answer back until it changes (lists
 * can), and else how often it is asked for and which list tells that it may have changed. Source: design decisions,
 * section 3; operator console reference, B3.
 */

import {
  BASE_PATH,
  type JsonSchema,
  KEPT_RECORDS,
  OPERATIONS,
  type Operation,
  type OperationId,
  TABLES,
  type TableName,
} from "../../admin-api/index.ts";
import { encoded } from "../model/action.ts";
import type { Need, ReadableId } from "../model/data.ts";

export type ListId = `list_${TableName}`;
/** Answered by this machine. */
export type OwnId = "metrics" | "packs" | "pack_trial" | "threshold_trial";
export type PlainId = Exclude<ReadableId, ListId | OwnId>;

export interface PlainRule {
  /** Read again when this list has changed, as long as that is read itself. */
  readonly follows?: ListId;
  /** By itself; `once`: with each connection to a door. */
  readonly every: "soon" | "seldom" | "once";
  /** The value is the `items` of the answer. */
  readonly isList?: true;
  readonly query?: string;
  /** What the name of the need is in the query; left out, it stands in the path. */
  readonly named?: string;
  /** The query, without a name in it, for a node of an earlier version that refuses the other: its answer may be wider. */
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

/** What tells the rows of a list apart, so that a row that did not change is the same object in the next answer. */
const IDENTITY: { readonly [T in TableName]: readonly (keyof (typeof TABLES)[T]["keys"])[] } = {
  keys: ["id"],
  profiles: ["name"],
  budgets: ["budget", "bucket"],
  backends: ["name", "node"],
  // The id may be the caller's own, and be used again.
  requests: ["time", "id", "total_ms", "status", "node"],
  refusals: ["node", "caller_kind", "caller", "code", "cause", "cause_name", "first_at"],
  guardrails: ["kind", "name", "node"],
  certificates: ["node", "source"],
  artifacts: ["node", "model", "file"],
  controls: ["control", "node"],
  history: ["kind", "name", "time", "node"],
  usage: ["hour", "hop", "caller", "profile", "provider", "model"],
  models: ["kind", "model", "provider"],
  mcp_servers: ["name", "node"],
  a2a_agents: ["name", "node"],
  suspensions: ["kind", "name"],
  acknowledgements: ["name"],
  secrets: ["name"],
  sources: ["name"],
  cluster_members: ["id"],
  audit_heads: ["node", "kid"],
  reconcile: ["provider"],
  reconcile_verdicts: ["provider", "day", "class"],
};

/** Of lists that are long, which rows are read. */
export const ONLY: ReadonlyMap<TableName, string> = new Map([["history", "kind=backends"]]);

/**
 * Lists of which a named part is read, of every node: the parameter that the name is given to, and how long an answer is
 * held back, since the buckets of other nodes are over a moment before or after those of this one.
 */
export const NAMED: ReadonlyMap<TableName, { readonly parameter: string; readonly holdMs: number }> = new Map([
  ["history", { parameter: "kind", holdMs: 5_000 }],
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

export function rowIdOf(table: TableName): (row: Row) => string {
  const columns: readonly string[] = IDENTITY[table];
  const [first = "", ...others] = columns;
  return (row) => others.reduce((id, column) => `${id}\n${row[column]}`, String(row[first]));
}

/** Of the answer to a plain read; undefined: any JSON. */
export function answerSchemaOf(id: PlainId): JsonSchema | undefined {
  const { answer }: Operation = OPERATIONS[id];
  return answer.kind === "json" ? answer.schema.json : undefined;
}

/** With its query; the parts of `query` are encoded already. `isEarlier`: as a node of an earlier version takes it. */
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

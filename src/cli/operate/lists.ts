/**
 * The lists that `gateway get` prints, as data over the columns of the admin API: other names that people type, the column
 * that names a row, and the columns of the narrow table. `wide` and every other format show all columns.
 */

import { OPERATIONS, TABLES, type TableName } from "../../admin-api/index.ts";
import { clip, didYouMean, UsageError } from "../flags.ts";

export interface ListSpec {
  readonly table: TableName;
  /** Other names for the list, as other tools call the same thing. */
  readonly aliases: readonly string[];
  /** Columns whose values, joined by `:`, name a row on the command line. */
  readonly name: readonly string[];
  /** Columns of the narrow table, in order. */
  readonly columns: readonly string[];
  /** Groups the lists in the overview of `gateway get`. */
  readonly about: "traffic" | "access" | "configuration" | "cluster" | "bills";
}

const LISTS: readonly ListSpec[] = [
  {
    table: "backends",
    aliases: ["providers", "upstreams"],
    name: ["name"],
    columns: ["name", "dialect", "state", "rate", "error_ratio", "ttfb_p50_ms", "ttfb_p95_ms", "in_flight", "node"],
    about: "traffic",
  },
  {
    table: "models",
    aliases: ["routes"],
    name: ["model"],
    columns: ["model", "kind", "provider", "upstream_model", "failover"],
    about: "traffic",
  },
  {
    table: "requests",
    aliases: [],
    name: ["id"],
    columns: ["time", "id", "caller", "model", "provider", "status", "code", "total_ms", "decided_by"],
    about: "traffic",
  },
  {
    table: "refusals",
    aliases: ["denials"],
    name: ["caller"],
    columns: [
      "caller_kind",
      "caller",
      "code",
      "cause",
      "cause_name",
      "last_minute",
      "last_hour",
      "last_request",
      "node",
    ],
    about: "traffic",
  },
  {
    table: "mcp_servers",
    aliases: ["mcp", "servers"],
    name: ["name"],
    columns: ["name", "url", "state", "rate", "error_ratio", "in_flight", "node"],
    about: "traffic",
  },
  {
    table: "a2a_agents",
    aliases: ["a2a", "agents"],
    name: ["name"],
    columns: ["name", "url", "state", "rate", "error_ratio", "in_flight", "node"],
    about: "traffic",
  },
  {
    table: "guardrails",
    aliases: ["detectors", "rules"],
    name: ["name"],
    columns: ["kind", "name", "type", "mode", "on_error", "decisions", "errors", "node"],
    about: "traffic",
  },
  {
    table: "history",
    aliases: [],
    name: ["name"],
    columns: ["kind", "name", "time", "node"],
    about: "traffic",
  },
  {
    table: "keys",
    aliases: ["virtual_keys"],
    name: ["name"],
    columns: ["name", "id", "profile", "status", "expires_at", "last_used_at"],
    about: "access",
  },
  {
    table: "profiles",
    aliases: [],
    name: ["name"],
    columns: ["name", "budget", "allowed_models", "access_rules", "detectors", "keys"],
    about: "access",
  },
  {
    table: "budgets",
    aliases: ["buckets"],
    name: ["budget"],
    columns: ["budget", "bucket", "key", "used", "reserved", "limit", "remaining", "window", "resets_at", "status"],
    about: "access",
  },
  {
    table: "suspensions",
    aliases: ["suspended"],
    name: ["kind", "name"],
    columns: ["kind", "name", "status", "reason", "by", "until"],
    about: "access",
  },
  {
    table: "secrets",
    aliases: [],
    name: ["name"],
    columns: ["name", "version", "updated_at", "kek"],
    about: "configuration",
  },
  {
    table: "sources",
    aliases: [],
    name: ["name"],
    columns: ["name", "revision", "writer", "updated_at", "by", "state", "message"],
    about: "configuration",
  },
  {
    table: "artifacts",
    aliases: [],
    name: ["model"],
    columns: ["node", "model", "file", "state"],
    about: "configuration",
  },
  {
    table: "controls",
    aliases: [],
    name: ["control"],
    columns: ["control", "pack", "rules", "decisions", "node"],
    about: "configuration",
  },
  {
    table: "certificates",
    aliases: ["certs"],
    name: ["node"],
    columns: ["node", "source", "names", "not_after", "next_renewal", "last_error"],
    about: "configuration",
  },
  {
    table: "cluster_members",
    aliases: ["members", "nodes", "peers", "cluster"],
    name: ["id"],
    columns: ["id", "role", "state", "voter", "applied", "lag", "last_contact_ms", "clock_offset_ms", "version"],
    about: "cluster",
  },
  {
    table: "acknowledgements",
    aliases: ["acks"],
    name: ["name"],
    columns: ["name", "reason", "by", "until", "status"],
    about: "cluster",
  },
  {
    table: "audit_heads",
    aliases: ["audit"],
    name: ["node"],
    columns: ["node", "kid", "seq", "witnessed_at", "conflicts"],
    about: "cluster",
  },
  {
    table: "usage",
    aliases: [],
    name: ["caller"],
    columns: ["hour", "hop", "caller", "provider", "model", "requests", "failed", "units"],
    about: "bills",
  },
  {
    table: "reconcile",
    aliases: [],
    name: ["provider"],
    columns: ["provider", "type", "fetched_at", "judged_to", "days", "breaches", "error"],
    about: "bills",
  },
  {
    table: "reconcile_verdicts",
    aliases: ["verdicts"],
    name: ["provider"],
    columns: ["day", "provider", "class", "metered", "reported", "ratio", "breach", "direction"],
    about: "bills",
  },
];

export const ALL_LISTS = LISTS;

/** Titles of the groups of `gateway get`, in their order. */
export const LIST_GROUPS = {
  traffic: "Traffic",
  access: "Callers and limits",
  configuration: "Configuration",
  cluster: "Cluster and audit",
  bills: "Usage and bills",
} as const satisfies Record<ListSpec["about"], string>;

/** Returns the list of that name: `keys`, `key`, `providers`. Throws `UsageError` with the nearest name for none. */
export function listNamed(text: string): ListSpec {
  const wanted = text.toLowerCase().replaceAll("-", "_");
  for (const list of LISTS) {
    const names = [list.table, ...list.aliases];
    if (names.some((name) => name === wanted || singularOf(name) === wanted)) return list;
  }
  const names = LISTS.flatMap(({ table, aliases }) => [table, ...aliases]);
  throw new UsageError(`there is no list '${clip(text)}'${didYouMean(wanted, names)}; 'gateway get' alone lists them`);
}

function singularOf(name: string): string {
  if (name.endsWith("ies")) return `${name.slice(0, -3)}y`;
  return name.replace(/s$/, "");
}

/** Whether each node measures its own rows, so that `-nodes all` may ask every node. */
export function isMeasured({ table }: ListSpec): boolean {
  return Object.hasOwn(OPERATIONS[`list_${table}`].query.keys, "nodes");
}

export interface ColumnSpec {
  readonly name: string;
  readonly isNumeric: boolean;
  readonly isTime: boolean;
  readonly description: string;
}

/** Returns the columns of a list in the order of the contract. */
export function columnsOf({ table }: ListSpec): readonly ColumnSpec[] {
  return Object.entries(TABLES[table].keys).map(([name, { json }]) => {
    const types = [json["type"]].flat();
    return {
      name,
      isNumeric: types.includes("integer") || types.includes("number"),
      isTime: json["format"] === "date-time",
      description: String(json["description"] ?? ""),
    };
  });
}

export type Row = Readonly<Record<string, unknown>>;

/** Returns what names a row on the command line: `ci`, `provider:openai`. */
export function nameOf({ name }: ListSpec, row: Row): string {
  return name.map((column) => String(row[column] ?? "")).join(":");
}

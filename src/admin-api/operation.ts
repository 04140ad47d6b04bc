/**
 * Description of one operation of the admin API. Routes, validation, policy actions, the OpenAPI document and the typed client
 * all use the same descriptions. Source: design decisions, section 3.
 */

import type { TableName } from "./columns.ts";
import { choice, flag, integer, list, type ObjectSchema, object, optional, type Schema, type TypeOf, text } from "../base/index.ts";

/** Codes that an operation may answer beside the `COMMON_CODES` of all. */
export type AdminCode =
  | "not_found"
  | "conflict"
  | "stale"
  | "refused"
  | "no_leader"
  | "busy"
  | "disk_low"
  | "entry_too_large"
  | "body_too_large"
  | "audit_unavailable";

/**
 * Codes that any operation may answer. `busy`: the caller could not be authenticated in time; `audit_unavailable`: a denial
 * could not be recorded.
 */
export const COMMON_CODES = [
  "invalid",
  "unauthenticated",
  "forbidden",
  "busy",
  "audit_unavailable",
  "internal",
] as const;

/** Time after which a write without a leader is answered with `no_leader`, in milliseconds. */
export const LEADER_WAIT_MS = 5_000;

/** Codes of an operation that writes through the log. */
export const WRITE_CODES = [
  "conflict",
  "no_leader",
  "busy",
  "disk_low",
  "entry_too_large",
  "audit_unavailable",
] as const;

/** `dangerous` is for restore, prune and member removal, which can lose state or quorum. */
export type ActionGroup = "read" | "write" | "dangerous";

export type ResourceKind =
  | "Table"
  | "Key"
  | "Suspension"
  | "Acknowledgement"
  | "Secret"
  | "Source"
  | "Backend"
  | "Guardrails"
  | "Audit"
  | "Member"
  | "Cluster"
  | "Config"
  | "Node";

export type BodyShape =
  | { readonly kind: "none" }
  | { readonly kind: "json"; readonly schema: Schema<unknown> }
  /** A configuration document, YAML or JSON, kept as written. */
  | { readonly kind: "document" }
  /** A stream, never in memory as a whole. */
  | { readonly kind: "stream"; readonly contentType: string };

export type AnswerShape =
  | { readonly kind: "json"; readonly status: 200 | 201; readonly schema: Schema<unknown> }
  /** Rows of a table, with its index. */
  | { readonly kind: "list"; readonly table: TableName }
  /** 204 without a body. */
  | { readonly kind: "empty" }
  | { readonly kind: "stream"; readonly contentType: string };

export interface Operation {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path below `/admin/v1`; `{name}` matches one segment, or a part of one, and is described in `params`. */
  readonly path: string;
  readonly group: ActionGroup;
  /** True for a read that is recorded nevertheless. */
  readonly isRecorded?: true;
  /** Open to every client, without a credential and without a policy decision. */
  readonly isOpen?: true;
  /** Resource of the policy decision: `Kind::"<name>"`; `param` or `name` gives the name. */
  readonly resource:
    | { readonly kind: ResourceKind; readonly param: string | readonly [kind: string, name: string] }
    | { readonly kind: ResourceKind; readonly name: string };
  /** Description in one sentence. */
  readonly help: string;
  readonly params: ObjectSchema;
  readonly query: ObjectSchema;
  readonly body: BodyShape;
  readonly answer: AnswerShape;
  /** Fields of the answer that are added to the audit record of a change, beside its resource. */
  readonly records?: readonly string[];
  /** Accepts `If-Match` with a revision. */
  readonly takesIfMatch?: boolean;
  readonly codes: readonly AdminCode[];
}

export const NOTHING = object("None.", {});

export const NO_BODY = { kind: "none" } as const;
export const EMPTY = { kind: "empty" } as const;

export const jsonBody = <S extends Schema<unknown>>(schema: S) => ({ kind: "json", schema }) as const;
export const answers = <S extends Schema<unknown>>(schema: S) => ({ kind: "json", status: 200, schema }) as const;
export const creates = <S extends Schema<unknown>>(schema: S) => ({ kind: "json", status: 201, schema }) as const;

export const LIST_QUERY = object("How a list is read.", {
  index: optional(
    integer("Answer once the list has changed past this index, as an earlier answer gave it.", {
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
    }),
  ),
  wait: optional(
    text("With `index`: answer after this long at the latest, with what there is; 30s when left out.", {
      format: "duration",
      "x-max-duration": "5m",
    }),
  ),
  consistent: optional(flag("Read what was acknowledged anywhere before the call; needs a leader.")),
});

/** Query parameters of lists that each node measures. */
export const EVERY_NODE = {
  nodes: optional(
    choice(
      "`all`: of every member of the cluster, each row with its `node`; `unanswered` names those that gave none within a second, `cut` those that have more than an answer takes.",
      ["all"],
    ),
  ),
} as const;

/** Members of an answer to `nodes=all`. */
export const ANSWERED_BY = {
  unanswered: optional(list("With `nodes=all`: nodes that gave no answer within a second.", text("Node id."))),
  cut: optional(list("With `nodes=all`: nodes of which some rows were left out.", text("Node id."))),
} as const;

/** Maximum number of rows in a page. */
const MAX_PAGE = 10_000;

const PAGE_QUERY = object("How a list is read, and which page of it.", {
  ...LIST_QUERY.keys,
  limit: optional(
    integer("A page of at most so many rows, in the order of their names; all rows when left out.", {
      minimum: 1,
      maximum: MAX_PAGE,
    }),
  ),
  after: optional(
    text("With `limit`: only rows behind this name, such as the last one of the page before.", {
      pattern: "^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$",
    }),
  ),
});

const MEASURED_KEYS = { ...LIST_QUERY.keys, ...EVERY_NODE } as const;
const MEASURED_QUERY = object("How a list is read.", MEASURED_KEYS);

/** Returns the operation of a list that each node measures. */
export const listsMeasured = <const T extends TableName>(table: T, help: string) =>
  ({ ...lists(table, help), query: MEASURED_QUERY }) as const satisfies Operation;

/** Returns the operation of a list that can be filtered by the values of these columns. */
export const listsNarrowed = <const T extends TableName, const K extends ObjectSchema["keys"]>(
  table: T,
  help: string,
  columns: K,
) =>
  ({
    ...lists(table, help),
    query: object("How a list is read, and which rows of it.", { ...MEASURED_KEYS, ...columns }),
  }) as const satisfies Operation;

export const lists = <const T extends TableName>(table: T, help: string) =>
  ({
    method: "GET",
    path: `/${table}`,
    group: "read",
    resource: { kind: "Table", name: table },
    help,
    params: NOTHING,
    query: LIST_QUERY,
    body: NO_BODY,
    answer: { kind: "list", table },
    codes: ["no_leader"],
  }) as const satisfies Operation;

/** Returns the operation of a list whose rows are in the order of their names, and which can also be read in pages. */
export const listsPaged = <const T extends TableName>(table: T, help: string) =>
  ({ ...lists(table, help), query: PAGE_QUERY }) as const satisfies Operation;

export type ParamsOf<O extends Operation> = TypeOf<O["params"]>;
export type QueryOf<O extends Operation> = TypeOf<O["query"]>;

/**
 * Description of one operation of the admin API. Routes, validation, policy actions, the OpenAPI document and the typed client
 * all use the same descriptions. Source: design decisions, section 3.
 */

import { type ObjectSchema, object, type Schema, type TypeOf } from "../base/index.ts";
import type { TableName } from "./list-table.ts";

/** Codes that an operation may answer in addition to `COMMON_CODES`. */
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

/** Group of a policy action. `dangerous` is for restore, prune and member removal, which can lose state or quorum. */
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
  /** True if the audit trail records the operation although it is a read. */
  readonly isRecorded?: true;
  /** True if the operation is open to every client, without a credential and without a policy decision. */
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
  /** Fields of the answer that are added to the audit record of a change, in addition to its resource. */
  readonly records?: readonly string[];
  /** True if the operation accepts `If-Match` with a revision. */
  readonly takesIfMatch?: boolean;
  readonly codes: readonly AdminCode[];
}

export const NOTHING = object("None.", {});

export const NO_BODY = { kind: "none" } as const;
export const EMPTY = { kind: "empty" } as const;

export const jsonBody = <S extends Schema<unknown>>(schema: S) => ({ kind: "json", schema }) as const;
export const answers = <S extends Schema<unknown>>(schema: S) => ({ kind: "json", status: 200, schema }) as const;
export const creates = <S extends Schema<unknown>>(schema: S) => ({ kind: "json", status: 201, schema }) as const;

export type ParamsOf<O extends Operation> = TypeOf<O["params"]>;
export type QueryOf<O extends Operation> = TypeOf<O["query"]>;

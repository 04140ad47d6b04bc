/**
 * Operations of the admin API, in one table. The name of an operation is its action in the policy. Source: design decisions,
 * section 3; specification document 1 (Admin API).
 */

import type { Schema } from "../base/index.ts";
import { listOperations } from "./list-operations.ts";
import type { RowOf, TableName } from "./list-table.ts";
import type { Operation, ParamsOf, QueryOf } from "./operation-definition.ts";
import { acknowledgementOperations } from "./operations/acknowledgements.ts";
import { auditOperations } from "./operations/audit.ts";
import { backendOperations } from "./operations/backends.ts";
import { clusterOperations } from "./operations/cluster.ts";
import { guardrailOperations } from "./operations/guardrails.ts";
import { keyOperations } from "./operations/keys.ts";
import { nodeOperations } from "./operations/node.ts";
import { queryOperations } from "./operations/query.ts";
import { rehearsalOperations } from "./operations/rehearsal.ts";
import { secretOperations } from "./operations/secrets.ts";
import { sourceOperations } from "./operations/sources.ts";
import { suspensionOperations } from "./operations/suspensions.ts";

export const OPERATIONS = {
  ...listOperations,
  ...keyOperations,
  ...suspensionOperations,
  ...acknowledgementOperations,
  ...secretOperations,
  ...sourceOperations,
  ...rehearsalOperations,
  ...backendOperations,
  ...guardrailOperations,
  ...clusterOperations,
  ...auditOperations,
  ...queryOperations,
  ...nodeOperations,
} as const satisfies Record<string, Operation>;

export type OperationId = keyof typeof OPERATIONS;
type OperationOf<Id extends OperationId> = (typeof OPERATIONS)[Id];

/** Answer of a list. */
export interface Listing<Row> {
  readonly items: readonly Row[];
  /** Value to pass as `index` of the next read. */
  readonly index: number;
  /** For a read of all nodes: those that did not answer, and those whose rows were truncated. */
  readonly unanswered?: readonly string[];
  readonly cut?: readonly string[];
}

export type OperationParams<Id extends OperationId> = ParamsOf<OperationOf<Id>>;
export type OperationQuery<Id extends OperationId> = QueryOf<OperationOf<Id>>;

/** Body of an operation: `undefined` without one, the text of a document, the bytes of a stream, or the value of a JSON body. */
export type OperationBody<Id extends OperationId> = BodyOf<OperationOf<Id>["body"]>;
type BodyOf<B> = B extends { readonly kind: "json"; readonly schema: Schema<infer T> }
  ? T
  : B extends { readonly kind: "document" }
    ? string
    : B extends { readonly kind: "stream" }
      ? AsyncIterable<Uint8Array>
      : undefined;

export type OperationAnswer<Id extends OperationId> = Id extends `list_${infer T extends TableName}`
  ? Listing<RowOf<T>>
  : AnswerOf<OperationOf<Id>["answer"]>;
type AnswerOf<A> = A extends { readonly kind: "json"; readonly schema: Schema<infer T> }
  ? T
  : A extends { readonly kind: "stream" }
    ? AsyncIterable<Uint8Array>
    : undefined;

/**
 * Messages between the main thread and the query worker. One statement at a time: its text, the columns of the tables it reads,
 * their rows part by part, then the order to run; the answer is fetched part by part, so that neither thread blocks the other.
 * A statement is also parsed in the worker: a hostile one costs time there.
 */

import type { QueryResult, TableName } from "../../../admin-api/index.ts";
import type { Value } from "./plan.ts";

/** Table and the columns of it that a statement reads. */
export interface ReadTable {
  readonly name: TableName;
  readonly columns: readonly string[];
}

export type ToWorker =
  /** Statement to plan. `tables`: tables that the caller may read. */
  | {
      readonly kind: "plan";
      readonly sql: string;
      readonly parameters: readonly Value[];
      readonly tables: readonly TableName[];
    }
  /** Invalidates rows that were sent before. */
  | { readonly kind: "begin" }
  /** JSON text of rows of one of the requested tables, each an array of its columns' values. */
  | { readonly kind: "rows"; readonly table: number; readonly text: string }
  /**
   * Asks which parts of a packed table are needed. `now` is in RFC 3339. Without labels, asks whether the worker has got this
   * far.
   */
  | { readonly kind: "labels"; readonly table: number; readonly labels: readonly string[]; readonly now: string }
  | { readonly kind: "part"; readonly table: number; readonly label: string; readonly texts: readonly string[] }
  /** `now` is in RFC 3339. */
  | { readonly kind: "run"; readonly now: string }
  /** Requests the next part of the answer. */
  | { readonly kind: "more" };

export type FromWorker =
  | { readonly kind: "ready" }
  | { readonly kind: "planned"; readonly tables: readonly ReadTable[] }
  /** One for each label of the question. */
  | { readonly kind: "wanted"; readonly wanted: readonly boolean[] }
  | { readonly kind: "done"; readonly columns: QueryResult["columns"] }
  /** JSON text of the next rows, each an array; `undefined` after the last one. The texts of all parts are joined as they are. */
  | { readonly kind: "part"; readonly text: string | undefined }
  /** A fault of the statement. */
  | { readonly kind: "refused"; readonly message: string; readonly reason: "rows" | "memory" | undefined }
  /** An internal fault. */
  | { readonly kind: "fault"; readonly message: string };

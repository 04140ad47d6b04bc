/**
 * What the main thread and the query worker say to each other. One statement at a time: its plan, the rows of its tables
 * part by part, then the order to run; the answer is fetched part by part, so that neither thread is held up by the other.
 */

import type { Plan, SqlType } from "./plan.ts";

export type ToWorker =
  | { readonly kind: "begin"; readonly plan: Plan }
  /** JSON text of rows of one of the plan's tables, each an array of its columns' values. */
  | { readonly kind: "rows"; readonly table: number; readonly text: string }
  /** `now`: RFC 3339. */
  | { readonly kind: "run"; readonly now: string }
  /** The next part of the answer is wanted. */
  | { readonly kind: "more" };

export type FromWorker =
  | { readonly kind: "ready" }
  | { readonly kind: "done"; readonly types: readonly SqlType[] }
  /** JSON text of rows, each an array. */
  | { readonly kind: "part"; readonly text: string; readonly isLast: boolean }
  /** The statement's fault. */
  | { readonly kind: "refused"; readonly message: string; readonly reason: "rows" | "memory" | undefined }
  /** Ours. */
  | { readonly kind: "fault"; readonly message: string };

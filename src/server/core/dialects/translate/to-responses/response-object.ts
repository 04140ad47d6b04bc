/** Writes the response object as JSON text, for events and for a whole answer. Source: responses reference, 6. */
import { writeJson } from "../../json/json-source.ts";
import type { Values } from "../../json/json-values.ts";
import type { Usage } from "../../usage/usage.ts";
import { responsesUsage } from "../usage-shape.ts";

interface ResponseHead {
  readonly id: string;
  /** Creation time in seconds since 1970. */
  readonly createdAt: number;
  readonly model: string;
  readonly serviceTier: string;
}

export interface Failure {
  readonly code: string;
  readonly message: string;
}

/** Reason why an answer is incomplete. */
export type IncompleteReason = "max_output_tokens" | "content_filter";

export type Progress =
  | { readonly status: "in_progress" }
  | { readonly status: "completed"; readonly completedAt: number }
  | { readonly status: "incomplete"; readonly reason: IncompleteReason }
  | { readonly status: "failed"; readonly error: Failure };

const OWN: ReadonlySet<string> = new Set([
  "id",
  "object",
  "created_at",
  "status",
  "completed_at",
  "background",
  "error",
  "incomplete_details",
  "model",
  "output",
  "previous_response_id",
  "service_tier",
  "store",
  "usage",
]);

/**
 * Writer of the response object. `store` is always false in it, since nothing is stored. `output` has the JSON texts of items.
 */
export class ResponseObject {
  readonly #before: string;
  readonly #between: string;
  readonly #echo: string;

  constructor({ id, createdAt, model, serviceTier }: ResponseHead, echo: Values) {
    this.#before = `{"id":${JSON.stringify(id)},"object":"response","created_at":${createdAt}`;
    this.#between = `,"background":false,"previous_response_id":null,"store":false,"model":${JSON.stringify(model)},"service_tier":${JSON.stringify(serviceTier)}`;
    const repeated = Object.fromEntries(Object.entries(echo).filter(([name]) => !OWN.has(name)));
    // The braces around the members are removed.
    const members = writeJson(repeated).slice(1, -1);
    this.#echo = members === "" ? "" : `,${members}`;
  }

  text(progress: Progress, output: readonly string[], usage: Usage | undefined): string {
    const { status } = progress;
    const completedAt = status === "completed" ? progress.completedAt : null;
    const error = status === "failed" ? JSON.stringify(progress.error) : "null";
    const details = status === "incomplete" ? `{"reason":"${progress.reason}"}` : "null";
    const used = usage === undefined ? "null" : JSON.stringify(responsesUsage(usage));
    return `${this.#before},"status":"${status}","completed_at":${completedAt},"error":${error},"incomplete_details":${details}${this.#between}${this.#echo},"output":[${output.join(",")}],"usage":${used}}`;
  }
}

/** Message of a failed call: one line without control characters. */

import { type AdminAddress, AdminError, explain } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";

export function failureText(error: unknown, endpoint: AdminAddress): string {
  if (error instanceof AdminError) {
    const { text, remedy } = explain(error, endpoint);
    return escapeControls(remedy === undefined ? text : `${text}; try: ${remedy}`);
  }
  return escapeControls(error instanceof Error ? error.message : String(error));
}

/** Returns whether the request may have been applied anyway. An error after some steps had succeeded has that of its request as cause. */
export function hasUnknownOutcome(error: unknown): boolean {
  if (!(error instanceof AdminError))
    return error instanceof Error && error.cause !== undefined && hasUnknownOutcome(error.cause);
  if (error.status === 0) return error.code !== "unauthenticated";
  const { details } = error;
  return typeof details === "object" && details !== null && Reflect.get(details, "outcome") === "unknown";
}

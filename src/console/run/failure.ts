/** What a call that failed is told as: one line, without controls. */

import { type AdminDoor, AdminError, explain } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";

export function wordsOf(error: unknown, door: AdminDoor): string {
  if (error instanceof AdminError) {
    const { words, remedy } = explain(error, door);
    return escapeControls(remedy === undefined ? words : `${words}; try: ${remedy}`);
  }
  return escapeControls(error instanceof Error ? error.message : String(error));
}

/** Whether what was asked for may have been done all the same. */
export function isUnknown(error: unknown): boolean {
  if (!(error instanceof AdminError)) return false;
  if (error.status === 0) return error.code !== "unauthenticated";
  const { details } = error;
  return typeof details === "object" && details !== null && Reflect.get(details, "outcome") === "unknown";
}

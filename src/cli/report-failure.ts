/**
 * Reports a failed call on stderr and returns the exit status. Source: design decisions, section 5 (exit status of a
 * verb).
 */

import { type AdminAddress, AdminError, explain } from "../admin-api/index.ts";
import { escapeControls } from "../base/index.ts";
import type { ExitStatus, Io } from "./process-io.ts";

const REFUSED: ExitStatus = 1;
const UNREACHABLE: ExitStatus = 3;

/** Reports a failed call. Rethrows `error` if it is not the failure of a call, or if the verb was interrupted. */
export function reportFailure(verb: string, error: unknown, address: AdminAddress, io: Io): ExitStatus {
  if (!(error instanceof AdminError) || io.signal.aborted) throw error;
  const { text, remedy, isUnreachable } = explain(error, address);
  io.stderr.write(`gateway ${verb}: ${escapeControls(text)}\n`);
  if (remedy !== undefined) io.stderr.write(`try: ${remedy}\n`);
  if (isUnreachable) return UNREACHABLE;
  return (error.code === "unauthenticated" ? statusOf(error.cause) : undefined) ?? REFUSED;
}

/** Returns the exit status of a failed sign-in if the identity provider could not be reached, otherwise `undefined`. */
function statusOf(cause: unknown): ExitStatus | undefined {
  return cause instanceof Error && Reflect.get(cause, "status") === UNREACHABLE ? UNREACHABLE : undefined;
}

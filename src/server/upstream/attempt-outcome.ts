/** Defines how an attempt ends, and classifies its failures. */
import type { PickerAnswer } from "./picker/picker-answers.ts";

export type AttemptOutcome =
  /** The answer was delivered completely, or broke off after its start. */
  | { readonly kind: "delivered" }
  /** An answer was received but not delivered. */
  | { readonly kind: "rejected" }
  /** There is no answer: the connection, TLS or name resolution failed. */
  | { readonly kind: "unreachable"; readonly cause: Error }
  /** The response is not valid HTTP, or no answer. The message of `cause` may be shown. */
  | { readonly kind: "invalid"; readonly cause: Error }
  /** There was no answer in time. `wasSent`: a connection existed and the request was sent. */
  | { readonly kind: "timeout"; readonly wasSent: boolean }
  /** The endpoint picker selected no server, or withdrew the request before its answer began. */
  | { readonly kind: "declined"; readonly answer: PickerAnswer }
  /** The client left. The upstream request is aborted. */
  | { readonly kind: "abandoned" };

/** Error codes for inactivity, from this client and from undici. */
const INACTIVITY_CODES: ReadonlySet<string> = new Set([
  "UPSTREAM_SILENT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
]);

/** Classifies a failure without an answer. */
export function outcomeOfFailure(cause: Error): AttemptOutcome {
  const code = "code" in cause ? String(cause.code) : "";
  if (INACTIVITY_CODES.has(code)) return { kind: "timeout", wasSent: true };
  return { kind: code === "UPSTREAM_MALFORMED" ? "invalid" : "unreachable", cause };
}

/** Returns an error that hides the original one, whose message may quote a header. */
export function hideHeaderError(cause: unknown): Error {
  const code = cause instanceof Error && "code" in cause ? ` (${String(cause.code)})` : "";
  return new Error(`one of its headers cannot be forwarded${code}`, { cause });
}

/** Error if no server was available. Its message may be shown. */
export class NoServerError extends Error {}

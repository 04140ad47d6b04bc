/**
 * Error class of sign-in, and functions that make external texts safe to print.
 *
 * Names, addresses and descriptions come from the gateway and the identity provider. Their control characters are
 * escaped, since a terminal would obey them. No message contains a token, a code or a verifier.
 */

import { escapeControls } from "../../base/index.ts";

/** Failed sign-in. `status`: exit status of the verb, 3 if the gateway could not be reached, otherwise 1. */
export class SignInError extends Error {
  override readonly name = "SignInError";
  readonly status: 1 | 3;

  constructor(message: string, options: ErrorOptions & { readonly status?: 1 | 3 } = {}) {
    super(message, options);
    this.status = options.status ?? 1;
  }
}

const MAX_PRINTED = 300;

/** Returns the text without control characters, truncated, since it comes from a server or a file. */
export function printable(text: string, limit = MAX_PRINTED): string {
  return escapeControls(text.length > limit ? `${text.slice(0, limit)}...` : text);
}

/** Formats a time in RFC 3339, UTC, in whole seconds. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

/** Returns the system's code of a failed call, such as `EACCES`. */
export function codeOf(error: unknown): string {
  const code: unknown = error instanceof Error ? Reflect.get(error, "code") : undefined;
  return typeof code === "string" ? code : String(error);
}

/** Codes of system calls, name resolution, TLS and undici, but not the codes that libraries give to their own errors. */
const NETWORK_CODE =
  /^(?:E[A-Z]{2,20}|EAI_[A-Z]+|(?:UND_ERR|ERR_TLS|ERR_SSL|HPE)_[A-Z0-9_]+|[A-Z_]*CERT[A-Z_]*|UNABLE_TO_[A-Z_]+)$/;

/**
 * Returns the code of a network failure, such as `ECONNREFUSED`, from the causes that `fetch` and streams wrap;
 * `undefined` if there is none.
 */
export function failureCode(error: unknown): string | undefined {
  let at = error;
  for (let depth = 0; depth < 5 && at instanceof Error; depth += 1) {
    const code: unknown = Reflect.get(at, "code");
    if (typeof code === "string" && NETWORK_CODE.test(code)) return code;
    at = at instanceof AggregateError ? at.errors[0] : at.cause;
  }
  return undefined;
}

/** Returns a hint for TLS failures, whose remedy is hard to guess; otherwise an empty text. */
export function tlsHint(code: string | undefined): string {
  const isTrust = code !== undefined && /CERT|SELF_SIGNED|UNABLE_TO_/.test(code);
  return isTrust ? "; where it is signed by a private authority, set NODE_EXTRA_CA_CERTS to its PEM file" : "";
}

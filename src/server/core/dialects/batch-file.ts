/**
 * Recognizes files that are uploaded for a batch. Each line of such a file names a model, and the gateway does not read the
 * lines. Source: dialects reference, 2.3; design decisions, section 6.
 */
import { scanObject } from "./json/json-scan.ts";
import { boundaryOf, findField } from "./multipart.ts";
import { parametersNamed } from "./routes/name-readings.ts";
import type { Route } from "./routes/routes.ts";
import { stringValue } from "./usage/usage-member.ts";

interface Upload {
  readonly route: Route;
  /** Query string with its question mark, or empty. */
  readonly query: string;
  readonly contentType: string;
  /** Body without its content encoding. */
  readonly plain: Buffer;
}

/**
 * Returns whether the upload is for a batch, by `purpose` in the query, in the form, or in the JSON if the file follows in
 * parts. An unreadable body counts as a batch, since the provider may be able to read it. Returns false without a body, and on
 * every other route.
 */
export function isForBatch({ route, query, contentType, plain }: Upload): boolean {
  if (!mayBeForBatch(route)) return false;
  if (query !== "" && parametersNamed(query.slice(1), "purpose").some(({ value }) => isBatch(value))) return true;
  if (plain.length === 0) return false;
  if (isFormEncoded(contentType)) {
    const purposes = parametersNamed(plain.toString("utf8"), "purpose");
    if (purposes.some(({ value }) => isBatch(value))) return true;
  }
  const boundary = /^multipart\/form-data/i.test(contentType) ? boundaryOf(contentType) : undefined;
  if (boundary !== undefined) {
    const field = findField(plain, boundary, "purpose");
    return field.kind === "field" ? isBatch(field.value) : field.kind === "problem";
  }
  const scan = scanObject(plain, ["purpose"], true);
  if (scan.kind === "problem") return true;
  const [purpose] = scan.members;
  return purpose !== undefined && isBatch(stringValue(plain, purpose) ?? "batch");
}

/** Returns why guardrails refuse requests of the route, and what to do instead, as the end of a sentence. */
export function uninspectedReason({ name, guard }: Pick<Route, "name" | "guard">): string {
  if (guard === "grants_credential" || name === "realtime_calls")
    return `what the ${name} route opens is not inspected: connect to /v1/realtime instead.`;
  return `the texts that a model is given through the ${name} route are not inspected: send them as single requests instead.`;
}

/** Returns whether a request of the route may name a batch, so that its body must be read. */
export function mayBeForBatch({ name }: Pick<Route, "name">): boolean {
  return name === "files" || name === "uploads";
}

export const isFormEncoded = (contentType: string): boolean => /^application\/x-www-form-urlencoded/i.test(contentType);

/** Returns whether the purpose is `batch`, also in quotes or among other words. */
function isBatch(purpose: string): boolean {
  return /\bbatch\b/i.test(purpose);
}

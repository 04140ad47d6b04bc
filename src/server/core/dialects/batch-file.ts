/**
 * Tells a file that is uploaded for a batch: each of its lines names a model, which nothing on its way reads.
 * Source: dialects reference, 2.3; design decisions, section 6.
 */
import { scanObject } from "./json-scan.ts";
import { boundaryOf, findField } from "./multipart.ts";
import type { Route } from "./routes.ts";
import { stringValue } from "./usage-member.ts";

export interface Upload {
  readonly route: Route;
  readonly contentType: string;
  /** The body with its content encoding taken off. */
  readonly plain: Buffer;
}

/**
 * `purpose` of the form, or of the JSON where the file follows in parts. A body that cannot be read here counts as a
 * batch, since the provider may read it better. False without a body, and on every other route.
 */
export function namesBatch({ route, contentType, plain }: Upload): boolean {
  if ((route.name !== "files" && route.name !== "uploads") || plain.length === 0) return false;
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

function isBatch(purpose: string): boolean {
  return purpose.trim().toLowerCase() === "batch";
}

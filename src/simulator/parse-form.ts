/**
 * Splits multipart form bodies into their parts without copying. Source: RFC 7578, and RFC 2046 section 5.1.1 for the delimiter
 * lines. The whole body is in memory, bounded by the server.
 */

import { Refused } from "./dialect-errors.ts";

/** Maximum number of parts. A form has a dozen fields; images have a few more parts. */
const MAX_PARTS = 1_000;

export interface FormPart {
  readonly name: string;
  /** File name; absent for a field that is not a file. */
  readonly filename: string | undefined;
  readonly contentType: string | undefined;
  readonly content: Buffer;
}

const NEVER: readonly FormPart[] = [];

/** Returns the parts of a form; none if the body has another type. Throws `Refused` 400 if the form is incomplete. */
export function parseForm(contentType: string | undefined, body: Buffer): readonly FormPart[] {
  const match = /^multipart\/form-data\s*;.*boundary=(?:"([^"]{1,200})"|([^;\s]{1,200}))/i.exec(contentType ?? "");
  const boundary = match?.[1] ?? match?.[2];
  if (boundary === undefined) return NEVER;
  const delimiter = Buffer.from(`--${boundary}`, "latin1");
  const parts: FormPart[] = [];
  let at = body.indexOf(delimiter);
  while (at >= 0) {
    const from = at + delimiter.length;
    if (body.toString("latin1", from, from + 2) === "--") return parts;
    const next = body.indexOf(delimiter, from);
    const endOfHead = body.indexOf("\r\n\r\n", from);
    if (next < 0 || endOfHead < 0 || endOfHead > next || parts.length === MAX_PARTS) break;
    parts.push(partOf(body.toString("utf8", from, endOfHead), body.subarray(endOfHead + 4, next - 2)));
    at = next;
  }
  throw new Refused(400, "The multipart body is incomplete.");
}

function partOf(head: string, content: Buffer): FormPart {
  return {
    name: /\bname="([^"]*)"/i.exec(head)?.[1] ?? "",
    filename: /\bfilename="([^"]*)"/i.exec(head)?.[1],
    contentType: /^content-type:\s*(\S+)/im.exec(head)?.[1],
    content,
  };
}

export function fieldOf(form: readonly FormPart[], name: string): string | undefined {
  return form.find((part) => part.name === name && part.filename === undefined)?.content.toString("utf8");
}

export function filesOf(form: readonly FormPart[]): readonly FormPart[] {
  return form.filter(({ filename }) => filename !== undefined);
}

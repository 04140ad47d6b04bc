/**
 * Finds one text field of a multipart/form-data body (RFC 7578) without taking the body apart.
 *
 * Only part headers are read; file contents are skipped by a native search for the boundary. Offsets are bytes.
 */

/** The longest boundary of RFC 2046 section 5.1.1. */
const MAX_BOUNDARY_CHARS = 70;
/** A part with longer headers is none of an API client's. */
const MAX_PART_HEADER_BYTES = 16 << 10;
/** Parts looked at; an upload of more is refused. */
const MAX_PARTS = 1_000;
/** A model name is short; a longer field is not one. */
const MAX_FIELD_BYTES = 1_024;

export type FormField =
  | { readonly kind: "field"; readonly value: string; readonly start: number; readonly end: number }
  | { readonly kind: "absent" }
  | { readonly kind: "problem"; readonly message: string };

export function boundaryOf(contentType: string): string | undefined {
  // Two, or one within the text of another parameter: readers differ in which they take.
  const [match, second] = contentType.matchAll(/boundary\*?=(?:"([^"\\]+)"|([^\s;"]+))?/gi);
  const boundary = second === undefined ? (match?.[1] ?? match?.[2]) : undefined;
  return boundary !== undefined && boundary.length <= MAX_BOUNDARY_CHARS ? boundary : undefined;
}

export function findField(bytes: Buffer, boundary: string, name: string): FormField {
  const delimiter = Buffer.from(`\r\n--${boundary}`, "latin1");
  let found: FormField = { kind: "absent" };
  // The first delimiter may stand at the very start, without its line end.
  let at = bytes.subarray(0, delimiter.length - 2).equals(delimiter.subarray(2))
    ? delimiter.length - 2
    : after(bytes, delimiter, 0);
  for (let part = 0; at >= 0; part++) {
    if (part === MAX_PARTS) return { kind: "problem", message: `the form has more than ${MAX_PARTS} parts` };
    if (bytes[at] === 0x2d && bytes[at + 1] === 0x2d) return found;
    const headersEnd = bytes.indexOf("\r\n\r\n", at, "latin1");
    if (headersEnd < 0 || headersEnd - at > MAX_PART_HEADER_BYTES) break;
    const start = headersEnd + 4;
    const end = bytes.indexOf(delimiter, headersEnd + 2);
    if (end < 0) break;
    const headers = readPart(bytes.toString("latin1", at, headersEnd));
    if (headers === undefined) return { kind: "problem", message: "the form has a part that readers may read differently" };
    if (headers.name === name && headers.isFile) return { kind: "problem", message: `the form's "${name}" is a file` };
    if (headers.name === name) {
      if (found.kind === "field") return { kind: "problem", message: `the form names "${name}" twice` };
      if (end - start > MAX_FIELD_BYTES) return { kind: "problem", message: `the form's "${name}" is too long` };
      found = {
        kind: "field",
        value: bytes.toString("utf8", Math.min(start, end), end),
        start: Math.min(start, end),
        end,
      };
    }
    at = end + delimiter.length;
  }
  return { kind: "problem", message: "the body is not a complete multipart form" };
}

function after(bytes: Buffer, needle: Buffer, from: number): number {
  const at = bytes.indexOf(needle, from);
  return at < 0 ? -1 : at + needle.length;
}

interface Part {
  /** Undefined: it has none. */
  readonly name: string | undefined;
  readonly isFile: boolean;
}

/** A folded line, a line end of another kind, a header twice. */
const FOLDED = /\r\n[ \t]|\r(?!\n)|(?<!\r)\n/;
const DISPOSITION = /^content-disposition[ \t]*:(.*)$/gim;

/** Undefined where readers of forms differ in what they read: our guards must not judge another name than the provider. */
function readPart(headers: string): Part | undefined {
  const [disposition, second] = headers.matchAll(DISPOSITION);
  if (second !== undefined || FOLDED.test(headers)) return undefined;
  const text = disposition?.[1];
  if (text === undefined) return { name: undefined, isFile: false };
  // Of texts in quotes only the quotes are left, so that what they say is no parameter.
  const bare = text.replace(/"(?:[^"\\]|\\.)*"/g, '""');
  const [first, more] = bare.matchAll(/;\s*name(\*?)\s*=/gi);
  if (more !== undefined || first?.[1] === "*") return undefined;
  const match = /;\s*name\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/i.exec(text);
  const name = match?.[1] ?? match?.[2];
  return name?.includes("\\") ? undefined : { name, isFile: /;\s*filename\*?\s*=/i.test(bare) };
}

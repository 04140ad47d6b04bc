/**
 * Finds one text field of a multipart/form-data body (RFC 7578) without parsing the whole body.
 *
 * Only part headers are read; file contents are skipped by a native search for the boundary. Offsets are bytes.
 */
import { isUtf8 } from "node:buffer";
import { mayBeReadAs } from "./routes/name-readings.ts";

/** Maximum length of a boundary (RFC 2046, section 5.1.1). */
const MAX_BOUNDARY_CHARS = 70;
/** Maximum size of a part's headers, more than any API client sends. */
const MAX_PART_HEADER_BYTES = 16 << 10;
/** Maximum number of parts; an upload with more is refused. */
const MAX_PARTS = 1_000;
/** Maximum size of the field in bytes. Model names are short. */
const MAX_FIELD_BYTES = 1_024;

type FormField =
  | { readonly kind: "field"; readonly value: string; readonly start: number; readonly end: number }
  | { readonly kind: "absent" }
  | { readonly kind: "problem"; readonly message: string };

export function boundaryOf(contentType: string): string | undefined {
  // A header may have two boundaries, or one within the text of another parameter; readers differ in which they use.
  const [match, second] = contentType.matchAll(/boundary\*?=(?:"([^"\\]+)"|([^\s;"]+))?/gi);
  const boundary = second === undefined ? (match?.[1] ?? match?.[2]) : undefined;
  return boundary !== undefined && boundary.length <= MAX_BOUNDARY_CHARS ? boundary : undefined;
}

export function findField(bytes: Buffer, boundary: string, name: string): FormField {
  let found: FormField = { kind: "absent" };
  const problem = visitParts(bytes, boundary, ({ start, end, ...headers }) => {
    if (headers.name === undefined || !mayBeReadAs(headers.name, name)) return undefined;
    if (headers.name !== name || !headers.isPlainText) return AMBIGUOUS_FORM;
    if (headers.isFile) return `the form's "${name}" is a file`;
    if (found.kind === "field") return `the form names "${name}" twice`;
    if (end - start > MAX_FIELD_BYTES) return `the form's "${name}" is too long`;
    if (!isUtf8(bytes.subarray(start, end))) return AMBIGUOUS_FORM;
    found = { kind: "field", value: bytes.toString("utf8", start, end), start, end };
    return undefined;
  });
  return problem === undefined ? found : { kind: "problem", message: problem };
}

/** Part of a form. Its content is at the byte offsets `start` to `end`. */
interface FormPart extends PartHeaders {
  readonly start: number;
  readonly end: number;
}

/** Returns the parts of a form, or a message if the form is invalid. */
export function formParts(bytes: Buffer, boundary: string): readonly FormPart[] | string {
  const parts: FormPart[] = [];
  const problem = visitParts(bytes, boundary, (part) => {
    parts.push(part);
    return undefined;
  });
  return problem ?? parts;
}

/** Visits each part. Returns a message if the form is invalid, or the first message that `visit` returns. */
function visitParts(
  bytes: Buffer,
  boundary: string,
  visit: (part: FormPart) => string | undefined,
): string | undefined {
  const dashes = Buffer.from(`--${boundary}`, "latin1");
  let delimiter = nextDelimiter(bytes, dashes, 0);
  for (let part = 0; delimiter >= 0; part++) {
    if (part === MAX_PARTS) return `the form has more than ${MAX_PARTS} parts`;
    const at = delimiter + dashes.length;
    if (bytes[at] === DASH && bytes[at + 1] === DASH) {
      const isEnd = at + 2 === bytes.length || (bytes[at + 2] === CR && bytes[at + 3] === LF);
      return isEnd && bytes.indexOf(dashes, at + 2) < 0 ? undefined : AMBIGUOUS_FORM;
    }
    const headersEnd = bytes.indexOf("\r\n\r\n", at, "latin1");
    if (headersEnd < 0 || headersEnd - at > MAX_PART_HEADER_BYTES) break;
    const start = headersEnd + 4;
    delimiter = nextDelimiter(bytes, dashes, headersEnd + 4);
    if (delimiter === AMBIGUOUS_DELIMITER) return AMBIGUOUS_FORM;
    if (delimiter < 0) break;
    const end = Math.max(start, delimiter - 2);
    const headers = parsePartHeaders(bytes.toString("latin1", at, headersEnd));
    if (headers === undefined) return AMBIGUOUS_FORM;
    if (headers.name === CHARSET_FIELD && !isAsciiCompatible(bytes.toString("latin1", start, end)))
      return AMBIGUOUS_FORM;
    const problem = visit({ ...headers, start, end });
    if (problem !== undefined) return problem;
  }
  return delimiter === AMBIGUOUS_DELIMITER ? AMBIGUOUS_FORM : "the body is not a complete multipart form";
}

const CR = 0x0d;
const LF = 0x0a;
const DASH = 0x2d;

const AMBIGUOUS_DELIMITER = -2;
const AMBIGUOUS_FORM = "the form is ambiguous: programs may read it differently";

/**
 * Returns the offset of the next delimiter's dashes, or -1 if there is none. Returns `AMBIGUOUS_DELIMITER` for a delimiter after half a
 * line end, which only some readers accept.
 */
function nextDelimiter(bytes: Buffer, dashes: Buffer, from: number): number {
  for (let at = bytes.indexOf(dashes, from); at >= 0; at = bytes.indexOf(dashes, at + 1)) {
    if (at === 0) return at;
    const before = bytes[at - 1];
    if (before === LF && bytes[at - 2] === CR) return at;
    if (before === LF || before === CR) return AMBIGUOUS_DELIMITER;
  }
  return -1;
}

interface PartHeaders {
  /** Name of the field; `undefined` if it has none. */
  readonly name: string | undefined;
  readonly isFile: boolean;
  /** Whether the part is plain text, which is the default if it specifies no type or encoding. */
  readonly isPlainText: boolean;
  /** Whether the part specifies no encoding, and no charset other than UTF-8. */
  readonly isUnencoded: boolean;
  /** Content type, or empty. */
  readonly type: string;
}

/** Name of the field whose value is the charset of the parts that name none (RFC 7578, section 4.6). */
const CHARSET_FIELD = "_charset_";
/** Charsets that keep ASCII unchanged. A text with other bytes is UTF-8 or a problem. */
const ASCII_COMPATIBLE_CHARSETS: ReadonlySet<string> = new Set([
  "utf-8",
  "utf8",
  "us-ascii",
  "ascii",
  "iso-8859-1",
  "windows-1252",
]);
const isAsciiCompatible = (charset: string): boolean => ASCII_COMPATIBLE_CHARSETS.has(charset.trim().toLowerCase());

const CONTENT_TYPE = /^content-type[ \t]*:[ \t]*(.*)$/gim;
const TEXT_TYPE = /^text\/plain[ \t]*(?:;[ \t]*charset[ \t]*=[ \t]*"?([^\s;"]+)"?[ \t]*)?$/i;
const TRANSFER_ENCODING = /^content-transfer-encoding[ \t]*:[ \t]*(.*)$/gim;
const UNENCODED = /^(?:7bit|8bit|binary)[ \t]*$/i;

const CHARSET = /;[ \t]*charset[ \t]*=[ \t]*"?([^\s;"]+)/i;

function readContentHeaders(headers: string): Pick<PartHeaders, "isPlainText" | "isUnencoded" | "type"> {
  const types = [...headers.matchAll(CONTENT_TYPE)].map(([, type = ""]) => type);
  const isText = types.every((type) => TEXT_TYPE.test(type) && isAsciiCompatible(charsetOf(type)));
  const encodings = [...headers.matchAll(TRANSFER_ENCODING)];
  const isUnencoded = encodings.every(([, encoding = ""]) => UNENCODED.test(encoding));
  return {
    isPlainText: types.length <= 1 && isText && isUnencoded,
    isUnencoded: types.length <= 1 && isUnencoded && types.every((type) => isAsciiCompatible(charsetOf(type))),
    type: types[0] ?? "",
  };
}

const charsetOf = (type: string): string => CHARSET.exec(type)?.[1] ?? "utf-8";

/** Pattern of a folded line, or of a line end other than CR LF. */
const FOLDED = /\r\n[ \t]|\r(?!\n)|(?<!\r)\n/;
const DISPOSITION = /^content-disposition[ \t]*:[ \t]*[^\s;]*(.*)$/gim;
const PARAMETER = /[ \t]*;[ \t]*([^\s=;"]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))[ \t]*/y;

/** Decodes UTF-8 from a text that has one character per byte. */
const utf8 = (text: string): string => Buffer.from(text, "latin1").toString("utf8");

/**
 * Parses the headers of a part. Returns `undefined` if readers of forms may differ: the gateway must not judge another name
 * than the provider reads.
 */
function parsePartHeaders(headers: string): PartHeaders | undefined {
  const [disposition, second] = headers.matchAll(DISPOSITION);
  if (second !== undefined || FOLDED.test(headers)) return undefined;
  const text = disposition?.[1] ?? "";
  const parameters = new Map<string, string>();
  PARAMETER.lastIndex = 0;
  for (let at = 0; at < text.length; at = PARAMETER.lastIndex) {
    const [, key = "", quoted, plain = ""] = PARAMETER.exec(text) ?? [];
    const lower = key.toLowerCase();
    if (lower === "" || parameters.has(lower)) return undefined;
    parameters.set(lower, quoted ?? plain);
  }
  const name = parameters.get("name");
  if (parameters.has("name*") || name?.includes("\\")) return undefined;
  const isFile = parameters.has("filename") || parameters.has("filename*");
  return { name: name === undefined ? undefined : utf8(name), isFile, ...readContentHeaders(headers) };
}

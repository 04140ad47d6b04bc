/**
 * Reads the texts of forms: fields of multipart/form-data (RFC 7578) and values of form-encoded bodies (WHATWG URL, section 5).
 */
import { isUtf8 } from "node:buffer";
import { formParts } from "../multipart.ts";
import { decoded } from "../routes/name-readings.ts";
import { uninspectedMembers } from "../uninspected.ts";
import { type Collector, type Context, nestedTree } from "./collector.ts";
import type { Source, Spot } from "./text-tree.ts";
import { Unreadable } from "./types.ts";
import { utf16In } from "./utf16.ts";

const FIELD_CONTEXT: Context = { kind: "user", turn: 0 };

/**
 * Names of fields that contain files. A field with another name may be read as text by a provider, even if it is declared as a
 * file.
 */
const FILE_FIELD = /^(?:file|files|image|images|mask|audio|video|data|input_reference|reference_images?)(?:\[.*\])?$/i;
const UNINSPECTED_FIELDS = uninspectedMembers("forms");

/** Reads the fields of a multipart form. `body` has the form's bytes, one character each. */
export function readMultipart(
  collector: Collector,
  plain: Buffer,
  { boundary, body }: { readonly boundary: string; readonly body: Source },
): void {
  const parts = formParts(plain, boundary);
  if (typeof parts === "string") throw new Unreadable(parts);
  for (const { name, isFile, isPlainText, isUnencoded, type, start, end } of parts) {
    const bytes = plain.subarray(start, end);
    const isReadable = isUtf8(bytes) || utf16In(bytes) !== undefined;
    if (isFile && (FILE_FIELD.test(name ?? "") || !isReadable || !isUnencoded)) {
      collector.uninspected.push(/^(?:image|audio|video)(?=\/)/i.exec(type)?.[0].toLowerCase() ?? "file");
      continue;
    }
    if (!isFile && UNINSPECTED_FIELDS.has(name ?? "")) continue;
    const isJson = /^application\/(?:[\w.+-]+\+)?json/i.test(type);
    if (!isReadable || !isUnencoded || !(isPlainText || isJson || isFile || /^application\/sdp/i.test(type)))
      throw new Unreadable("a field of the form has a charset or encoding that is not supported");
    const utf16 = utf16In(bytes);
    const text = utf16?.text ?? bytes.toString("utf8");
    // A rewritten text could make the boundary end the part, so such a form is refused.
    if (text.includes(`--${boundary}`)) throw new Unreadable("a field of the form contains the boundary of the form");
    const write = (changed: string): string => (utf16?.encode(changed) ?? Buffer.from(changed)).toString("latin1");
    const spot: Spot = { source: body, start, end, write };
    const tree = isJson ? nestedTree(text, spot) : undefined;
    if (tree === undefined) collector.add(text, spot, FIELD_CONTEXT);
    else collector.addAll(tree, FIELD_CONTEXT);
  }
}

/**
 * Reads a form-encoded body. `body` is the text of the form. `isReadOnly` is true if the body is JSON too, and is rewritten as
 * JSON. A pair without an equals sign is a value too.
 */
export function readFormEncoded(collector: Collector, body: Source, isReadOnly: boolean): void {
  let start = 0;
  for (const pair of body.text.split("&")) {
    const end = start + pair.length;
    const equals = pair.indexOf("=");
    const name = equals < 0 ? "" : unescaped(pair.slice(0, equals));
    const from = equals < 0 ? start : start + equals + 1;
    const write = (changed: string): string => encodeURIComponent(changed.toWellFormed());
    const text = unescaped(body.text.slice(from, end));
    // Some readers treat the text after a semicolon as another pair.
    if (!UNINSPECTED_FIELDS.has(name) || text.includes(";"))
      collector.add(text, isReadOnly ? undefined : { source: body, start: from, end, write }, FIELD_CONTEXT);
    start = end + 1;
  }
}

const unescaped = (text: string): string => decoded(text.replaceAll("+", " "));

/** Decodes and parses the body of a request to a model API. */

import type { IncomingMessage } from "node:http";
import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import { Refused } from "./dialect-errors.ts";
import { EMPTY_OBJECT, type JsonObject, objectOf, parseJson } from "./json-fields.ts";
import { parseForm } from "./parse-form.ts";
import type { Route } from "./route-types.ts";

/** Maximum size of a body, before and after decoding. */
export const MAX_BODY_BYTES = 64 * 1024 * 1024;

/** Fields of a form, which is empty for other bodies, and the text and members of a JSON body. */
interface RequestBody {
  readonly form: ReturnType<typeof parseForm>;
  /** Text of the body; `undefined` if the route expects no JSON. */
  readonly text: string | undefined;
  readonly body: JsonObject;
}

/** Parses the body as the route expects it: as a form, as JSON, or not at all. Throws `Refused`. */
export function parseBody(request: IncomingMessage, route: Route, bytes: Buffer): RequestBody {
  const form = parseForm(request.headers["content-type"], bytes);
  const isJson = request.method !== "GET" && form.length === 0 && (route.model !== "none" || route.isJson === true);
  const text = isJson ? textOf(request, bytes) : undefined;
  return { form, text, body: text === undefined ? EMPTY_OBJECT : readBody(text) };
}

/** Returns the decoded text of the body. Throws `Refused`. */
export function textOf(request: IncomingMessage, bytes: Buffer): string {
  try {
    return decode(request.headers["content-encoding"] ?? "identity", bytes).toString("utf8");
  } catch (error) {
    if (error instanceof Refused) throw error;
    throw new Refused(400, "The body is not what its content-encoding says.");
  }
}

function readBody(text: string): JsonObject {
  try {
    const object = objectOf(parseJson(text));
    if (object !== undefined) return object;
  } catch {
    // Refused below, like a body that is not a JSON object.
  }
  throw new Refused(400, "The body is not a JSON object.");
}

function decode(encoding: string, bytes: Buffer): Buffer {
  const bound = { maxOutputLength: MAX_BODY_BYTES };
  if (encoding === "identity") return bytes;
  if (encoding === "gzip") return gunzipSync(bytes, bound);
  if (encoding === "deflate") return inflateSync(bytes, bound);
  if (encoding === "br") return brotliDecompressSync(bytes, bound);
  throw new Refused(415, "The body's content-encoding is not supported.");
}

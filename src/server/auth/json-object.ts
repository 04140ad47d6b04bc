/**
 * JSON of strangers: UTF-8 without fault, one object, no member twice, bounded depth.
 *
 * `JSON.parse` keeps the last of two members of one name, where another reader of the same token may keep the first;
 * RFC 7519 section 4 lets a reader refuse such a token, and this one does, at every depth.
 */

export type JsonObject = Readonly<Record<string, unknown>>;

/** Levels of nesting; claims of real issuers have three. */
const MAX_DEPTH = 16;

/** What matters of a text that is known to be JSON: its texts, and where objects, lists and members begin and end. */
const MARK = /"(?:[^"\\]|\\.)*"|[{}[\]:]/g;

/** Undefined for whatever is not such an object. */
export function parseJsonObject(bytes: Uint8Array): JsonObject | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) && isPlain(text) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Of a claim or member; never what every object inherits. */
export function member(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function isPlain(json: string): boolean {
  /** Names seen in each object that is open; undefined stands for a list. */
  const open: (Set<string> | undefined)[] = [];
  let text = "";
  for (const [mark] of json.matchAll(MARK)) {
    if (mark === "{" || mark === "[") {
      if (open.length === MAX_DEPTH) return false;
      open.push(mark === "{" ? new Set() : undefined);
    } else if (mark === "}" || mark === "]") {
      open.pop();
    } else if (mark === ":") {
      // An escape may spell the same name in another way.
      const name: string = JSON.parse(text);
      const names = open.at(-1);
      if (names?.has(name)) return false;
      names?.add(name);
    } else {
      text = mark;
    }
  }
  return true;
}

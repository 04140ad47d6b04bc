/**
 * Determines how different servers may read a name or parameter. The gateway uses one reading; a name that another server
 * could read as a governed name must not escape the rules. Source: WHATWG URL, section 5.1; RFC 7578; RFC 3986, section 3.3.
 */

/** Suffix of a list or map in a form, as PHP and Rails read it. */
const BRACKETS = /\[.*$/s;
const ESCAPE = /%([0-9a-f]{2})/gi;

/**
 * Returns whether any reader may take `written` for `wanted`, which is ASCII in lower case: one that ignores letter case or
 * surrounding space, decodes escapes once more, reads a list's name, or stops at a NUL.
 */
export function mayBeReadAs(written: string, wanted: string): boolean {
  if (written === wanted) return true;
  const [cut = ""] = decoded(written).split("\0");
  // The text is converted to upper case first: that way some readers map letters of other scripts to ASCII letters (Go's
  // `encoding/json`).
  return cut.replace(BRACKETS, "").trim().normalize("NFKC").toUpperCase().toLowerCase() === wanted;
}

/** Decodes escapes byte by byte; invalid escapes stay. */
export function decoded(text: string): string {
  if (!text.includes("%")) return text;
  const bytes = Buffer.from(text).toString("latin1");
  const plain = bytes.replace(ESCAPE, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
  return Buffer.from(plain, "latin1").toString("utf8");
}

interface Parameter {
  readonly value: string;
  /** True if every reader accepts the parameter and gives it the same meaning. */
  readonly isPlain: boolean;
}

/** Returns all parameters whose name may be read as `name`. `text` is a query without question mark, or a form-encoded body. */
export function parametersNamed(text: string, name: string): readonly Parameter[] {
  const found: Parameter[] = [];
  for (const field of text.split("&")) {
    for (const [at, pair] of field.split(";").entries()) {
      const { written, value } = splitPair(pair);
      if (!mayBeReadAs(written, name)) continue;
      found.push({ value, isPlain: at === 0 && written === name && !field.includes(";") });
    }
  }
  return found;
}

/** Returns the text with another value for each parameter that is literally called `name`. */
export function replaceParameter(text: string, name: string, value: string): string {
  const replaced = (pair: string): string =>
    splitPair(pair).written === name ? `${name}=${encodeURIComponent(value)}` : pair;
  return text.split("&").map(replaced).join("&");
}

function splitPair(pair: string): { readonly written: string; readonly value: string } {
  const equals = pair.indexOf("=");
  const part = (text: string): string => decoded(text.replaceAll("+", " "));
  return equals < 0
    ? { written: part(pair), value: "" }
    : { written: part(pair.slice(0, equals)), value: part(pair.slice(equals + 1)) };
}

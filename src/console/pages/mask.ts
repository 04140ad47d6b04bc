/**
 * Configuration document with possible credentials masked: values of keys whose names suggest one, unless the value is a
 * reference, `${…}`. The gateway returns documents as written, and a document may contain a secret although it should not; no
 * secret is ever shown.
 *
 * Works on lines instead of a parser, so that invalid documents are masked too; it masks in case of doubt.
 * `test/console/pages/mask.test.ts` compares the names with the schema.
 */

const HIDDEN = "(hidden)";
/** Names of the schema's write-only values, and similar ones. */
const SECRET_NAME = /(?:^|_)(?:keys?|key_id|secret|token|password|authorization|headers)$/i;
/** Key of YAML or JSON with its colon; bounded, since a line may have megabytes. */
const KEY = /(["']?)(?<![\w-])([A-Za-z_][\w-]{0,63})\1[ \t]{0,8}:(?=[ \t]|["'[{]|$)/g;
const REFERENCE = /^(["']?)\$\{[^{}"']*\}\1$/;
/** Values that cannot be a credential. */
const HARMLESS = /^(?:true|false|null|~|-?\d+(?:\.\d+)?)$/;

/** Returns the document with the values that may be credentials replaced by `(hidden)`. */
export function masked(document: string): string {
  // Indentation of the masked key: lines with a larger one belong to its value.
  let inside: number | undefined;
  const lines = document.split("\n").map((text) => {
    const indent = text.search(/[^ \t]/);
    if (indent === -1) return text;
    if (inside !== undefined && indent > inside) return maskedPart(text);
    inside = undefined;
    let shown = "";
    let from = 0;
    let depth = 0;
    let counted = 0;
    for (const { 0: whole, 2: name = "", index } of text.matchAll(KEY)) {
      if (index < from || !SECRET_NAME.test(name)) continue;
      const start = index + whole.length;
      depth += openedIn(text, counted, index);
      counted = index;
      const { end, isOpen } = valueAt(text, start, depth > 0);
      shown += text.slice(from, start) + maskedValue(text.slice(start, end));
      from = end;
      if (isOpen) inside = index;
    }
    return shown + text.slice(from);
  });
  return lines.join("\n");
}

/** Masks a line of a multi-line value; its keys and dashes stay, so that its structure is visible. */
function maskedPart(text: string): string {
  const [before = ""] = /^[ \t]*(?:-[ \t]+)*(?:(["']?)[\w.-]+\1[ \t]*:(?=[ \t]|$))?/.exec(text) ?? [];
  const rest = text.slice(before.length);
  return /^[ \t]*[\]})[{(,]*[ \t]*$/.test(rest) ? text : before + maskedValue(rest);
}

function maskedValue(text: string): string {
  const start = text.length - text.trimStart().length;
  const { length: end } = text.trimEnd();
  const comma = text[end - 1] === "," ? "," : "";
  const value = text.slice(start, end - comma.length);
  const isShown = value === "" || /^[|>][+-]?\d?$|^[{[]$/.test(value) || REFERENCE.test(value) || HARMLESS.test(value);
  return isShown ? text : text.slice(0, start) + HIDDEN + comma + text.slice(end);
}

interface Value {
  readonly end: number;
  /** True if the value may continue in the lines below. */
  readonly isOpen: boolean;
}

function valueAt(text: string, start: number, isFlow: boolean): Value {
  const rest = text.slice(start);
  const quoted = /^[ \t]*(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')/.exec(rest);
  if (quoted !== null) return { end: start + quoted[0].length, isOpen: false };
  const group = /^[ \t]*(?:\[[^[\]{}]*\]|\{[^[\]{}]*\})/.exec(rest);
  if (group !== null) return { end: start + group[0].length, isOpen: false };
  // A reference is matched first, because it contains braces.
  const plain = isFlow ? /^[ \t]*(?:\$\{[^{}]*\}|[^,\]}])*/.exec(rest) : null;
  if (plain !== null && !/^[ \t]*["'{[]/.test(rest))
    return { end: start + plain[0].length, isOpen: plain[0].trim() === "" };
  return { end: text.length, isOpen: true };
}

/** Returns the number of braces opened between two positions of a line, minus those closed. */
function openedIn(text: string, from: number, to: number): number {
  let depth = 0;
  for (let at = from; at < to; at += 1) {
    const character = text[at];
    if (character === "{" || character === "[") depth += 1;
    else if (character === "}" || character === "]") depth -= 1;
  }
  return depth;
}

/**
 * Problem in a configuration document and its position. Every stage reports problems in this form.
 *
 * Line and column count from 1, columns in UTF-16 units. A message says what was found and what is allowed; it never contains a
 * value from a reference or the value of a key that contains a credential. Keys and values are untrusted, so they are shown as
 * JSON text (control and invisible characters escaped) with a limited length.
 */

export type Severity = "error" | "warning";

export type Path = readonly (string | number)[];

export interface Problem {
  readonly severity: Severity;
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** Path such as `providers[0].pool`; empty for the whole document. */
  readonly path: string;
  readonly message: string;
}

/** Creates a problem for a check: the check gives the path, and the reader of the document adds the position. */
export type ProblemAt = (path: Path, message: string, severity?: Severity) => Problem;

/** Maximum length of a displayed value, enough for values that are written by hand. */
export const SHOWN_LENGTH = 80;

/** Formats as `file:line:column: path: message`, with `warning: ` before the message of a warning. */
export function formatProblem(problem: Problem): string {
  const where = `${problem.file}:${problem.line}:${problem.column}: `;
  const path = problem.path === "" ? "" : `${problem.path}: `;
  return `${where}${path}${problem.severity === "warning" ? "warning: " : ""}${problem.message}`;
}

export function formatPath(path: Path): string {
  let text = "";
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`;
    else if (/^[A-Za-z_][A-Za-z0-9_-]*$/.test(step)) text += text === "" ? step : `.${step}`;
    else text += `[${shown(step)}]`;
  }
  return text;
}

/** Quotes, escapes and shortens a text for a message. A URL with a user is not shown at all. */
export function shown(text: string): string {
  if (/:\/\/[^/]*@/.test(text)) return "a URL with a user in it";
  return escapeInvisible(JSON.stringify(text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text));
}

/**
 * Escapes characters that are invisible or look like a space, which copying from a web page or a chat leaves in a document. A
 * key that contains one would look correct in a message.
 */
const escapeInvisible = (text: string): string =>
  text.replace(/[\p{Cf}\p{Zl}\p{Zp}\p{Zs}]/gu, (found) => (found === " " ? found : escaped(found)));

const escaped = (character: string): string =>
  Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
    .map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`)
    .join("");

/** Formats names as `a`, `b` and `c`, with `word` before the last. */
export function enumerated(names: readonly string[], word: "and" | "or"): string {
  const quoted = names.map((name) => `\`${name}\``);
  const last = quoted.pop() ?? "";
  return quoted.length === 0 ? last : `${quoted.join(", ")} ${word} ${last}`;
}

/**
 * What is wrong in a configuration document, and where: the one form in which every stage reports.
 *
 * Line and column are counted from 1, columns in UTF-16 units. A message says what was found and what is allowed; it
 * never holds a value that came through a reference, nor the value of a key that holds a credential. Keys and values
 * are outside input, so they are shown as JSON text (control characters escaped) and cut to a bounded length.
 */

export type Severity = "error" | "warning";

export type Path = readonly (string | number)[];

export interface Problem {
  readonly severity: Severity;
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** As `providers[0].pool`; empty for the document as a whole. */
  readonly path: string;
  readonly message: string;
}

/** How a check reports: it says what and at which path, the reader of the document knows where that is. */
export type ProblemAt = (path: Path, message: string, severity?: Severity) => Problem;

/** Long enough for every value a person writes by hand. */
export const SHOWN_LENGTH = 80;

/** Beyond this a key is not a typo of ours, and the edit distance would only cost time. */
const TYPO_LENGTH = 64;

/** `file:line:column: path: message`; a warning says so before the message. */
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

/** A text as it may stand in a message: quoted, escaped, cut. A URL that carries a user is not shown at all. */
export function shown(text: string): string {
  if (/:\/\/[^/]*@/.test(text)) return "a URL with a user in it";
  return JSON.stringify(text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text);
}

/** `a`, `b` and `c`, with the word between the last two given. */
export function enumerated(names: readonly string[], word: "and" | "or"): string {
  const quoted = names.map((name) => `\`${name}\``);
  const last = quoted.pop() ?? "";
  return quoted.length === 0 ? last : `${quoted.join(", ")} ${word} ${last}`;
}

/** The name that was most likely meant: within a third of its length in edits, one at least. */
export function nearest(text: string, names: readonly string[]): string | undefined {
  if (text.length > TYPO_LENGTH) return undefined;
  let best: { readonly name: string; readonly edits: number } | undefined;
  for (const name of names) {
    const edits = editDistance(text.toLowerCase().replaceAll("-", "_"), name.toLowerCase());
    if (edits <= Math.max(1, Math.floor(name.length / 3)) && edits < (best?.edits ?? Infinity)) best = { name, edits };
  }
  return best?.name;
}

/** Insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let edits = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
      );
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        edits = Math.min(edits, (beforeLast[column - 2] ?? 0) + 1);
      }
      current.push(edits);
    }
    beforeLast = last;
    last = current;
  }
  return last[b.length] ?? 0;
}

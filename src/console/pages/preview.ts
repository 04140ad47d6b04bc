/**
 * Preview of writing a document, and the reasons of a refusal: by path, and by line and column. Source: design decisions,
 * section 3 (dry run; 422 `refused`).
 */

import type { SourceChange, SourceProblem } from "../../admin-api/index.ts";
import { plural } from "../format/numbers.ts";
import { BLANK, type Line, line, span, type Tone } from "../model/text.ts";
import { type FieldChange, MAX_FIELDS } from "./field-changes.ts";
import { safeText } from "./shown-line.ts";

const KINDS = {
  added: { sign: "+", tone: "strong" },
  removed: { sign: "-", tone: "fail" },
  changed: { sign: "~", tone: "changed" },
} as const satisfies Readonly<
  Record<SourceChange["differences"][number]["kind"], { readonly sign: string; readonly tone: Tone }>
>;

/** Builds the page. `fieldsOf` returns the changed fields of the object at a path. */
export function previewPage(
  { name, revision, changed, differences, warnings }: SourceChange,
  fieldsOf: (path: string) => readonly FieldChange[] = () => [],
): readonly Line[] {
  const against = revision === 0 ? "nothing stored yet" : `revision ${revision}`;
  const tally = (["added", "removed", "changed"] as const)
    .map((kind) => `${differences.filter((difference) => difference.kind === kind).length} ${kind}`)
    .join(", ");
  return [
    line(`Preview: ${safeText(name)} against ${against}; nothing is written yet.`, "dim"),
    BLANK,
    line(
      changed
        ? differences.length === 0
          ? "The text differs, but its meaning is the same."
          : `${plural(differences.length, "difference")}: ${tally}`
        : "The document equals the stored one.",
      "strong",
    ),
    ...differences.flatMap(({ path, kind, fields = [] }): readonly Line[] => {
      const { sign, tone } = KINDS[kind];
      const what = span(path === "" ? "the whole document" : safeText(path));
      const changes = kind === "changed" ? fieldsOf(path) : [];
      return [
        [span(`${sign} ${kind.padEnd(8)}`, tone), what, ...(changes.length === 0 ? fieldNames(fields) : [])],
        ...fieldLines(changes),
      ];
    }),
    BLANK,
    line(warnings.length === 0 ? "No warnings." : `${plural(warnings.length, "warning")}:`, "strong"),
    ...warnings.map((warning) => problemLine(warning, "~", "warn")),
  ];
}

/** Lists the names of changed fields, for a preview whose values before and after could not be read. */
function fieldNames(fields: readonly string[]): Line {
  if (fields.length === 0) return [];
  const more = fields.length > MAX_FIELDS ? ", and more" : "";
  return [span(`  in ${fields.slice(0, MAX_FIELDS).map(safeText).join(", ")}${more}`, "dim")];
}

function fieldLines(changes: readonly FieldChange[]): readonly Line[] {
  const listed = changes.slice(0, MAX_FIELDS);
  return [
    ...listed.map(
      ({ field, from, to }): Line => [
        span(`    ${field === "" ? "" : `${safeText(field)}: `}`, "dim"),
        span(from, "fail"),
        span(" -> ", "dim"),
        span(to, "strong"),
      ],
    ),
    ...(changes.length > listed.length ? [line("    and more", "dim")] : []),
  ];
}

interface Refused {
  readonly message: string;
  /** Details as in the answer; entries that are not a problem are ignored. */
  readonly details: unknown;
}

export function refusalPage({ message, details }: Refused): readonly Line[] {
  const problems = problemsOf(details);
  return [
    line("Refused. Nothing was written.", "fail"),
    line(safeText(message)),
    ...(problems.length === 0 ? [] : [BLANK, line(`${plural(problems.length, "problem")}:`, "strong")]),
    ...problems.map((problem) => problemLine(problem, "!", "fail")),
  ];
}

/** Formats a problem: `! default 12:3 providers[0].name: is taken`. */
function problemLine({ source, path, line: at, column, message }: SourceProblem, sign: string, tone: Tone): Line {
  const place = at === 0 ? [] : [column === 0 ? `${at}` : `${at}:${column}`];
  const where = [...(source === "" ? [] : [safeText(source)]), ...place].join(" ");
  return [
    span(`${sign} `, tone),
    ...(where === "" ? [] : [span(`${where}  `, "dim")]),
    span(`${path === "" ? "" : `${safeText(path)}: `}${safeText(message)}`),
  ];
}

function problemsOf(details: unknown): readonly SourceProblem[] {
  if (!Array.isArray(details)) return [];
  return details.flatMap((detail: unknown) => {
    if (typeof detail !== "object" || detail === null) return [];
    const text = (name: string): string => {
      const value: unknown = Reflect.get(detail, name);
      return typeof value === "string" ? value : "";
    };
    const whole = (name: string): number => {
      const value: unknown = Reflect.get(detail, name);
      return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
    };
    const problem = {
      source: text("source"),
      path: text("path"),
      line: whole("line"),
      column: whole("column"),
      message: text("message"),
    };
    return problem.message === "" ? [] : [problem];
  });
}

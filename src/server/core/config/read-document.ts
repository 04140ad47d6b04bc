/**
 * Reads a text into a typed document, or returns everything that is wrong with it. The steps are: parse, insert references,
 * validate, fill in defaults, cross-check. All problems are reported at once, in the order of the document, without those that
 * only follow from another. A document with an error is never returned. No text makes it throw.
 */

import { explain, type Finding } from "./explain.ts";
import { formatPath, formatProblem, type Path, type Problem, type ProblemAt } from "./problem.ts";
import {
  expand,
  pathKey,
  type ReferenceRules,
  type References,
  type Used,
  type Written,
} from "./references/value-references.ts";
import { withoutValues } from "./references/without-values.ts";
import { fillDefaults } from "./schema/defaults.ts";
import { reduce } from "./schema/reduce-errors.ts";
import type { Schema } from "./schema/schema.ts";
import { type ErrorObject, validate } from "./schema/validate.ts";
import { literalSecrets } from "./yaml/literals.ts";
import { find, type Parsed, type Place, parseTree, type Source } from "./yaml/located-tree.ts";
import { numbersAsTexts } from "./yaml/scalar-texts.ts";

export interface ReadOptions<T> extends ReferenceRules {
  /** Error message for a text without a document. */
  readonly whenEmpty?: string;
  /** True if literal credentials get a warning, since the document is passed around. */
  readonly warnOfLiterals?: boolean;
  /** Returns a message for an unknown key that replaces the usual one. */
  readonly unknownKey?: (path: Path, key: string) => string | undefined;
  /** Returns a message if a text with these top-level keys is another document. It replaces all other problems. */
  readonly wrongDocument?: (keys: readonly string[], file: string) => string | undefined;
  /** Returns problems beyond the schema; runs once the document has the right form. */
  readonly checks?: (document: T, problem: ProblemAt) => readonly Problem[];
}

export interface Read<T> {
  /** Document; `undefined` if one of the problems is an error. */
  readonly document: T | undefined;
  /** Document with references as written, for display. `undefined` if `document` is. */
  readonly asWritten: T | undefined;
  /**
   * Document that has the right form but was refused by a check, with and without references resolved. Later stages can find
   * further problems in it.
   */
  readonly draft: Draft<T> | undefined;
  readonly problems: readonly Problem[];
  readonly used: Used;
  /** Returns the position of the value at the path, or of the innermost written value around it. Counts from 1. */
  readonly locate: (path: Path) => Place;
  /** Creates a problem of this document, for later stages. */
  readonly problem: ProblemAt;
}

export interface Draft<T> {
  readonly document: T;
  readonly asWritten: T;
}

const MAX_PROBLEMS = 100;
/**
 * Maximum number of errors that are explained. Explaining costs more than finding them, and a document with more is not a
 * configuration.
 */
const MAX_ERRORS = 5_000;

const NOTHING_USED: Used = { environment: [], secrets: [], files: [] };

export const readDocument = <T>(
  schema: Schema<T>,
  source: Source,
  references: References,
  options: ReadOptions<T>,
): Read<T> => readParsed(schema, parseTree(source), references, options);

/** Reads a text that is already parsed, or several that were composed. Otherwise the same as `readDocument`. */
export function readParsed<T>(
  schema: Schema<T>,
  parsed: Parsed,
  references: References,
  options: ReadOptions<T>,
): Read<T> {
  const { isEmpty, problems: refused, placeOf, writtenPath = (path) => path } = parsed;
  const tree = parsed.tree && numbersAsTexts(schema.json, parsed.tree);
  const locate = (path: Path, at: Finding["at"] = "value") => {
    if (tree === undefined) return placeOf(0);
    const { entry, isExact } = find(tree, path);
    return placeOf(isExact && at === "key" ? entry.keyAt : entry.value.at);
  };
  let resolved: ReadonlyMap<string, string> = new Map();
  let written: ReadonlyMap<string, Written> = new Map();
  const problem: ProblemAt = (path, message, severity = "error") =>
    problemAt(path, "value", withoutValues(message, resolved, written.get(pathKey(path))), severity);
  const problemAt = (path: Path, at: Finding["at"], message: string, severity: Problem["severity"] = "error") => ({
    severity,
    ...locate(path, at),
    path: formatPath(writtenPath(path)),
    message,
  });
  const outcome = (documents: Draft<T> | undefined, problems: readonly Problem[], used: Used): Read<T> => ({
    document: undefined,
    asWritten: undefined,
    draft: documents,
    ...(problems.some(({ severity }) => severity === "error") ? {} : documents),
    problems: inOrder(problems, parsed.files),
    used,
    locate: (path) => locate(path),
    problem,
  });

  if (tree === undefined) {
    return outcome(
      undefined,
      isEmpty ? [...refused, problem([], options.whenEmpty ?? "the document is empty")] : refused,
      NOTHING_USED,
    );
  }

  const wrong = tree.kind === "map" ? options.wrongDocument?.([...tree.entries.keys()], placeOf(0).file) : undefined;
  if (wrong !== undefined) return outcome(undefined, [...refused, problem([], wrong)], NOTHING_USED);

  const problems: Problem[] = [...refused];
  const expanded = expand(tree, schema.json, references, options, (path, message, severity) =>
    problems.push(problem(path, message, severity)),
  );
  const { value, used } = expanded;
  ({ resolved, written } = expanded);
  const errors = validate(schema.json, value);
  const isWhole =
    refused.length === 0 && problems.every(({ severity }) => severity !== "error") && errors.length <= MAX_ERRORS;
  const reduced = reduce(errors.slice(0, MAX_ERRORS), tree, written);
  const findings = explain(reduced, { written, ...unknownKeyOf(options) });
  problems.push(
    ...findings.map((finding) => problemAt(finding.path, finding.at, messageOf(finding, writtenPath(finding.path)))),
  );
  for (const { path, isRefused, isPart, isForeignReference } of literalSecrets(schema.json, tree, written)) {
    if (isRefused)
      problems.push(problem(path, "must be a reference such as `${secret:NAME}`, not the credential itself"));
    else if (options.warnOfLiterals === true)
      problems.push(problem(path, isForeignReference ? FOREIGN_REFERENCE : isPart ? HALF_LITERAL : LITERAL, "warning"));
  }
  if (!isWhole) return outcome(undefined, problems, used);
  if (findings.some(({ isNotYet }) => isNotYet !== true)) {
    // The rest may be valid without the unknown keys. Defaults and checks can then still be applied.
    for (const filled of [value, expanded.asWritten]) dropUnknownKeys(filled, errors);
    if (validate(schema.json, value).length > 0) return outcome(undefined, problems, used);
  }

  // Validation showed that the value has the shape of the schema, whose type is T.
  for (const filled of new Set([value, expanded.asWritten])) fillDefaults(schema.json, filled);
  const document = value as T;
  problems.push(...(options.checks?.(document, problem) ?? []));
  return outcome({ document, asWritten: expanded.asWritten as T }, problems, used);
}

function dropUnknownKeys(value: unknown, errors: readonly ErrorObject[]): void {
  for (const { keyword, instancePath, params } of errors) {
    if (keyword !== "additionalProperties") continue;
    const path = instancePath.split("/").slice(1);
    const object = path.reduce<unknown>((at, step) => {
      const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
      return typeof at === "object" && at !== null ? (at as Record<string, unknown>)[key] : undefined;
    }, value);
    if (typeof object === "object" && object !== null) {
      delete (object as Record<string, unknown>)[String(params["additionalProperty"])];
    }
  }
}

const LITERAL =
  "a credential is written out in a document that travels through the cluster; use `${VAR}` or `${secret:NAME}`";

const FOREIGN_REFERENCE =
  "this text is sent as the credential itself; a variable is written `${VAR}`, a secret `${secret:NAME}`";

const HALF_LITERAL = "only a part of this credential is a reference; store the whole value and refer to it";

const messageOf = ({ isNotYet, message }: Finding, path: Path): string =>
  isNotYet === true ? `not supported by this version: ${formatPath(path)}` : message;

const unknownKeyOf = <T>({ unknownKey }: ReadOptions<T>) => (unknownKey === undefined ? {} : { unknownKey });

/** Sorts problems by position, grouped by file and without duplicates, and limits their number. */
function inOrder(problems: readonly Problem[], files: readonly string[] = []): readonly Problem[] {
  const sorted = problems.toSorted(
    (a, b) => files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line || a.column - b.column,
  );
  const unique = [...new Map(sorted.map((problem) => [formatProblem(problem), problem])).values()];
  const [next, ...others] = unique.slice(MAX_PROBLEMS);
  if (next === undefined) return unique;
  const severity = [next, ...others].some((it) => it.severity === "error") ? "error" : "warning";
  const more: Problem = { ...next, severity, path: "", message: "further problems are not shown" };
  return [...unique.slice(0, MAX_PROBLEMS), more];
}

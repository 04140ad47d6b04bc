/**
 * Text to a typed document, or to everything that is wrong with it: parsed, references put in, validated, defaults
 * filled in, cross-checked. All problems come at once, in the order of the document, without those that only follow
 * from another. A document with an error is never handed out. Total: no text makes it throw.
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
import { reduce } from "./schema/reduce.ts";
import type { Schema } from "./schema/schema.ts";
import { type ErrorObject, validate } from "./schema/validate.ts";
import { literalSecrets } from "./yaml/literals.ts";
import { find, type Parsed, type Place, parseTree, type Source } from "./yaml/located-tree.ts";
import { numbersAsTexts } from "./yaml/scalar-texts.ts";

export interface ReadOptions<T> extends ReferenceRules {
  /** Error message for a text without a document. */
  readonly whenEmpty?: string;
  /** Whether a credential that is written out is warned of; it is where the document travels. */
  readonly warnOfLiterals?: boolean;
  /** Explains an unknown key, beyond that it is unknown. */
  readonly unknownKey?: (path: Path, key: string) => string | undefined;
  /** Checks beyond the schema; run once the document's form is right. */
  readonly checks?: (document: T, problem: ProblemAt) => readonly Problem[];
}

export interface Read<T> {
  /** `undefined` if one of the problems is an error. */
  readonly document: T | undefined;
  /** The document with its references as they are written: what is shown of it. Undefined with `document`. */
  readonly asWritten: T | undefined;
  /** Both values of a document with the right form that a check refused, to find further problems in it. */
  readonly draft: Draft<T> | undefined;
  readonly problems: readonly Problem[];
  readonly used: Used;
  /** Returns the position of the value at the path, or of the innermost written value around it. Counts from 1. */
  readonly locate: (path: Path) => Place;
  /** A problem of this document, for what is found out about it later. */
  readonly problem: ProblemAt;
}

export interface Draft<T> {
  readonly document: T;
  readonly asWritten: T;
}

const MAX_PROBLEMS = 100;
/** Explaining an error costs more than finding it, and a document with more errors than this is of another kind. */
const MAX_ERRORS = 5_000;

const NOTHING_USED: Used = { environment: [], secrets: [], files: [] };

export const readDocument = <T>(
  schema: Schema<T>,
  source: Source,
  references: References,
  options: ReadOptions<T>,
): Read<T> => readParsed(schema, parseTree(source), references, options);

/** Same as `readDocument`, for a text that was parsed, or several that were composed. */
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

  const problems: Problem[] = [...refused];
  const expanded = expand(tree, schema.json, references, options, (path, message) =>
    problems.push(problem(path, message)),
  );
  const { value, used } = expanded;
  ({ resolved, written } = expanded);
  const errors = validate(schema.json, value);
  const isWhole = problems.length === 0 && errors.length <= MAX_ERRORS;
  const reduced = reduce(errors.slice(0, MAX_ERRORS), tree, written);
  const findings = explain(reduced, { written, ...unknownKeyOf(options) });
  problems.push(
    ...findings.map((finding) => problemAt(finding.path, finding.at, messageOf(finding, writtenPath(finding.path)))),
  );
  for (const { path, isRefused, isPart } of literalSecrets(schema.json, tree, written)) {
    if (isRefused)
      problems.push(problem(path, "must be a reference such as `${secret:NAME}`, not the credential itself"));
    else if (options.warnOfLiterals === true) problems.push(problem(path, isPart ? HALF_LITERAL : LITERAL, "warning"));
  }
  if (!isWhole) return outcome(undefined, problems, used);
  if (findings.some(({ isNotYet }) => isNotYet !== true)) {
    // Without the keys that are not known the rest may be sound, and is judged as far as that.
    for (const filled of [value, expanded.asWritten]) dropUnknownKeys(filled, errors);
    if (validate(schema.json, value).length > 0) return outcome(undefined, problems, used);
  }

  // The walk above showed that the value has the shape of the schema, whose type is T.
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

const HALF_LITERAL =
  "a part of a credential is written out beside a reference; put the whole value behind the reference";

const messageOf = ({ isNotYet, message }: Finding, path: Path): string =>
  isNotYet === true ? `not supported by this version: ${formatPath(path)}` : message;

const unknownKeyOf = <T>({ unknownKey }: ReadOptions<T>) => (unknownKey === undefined ? {} : { unknownKey });

/** Sorts problems by position, grouped by text and without duplicates. Limited to what anybody would read. */
function inOrder(problems: readonly Problem[], files: readonly string[] = []): readonly Problem[] {
  const sorted = problems.toSorted(
    (a, b) => files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line || a.column - b.column,
  );
  const unique = [...new Map(sorted.map((problem) => [formatProblem(problem), problem])).values()];
  const [next, ...others] = unique.slice(MAX_PROBLEMS);
  if (next === undefined) return unique;
  const severity = [next, ...others].some((it) => it.severity === "error") ? "error" : "warning";
  const more: Problem = { ...next, severity, path: "", message: "more problems follow from here on" };
  return [...unique.slice(0, MAX_PROBLEMS), more];
}

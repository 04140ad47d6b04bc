/**
 * Maps the validator's errors to paths of the document, without those that follow from another error: below a refused value, in
 * the branches of a failed alternative, or a second error of one scalar.
 */

import type { Located } from "../explain.ts";
import type { Path } from "../problem.ts";
import { pathKey, type Written } from "../references/value-references.ts";
import { find, type Tree } from "../yaml/located-tree.ts";
import type { ErrorObject } from "./validate.ts";

/** Returns the errors that have a cause of their own, each at its path in the document. */
export function reduce(
  errors: readonly ErrorObject[],
  tree: Tree,
  written: ReadonlyMap<string, Written>,
): readonly Located[] {
  const located = errors.map((error) => ({ path: pathOf(error.instancePath, tree), error }));
  const alternatives = errors.filter(({ keyword }) => keyword === "anyOf" || keyword === "oneOf");
  const notYet = new Set(located.filter(({ error }) => error.keyword === "x-not-yet").map(({ path }) => pathKey(path)));
  const best = new Map<string, number>();
  for (const { path, error } of located) {
    const key = pathKey(path);
    best.set(key, Math.min(best.get(key) ?? Infinity, rank(error)));
  }

  return located.filter(({ path, error }) => {
    if (isNotYet(error)) return !path.some((_, length) => notYet.has(pathKey(path.slice(0, length))));
    if (find(tree, path).entry.value.kind === "refused") return false;
    if (error.keyword === "if") return false;
    if (alternatives.some((it) => it !== error && error.schemaPath.startsWith(`${it.schemaPath}/`))) return false;
    const isBroken = written.get(pathKey(path))?.isResolved === false;
    if (isBroken && (error.keyword !== "type" || [error.schema].flat().includes("string"))) return false;
    return isRule(error) || rank(error) <= (best.get(pathKey(path)) ?? 0);
  });
}

const isNotYet = ({ keyword }: ErrorObject): boolean => keyword === "x-not-yet";

/** Rules about the members of an object or list. One value may violate several, and each violation is reported. */
const RULES: ReadonlySet<string> = new Set([
  "additionalProperties",
  "required",
  "x-exclusive",
  "x-one-of",
  "x-together",
  "uniqueItems",
]);

const isRule = ({ keyword }: ErrorObject): boolean => RULES.has(keyword);

/** Returns the rank of an error; of several errors of one value, only the one with the lowest rank is reported. */
function rank(error: ErrorObject): number {
  if (isNotYet(error) || isRule(error)) return Infinity;
  const order = ["type", "enum", "const", "minLength", "maxLength", "format", "pattern"].indexOf(error.keyword);
  return order === -1 ? 7 : order;
}

/** Converts a JSON pointer to a path. The document decides whether a step is an index. */
function pathOf(pointer: string, tree: Tree): Path {
  const path: (string | number)[] = [];
  for (const part of pointer.split("/").slice(1)) {
    const step = part.replaceAll("~1", "/").replaceAll("~0", "~");
    const { entry, isExact } = find(tree, path);
    path.push(isExact && entry.value.kind === "list" ? Number(step) : step);
  }
  return path;
}

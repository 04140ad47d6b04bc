/** Type of cross-checks, and messages that several of them share. */

import { closestName } from "../../../../../base/index.ts";
import { type Path, type Problem, type ProblemAt, shown } from "../../problem.ts";
import type { Deployment } from "../deployment.ts";

/**
 * Check over several keys, which a schema cannot express. The document has passed the schema, so types and patterns are valid.
 * References are resolved, so a text that is not a known name may be a credential in the wrong place: a message shows only names
 * that exist in the document, or that nearly match one.
 */
export type Check = (document: Deployment, problem: ProblemAt) => readonly Problem[];

/** Maximum number of names that a message lists. */
const LISTED_NAMES = 10;

/** Maximum number of names that are compared, which limits the work for a document with thousands of errors. */
export const COMPARED_NAMES = 500;

/**
 * Returns the message for an unknown name. `what` completes "no … of this document": `provider`, `entry of credentials`. `owner`
 * is where the names are defined.
 */
export function unknownName(what: string, found: string, known: Iterable<string>, owner = "this document"): string {
  const names = [...new Set(known)];
  const meant = closestName(found, names.slice(0, COMPARED_NAMES));
  if (meant !== undefined) return `${shown(found)} is no ${what} of ${owner}; did you mean ${shown(meant)}?`;
  return `this names no ${what} of ${owner}, ${names.length === 0 ? "which has none" : `which has ${listed(names)}`}`;
}

function listed(names: readonly string[]): string {
  const rest = names.length - LISTED_NAMES;
  return names.slice(0, LISTED_NAMES).map(shown).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}

/** Reports every text at `path` that is not in `known`. */
export function unknownNames(
  what: string,
  found: readonly string[],
  known: ReadonlySet<string>,
  path: Path,
  problem: ProblemAt,
): readonly Problem[] {
  return found.flatMap((name, at) => (known.has(name) ? [] : [problem([...path, at], unknownName(what, name, known))]));
}

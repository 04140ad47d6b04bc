/** Type of cross-checks, and messages that several of them share. */

import { nearest } from "../../../../../base/index.ts";
import { type Path, type Problem, type ProblemAt, shown } from "../../problem.ts";
import type { Deployment } from "../deployment.ts";

/**
 * A rule over several keys, which a schema cannot say. The document has passed the schema, so types and patterns hold.
 * References are resolved by then, so a text that is not the name of something may be a credential in the wrong place:
 * a message shows only names that exist in the document, or that nearly do.
 */
export type Check = (document: Deployment, problem: ProblemAt) => readonly Problem[];

/** Enough to choose from; a document may name thousands. */
const LISTED_NAMES = 10;

/** Bounds the work for a document that is wrong in thousands of places. */
export const COMPARED_NAMES = 500;

/** `what` completes "no … of this document": `provider`, `entry of credentials`. `owner`: who has the names. */
export function unknownName(what: string, found: string, known: Iterable<string>, owner = "this document"): string {
  const names = [...new Set(known)];
  const meant = nearest(found, names.slice(0, COMPARED_NAMES));
  if (meant !== undefined) return `${shown(found)} is no ${what} of ${owner}; did you mean ${shown(meant)}?`;
  return `this names no ${what} of ${owner}, ${names.length === 0 ? "which has none" : `which has ${listed(names)}`}`;
}

export function listed(names: readonly string[]): string {
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

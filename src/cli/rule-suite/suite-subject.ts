/** Configuration that suites are run against, and messages about names that it does not have. */

import { closestName } from "../../base/index.ts";
import type { Snapshot } from "../../server/snapshot/index.ts";

export interface Subject extends Pick<Snapshot, "governance" | "guardrails" | "byName" | "route" | "modelless"> {
  /** Names of `mcp[]`; `undefined` if none is configured, and then rules are judged for any name. */
  readonly servers: readonly string[] | undefined;
  /** Names of `a2a[]`; `undefined` likewise. */
  readonly peers: readonly string[] | undefined;
}

/** Problem at a path below the checked value. */
export interface Fault {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** Maximum number of names that an unknown one is compared with for a suggestion, since comparing is expensive. */
const COMPARED_NAMES = 500;

/** Returns a fault if `name` is unknown; none if `names` is `undefined`. */
export function unknownIn(
  names: readonly string[] | undefined,
  name: string,
  noun: string,
  path: Fault["path"],
): readonly Fault[] {
  if (names === undefined || names.includes(name)) return [];
  return [{ path, message: `there is no such ${noun}${didYouMean(name, names)}` }];
}

/** Returns `; did you mean …?`, or an empty text if no name is similar. */
export function didYouMean(name: string, names: readonly string[]): string {
  const guess = closestName(name, names.slice(0, COMPARED_NAMES));
  return guess === undefined || guess === name ? "" : `; did you mean \`${guess}\`?`;
}

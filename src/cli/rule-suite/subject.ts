/** Configuration that suites are run against, and messages about names that it does not have. */

import { nearest } from "../../base/index.ts";
import type { Snapshot } from "../../server/snapshot/index.ts";

export interface Subject extends Pick<Snapshot, "governance" | "guardrails" | "byName" | "route" | "modelless"> {
  /** Names of `mcp[]`; undefined: none is configured, and rules are judged for any name. */
  readonly servers: readonly string[] | undefined;
  /** Likewise of `a2a[]`. */
  readonly peers: readonly string[] | undefined;
}

/** Problem at a path below the checked value. */
export interface Fault {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** Names that an unknown one is compared with, which costs more than finding that it is unknown. */
const COMPARED_NAMES = 500;

/** Nothing where `names` are not known. */
export function unknownIn(
  names: readonly string[] | undefined,
  name: string,
  noun: string,
  path: Fault["path"],
): readonly Fault[] {
  if (names === undefined || names.includes(name)) return [];
  return [{ path, message: `there is no such ${noun}${didYouMean(name, names)}` }];
}

/** `; did you mean …?`, or nothing where no name is near. */
export function didYouMean(name: string, names: readonly string[]): string {
  const guess = nearest(name, names.slice(0, COMPARED_NAMES));
  return guess === undefined || guess === name ? "" : `; did you mean \`${guess}\`?`;
}

/** What the checks of the node file's sections share. */

import type { NodeFile } from "./node-file.ts";
import type { Path, Problem, ProblemAt } from "./problem.ts";

/** A rule over several keys; `undefined` stands where it holds. */
export type Check = (file: NodeFile, problem: ProblemAt) => readonly (Problem | undefined)[];

/** One problem for every value that stood in the list before. `key` is where in the entry the value stands. */
export function repeated(list: Path, key: string, values: readonly string[], problem: ProblemAt): readonly Problem[] {
  return values.flatMap((value, at) => {
    const first = values.indexOf(value);
    return first < at ? [problem([...list, at, key], `is that of item ${first} already`)] : [];
  });
}

export const isLoopbackHost = (host: string): boolean =>
  host === "localhost" || host === "::1" || /^127(\.\d+){3}$/.test(host);

/** Shared parts of the node file's checks. */

import type { Path, Problem, ProblemAt } from "../problem.ts";
import type { NodeFile } from "./node-file.ts";

/** Check over several keys; `undefined` entries mean that it found nothing. */
export type Check = (file: NodeFile, problem: ProblemAt) => readonly (Problem | undefined)[];

/** Reports every value that repeats an earlier one of the list. `key` is the key of the value within its entry. */
export function repeated(list: Path, key: string, values: readonly string[], problem: ProblemAt): readonly Problem[] {
  return values.flatMap((value, at) => {
    const first = values.indexOf(value);
    return first < at ? [problem([...list, at, key], `is that of item ${first} already`)] : [];
  });
}

export const isLoopbackHost = (host: string): boolean =>
  host === "localhost" || host === "::1" || /^127(\.\d+){3}$/.test(host);

/**
 * Unified difference of two documents as a page: three lines of context, signs before the lines. Source: POSIX `diff -u` (IEEE
 * 1003.1-2024). Possible credentials are masked in both before they are compared.
 */

import { count, plural } from "../format/numbers.ts";
import { BLANK, type Line, line, span } from "../model/text.ts";
import { differenceOf, linesOf, type Operation } from "./line-difference.ts";
import { masked } from "./mask.ts";
import { safeText } from "./shown-line.ts";

const CONTEXT = 3;
/** Maximum number of lines of either text; nobody reads a longer deployment document line by line. */
export const MAX_LINES = 20_000;

interface Names {
  readonly from: string;
  readonly to: string;
}

export function differencePage(fromText: string, toText: string, names: Names): readonly Line[] {
  if (fromText === toText)
    return [line(`${safeText(names.from)} and ${safeText(names.to)} are the same, byte for byte.`)];
  const [from, to] = [linesOf(masked(fromText)), linesOf(masked(toText))];
  const longest = Math.max(from.length, to.length);
  if (longest > MAX_LINES) {
    return [
      line(`Too long to compare here: ${count(longest)} lines, at most ${count(MAX_LINES)}.`, "warn"),
      line("Save both and compare them with `diff -u`."),
    ];
  }
  const hunks = hunksOf(differenceOf(from, to));
  if (hunks.length === 0) return [line("They differ only in values that may be credentials, which are not shown.")];
  const all = hunks.flatMap(({ operations }) => operations);
  const added = all.filter(({ kind }) => kind === "add").length;
  const removed = all.filter(({ kind }) => kind === "remove").length;
  return [
    line(`${plural(added, "line")} added, ${plural(removed, "line")} removed`, "dim"),
    BLANK,
    line(`--- ${safeText(names.from)}`, "strong"),
    line(`+++ ${safeText(names.to)}`, "strong"),
    ...hunks.flatMap((hunk) => [
      line(headOf(hunk), "dim"),
      ...hunk.operations.flatMap((operation) => drawn(operation, from, to)),
    ]),
  ];
}

interface Hunk {
  /** Number of lines of either text before the hunk. */
  readonly from: number;
  readonly to: number;
  readonly operations: readonly Operation[];
}

/** Groups changes with `CONTEXT` lines around; adjacent contexts are merged. */
function hunksOf(operations: readonly Operation[]): readonly Hunk[] {
  const hunks: Hunk[] = [];
  let [from, to] = [0, 0];
  let open: { from: number; to: number; operations: Operation[] } | undefined;
  /** Unchanged lines since the last change. */
  let kept: Operation[] = [];
  const close = (): void => {
    if (open !== undefined) hunks.push({ ...open, operations: [...open.operations, ...kept.slice(0, CONTEXT)] });
    open = undefined;
  };
  for (const operation of operations) {
    if (operation.kind === "keep") {
      kept.push(operation);
      if (open !== undefined && kept.length > 2 * CONTEXT) close();
    } else {
      const before = open === undefined ? kept.slice(-CONTEXT) : kept;
      open ??= { from: from - before.length, to: to - before.length, operations: [] };
      open.operations.push(...before, operation);
      kept = [];
    }
    if (operation.kind !== "add") from += 1;
    if (operation.kind !== "remove") to += 1;
  }
  close();
  return hunks;
}

/** Returns the head of a hunk. A side without lines has the number of the line before it. */
function headOf({ from, to, operations }: Hunk): string {
  const removed = operations.filter(({ kind }) => kind !== "add").length;
  const added = operations.filter(({ kind }) => kind !== "remove").length;
  const range = (before: number, lines: number): string =>
    `${lines === 0 ? before : before + 1}${lines === 1 ? "" : `,${lines}`}`;
  return `@@ -${range(from, removed)} +${range(to, added)} @@`;
}

function drawn(operation: Operation, from: readonly string[], to: readonly string[]): readonly Line[] {
  switch (operation.kind) {
    case "keep":
      return signed(" ", from[operation.from] ?? "");
    case "remove":
      return signed("-", from[operation.from] ?? "");
    case "add":
      return signed("+", to[operation.to] ?? "");
    default:
      return operation satisfies never;
  }
}

const TONES = { " ": "plain", "-": "fail", "+": "strong" } as const;

function signed(sign: keyof typeof TONES, text: string): readonly Line[] {
  const isEnded = text.endsWith("\n");
  const shownLine = [span(`${sign}${safeText(isEnded ? text.slice(0, -1) : text)}`, TONES[sign])];
  return isEnded ? [shownLine] : [shownLine, line("\\ No newline at end of file", "dim")];
}

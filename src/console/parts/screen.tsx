/**
 * Lines on the screen: one row a line, and no row drawn again whose line is the one that was there.
 *
 * A row is a `Transform` over one blank instead of a `Text` of the line. Ink measures every text it meets and keeps each
 * measurement for good, which for lines with a clock in them is a leak of megabytes an hour; here it measures a blank.
 * Nothing is lost by it: lines come in exact widths, so there is nothing to measure or to cut. What Ink lays out is as
 * wide as the tokens that stand for the rows.
 */

import { Box, Transform } from "ink";
import { createElement, memo, useSyncExternalStore } from "react";
import type { Line } from "../model/text.ts";
import { type PaintedRows, TOKEN_CELLS } from "./rows.ts";
import { runsOf, type Theme } from "./theme.ts";

export interface Frame {
  /** A line that is equal to the one before at its place is that one. */
  readonly lines: readonly Line[];
  readonly columns: number;
}

export interface FrameSource {
  subscribe(listener: () => void): () => void;
  /** The same object until a listener was told. */
  current(): Frame;
}

interface ScreenProps {
  readonly frames: FrameSource;
  readonly theme: Theme;
  readonly painted: PaintedRows;
}

export function Screen({ frames, theme, painted }: ScreenProps) {
  const { lines } = useSyncExternalStore(frames.subscribe, frames.current);
  const rows = lines.map((line, at) => createElement(Row, { line, theme, at, painted }));
  // A row is what stands at its place, so rows go in as places and not as a list with keys.
  return createElement(Box, { flexDirection: "column", width: TOKEN_CELLS, height: lines.length }, ...rows);
}

interface RowProps {
  readonly line: Line;
  readonly theme: Theme;
  readonly at: number;
  readonly painted: PaintedRows;
}

const Row = memo(({ line, theme, at, painted }: RowProps) => {
  const token = painted.tokenOf(at, runsOf(line, theme));
  return <Transform transform={() => token}> </Transform>;
});

/** The lines that follow, with those that did not change as the objects they were; `before` itself where none did. */
export function keptLines(before: readonly Line[], next: readonly Line[]): readonly Line[] {
  const lines = next.map((line, at) => {
    const known = before[at];
    return known !== undefined && isSameLine(known, line) ? known : line;
  });
  return lines.length === before.length && lines.every((line, at) => line === before[at]) ? before : lines;
}

function isSameLine(left: Line, right: Line): boolean {
  if (left === right) return true;
  if (left.length !== right.length) return false;
  return left.every((span, at) => {
    const other = right[at];
    return (
      other !== undefined &&
      span.text === other.text &&
      (span.tone ?? "plain") === (other.tone ?? "plain") &&
      (span.isInverse ?? false) === (other.isInverse ?? false)
    );
  });
}

/**
 * Lines on the screen: one row per line; an unchanged line is not drawn again.
 *
 * A row is a `Transform` over one blank instead of a `Text` of the line. Ink measures every text and keeps each measurement
 * permanently, which for lines with a clock leaks megabytes per hour; here it measures a blank. Nothing is lost: lines have
 * exact widths, so there is nothing to measure or cut. Ink's layout is only as wide as the tokens of the rows.
 */

import { Box, Transform } from "ink";
import { createElement, memo, useSyncExternalStore } from "react";
import type { Line } from "../model/text.ts";
import { type PaintedRows, TOKEN_CELLS } from "./painted-rows.ts";
import { runsOf, type Theme } from "./theme.ts";

export interface Frame {
  /** A line that equals the previous one at its position is the same object. */
  readonly lines: readonly Line[];
  readonly columns: number;
}

interface FrameSource {
  subscribe(listener: () => void): () => void;
  /** Returns the same object until listeners are notified. */
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
  // Rows are identified by position, so they are passed as positional children and not as a keyed list.
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

/** Returns the next lines with unchanged ones as their previous objects; `before` itself if none changed. */
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

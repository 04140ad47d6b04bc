/**
 * Lines on the screen: one row a line, and no row drawn again whose line is equal to the one before.
 *
 * A row is a `Transform` over one blank instead of a `Text` of the line. Ink measures every text it meets and keeps each
 * measurement for good, which for lines with a clock in them is a leak of megabytes an hour; here it measures a blank.
 * Nothing is lost by it: lines come in exact widths, so there is nothing to measure or to cut.
 */

import { Box, Transform } from "ink";
import { createElement, memo, useSyncExternalStore } from "react";
import type { Line } from "../model/text.ts";
import type { PaintedRows } from "./rows.ts";
import { paint, type Theme } from "./theme.ts";

export interface Frame {
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
  const { lines, columns } = useSyncExternalStore(frames.subscribe, frames.current);
  const rows = lines.map((line, at) => createElement(Row, { line, theme, at, painted }));
  // A row is what stands at its place, so rows go in as places and not as a list with keys.
  return createElement(
    Box,
    { flexDirection: "column", width: columns, height: lines.length, overflow: "hidden" },
    ...rows,
  );
}

interface RowProps {
  readonly line: Line;
  readonly theme: Theme;
  readonly at: number;
  readonly painted: PaintedRows;
}

const Row = memo(
  ({ line, theme, at, painted }: RowProps) => {
    const token = painted.tokenOf(at, paint(line, theme));
    return <Transform transform={() => token}> </Transform>;
  },
  (before: RowProps, after: RowProps) => before.theme === after.theme && isSameLine(before.line, after.line),
);

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

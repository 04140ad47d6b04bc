/** Line builders of panes, pages and dialogs. Foreign text is escaped here. */

import { escapeControls } from "../../base/index.ts";
import { BLANK, type Line, line, type Span, type Tone } from "../model/text.ts";
import { linesOfFields } from "./record-lines.ts";

/** Width of a label with trailing blanks, in cells. */
export const LABEL_CELLS = 10;

/** Returns a span of foreign text without control characters. */
export const shown = (text: string, tone: Tone = "plain"): Span => ({ text: escapeControls(text), tone });

/** Returns a line with a dim label and a value. */
export const labeledLine = (label: string, ...spans: readonly Span[]): Line => [
  { text: label.padEnd(LABEL_CELLS), tone: "dim" },
  ...spans,
];

/** Returns the description for a screen without a pane: the pane's lines, then the fields as the admin API returned them. */
export const describedAs = (pane: readonly Line[], row: unknown): readonly Line[] =>
  row === undefined ? [line("It no longer exists.", "warn")] : [...pane, BLANK, ...linesOfFields(row)];

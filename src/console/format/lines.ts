/** Lines that panes, pages and dialogs are put together from. What comes from outside is made harmless here. */

import { escapeControls } from "../../base/index.ts";
import { BLANK, type Line, line, type Span, type Tone } from "../model/text.ts";
import { linesOfFields } from "./fields.ts";

/** Cells of a label with the blanks after it. */
export const LABEL_CELLS = 10;

/** A span of text from outside. */
export const shown = (text: string, tone: Tone = "plain"): Span => ({ text: escapeControls(text), tone });

/** A dim label, then what it names. */
export const labelled = (label: string, ...spans: readonly Span[]): Line => [
  { text: label.padEnd(LABEL_CELLS), tone: "dim" },
  ...spans,
];

/** For a screen without room for a pane: what the pane tells, then the fields as the admin API gives them. */
export const describedAs = (pane: readonly Line[], row: unknown): readonly Line[] =>
  row === undefined ? [line("It is there no more.", "warn")] : [...pane, BLANK, ...linesOfFields(row)];

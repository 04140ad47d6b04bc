/**
 * What views are drawn of: lines of spans. A span's tone is a meaning, which the theme turns into one of the terminal's
 * own colours or into none; no meaning is told by its tone alone. Source: operator console reference, B9.
 */

/**
 * `strong`: bold. `dim`: hints, units, old data. `warn`: hot, stale (yellow). `fail`: failing, denied, destructive (red).
 * `off`: suspended, switched off by an operator (magenta). `changed`: a number that is new since the last answer (bold).
 */
export type Tone = "plain" | "strong" | "dim" | "warn" | "fail" | "off" | "changed";

export interface Span {
  /** One line, without controls: what comes from outside goes through `escapeControls` of base. */
  readonly text: string;
  /** `plain` when left out. */
  readonly tone?: Tone;
  readonly isInverse?: boolean;
}

export type Line = readonly Span[];

export const BLANK: Line = [];

/** A line of one span. */
export const line = (text: string, tone: Tone = "plain"): Line => [{ text, tone }];

export const span = (text: string, tone: Tone = "plain"): Span => ({ text, tone });

export const textOfLine = (of: Line): string => of.map(({ text }) => text).join("");

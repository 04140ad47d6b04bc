/**
 * Text of views: lines of spans. The tone of a span is a meaning, which the theme maps to a terminal color or to none; no
 * meaning is expressed by the tone alone. Source: operator console reference, B9.
 */

/**
 * Meaning of a text. `strong`: bold. `dim`: hints, units, old data. `warn`: near a limit or stale (yellow). `fail`: failing,
 * denied, destructive (red). `off`: suspended or switched off by an operator (magenta). `changed`: a number that changed with the
 * last answer (bold).
 */
export type Tone = "plain" | "strong" | "dim" | "warn" | "fail" | "off" | "changed";

export interface Span {
  /** One line without control characters; text from outside passes through `escapeControls` of base. */
  readonly text: string;
  /** Default: `plain`. */
  readonly tone?: Tone;
  readonly isInverse?: boolean;
}

export type Line = readonly Span[];

export const BLANK: Line = [];

/** Returns a line of one span. */
export const line = (text: string, tone: Tone = "plain"): Line => [{ text, tone }];

export const span = (text: string, tone: Tone = "plain"): Span => ({ text, tone });

export const textOfLine = (of: Line): string => of.map(({ text }) => text).join("");

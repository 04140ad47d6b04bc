/** Recurrence of an acknowledged alert in this console: whether it cleared and came back. */

export interface Recurrence {
  /** Time of the acknowledgement, which identifies it: a renewed acknowledgement is a different one. */
  readonly of: string;
  /** Time since when the alert is clear, in milliseconds since 1970; `undefined` if it was active at the last look. */
  readonly clearedSince: number | undefined;
  /** Time that the alert was clear before it came back, in milliseconds; `undefined` if it did not come back. */
  readonly recurredAfterMs: number | undefined;
}

/** Recurrences by the name of the acknowledgement. */
export type Recurrences = ReadonlyMap<string, Recurrence>;

export const NO_RECURRENCES: Recurrences = new Map();

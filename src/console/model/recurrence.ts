/** What this console has seen of rows of attention that are acknowledged: whether their trouble went away, and came back. */

export interface Recurrence {
  /** When it was acknowledged: an acknowledgement that is put again is another. */
  readonly of: string;
  /** Since when nothing of it wants attention; milliseconds since 1970. Undefined: it does, or did when it was last looked at. */
  readonly awaySince: number | undefined;
  /** For how long it was away before it came back; undefined: it has not. */
  readonly backAfterMs: number | undefined;
}

/** By the names of acknowledgements. */
export type Recurrences = ReadonlyMap<string, Recurrence>;

export const NO_RECURRENCES: Recurrences = new Map();

/** One line of `gateway check`, and the probe behind it. */

export interface Answer {
  readonly verdict: "ok" | "fail" | "note";
  readonly subject: string;
  readonly words: string;
}

export interface Limits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Something elsewhere that is asked to answer. */
export interface Probe {
  readonly subject: string;
  /** Never rejects. */
  ask(limits: Limits): Promise<Answer>;
}

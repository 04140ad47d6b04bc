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

/** Check that sends a request to another system. */
export interface Probe {
  readonly subject: string;
  /** Runs the check. Never rejects. */
  ask(limits: Limits): Promise<Answer>;
}

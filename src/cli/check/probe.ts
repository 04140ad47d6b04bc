/** One line of `gateway check`, and the probe behind it. */

export interface Answer {
  readonly verdict: "ok" | "fail" | "note";
  readonly subject: string;
  readonly message: string;
}

export interface ProbeLimits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Check that sends a request to another system. */
export interface Probe {
  readonly subject: string;
  /** Runs the check. Never rejects. */
  run(limits: ProbeLimits): Promise<Answer>;
}

/**
 * How far the terminal itself has come: behind what it is sent stands a question, and its answer says that everything
 * before was taken. Without it only the kernel would tell of a slow line, and a pseudo-terminal and a secure shell between
 * them hold half a minute of a line of 9,600 baud.
 *
 * Source: ECMA-48, 8.3.35, DSR: `CSI 5 n` asks for the state, `CSI 0 n` says ready. One question is under way at most.
 * Until a terminal has answered once it holds nothing up, and is not asked again; so one that never does costs nothing.
 */

export const QUESTION = "\u001b[5n";
/** A terminal that has answered before is waited for no longer: it may have become another one, behind a multiplexer. */
export const ANSWER_LIMIT_MS = 10_000;
/** After this the first answer is no longer reckoned with. */
const FIRST_ANSWER_LIMIT_MS = 2_000;
/** Who leaves waits so long for an answer of a terminal that has answered: a screen full behind 9,600 baud. */
export const OWED_LIMIT_MS = 5_000;
/** And so long for a first one. */
const FIRST_OWED_LIMIT_MS = 150;

export interface RoundTrip {
  /** Whether what was sent is still on its way to a terminal that tells when it has come. */
  readonly isHolding: boolean;
  /** Whether an answer may still come. */
  readonly isOwed: boolean;
  /** Whether a question may be put behind what is sent. */
  readonly mayAsk: boolean;
  /** Where the question ends, counted in bytes sent. */
  readonly endsAt: number;
  asked(endsAt: number): void;
  answered(): void;
  /** The question did not go out, or nobody reads its answer. */
  withdraw(): void;
  /** Resolves when no answer is owed any more, or after `OWED_LIMIT_MS`. */
  whenNothingOwed(): Promise<void>;
}

/** `onOver`: the question is answered, or given up. */
export function createRoundTrip(onOver: () => void): RoundTrip {
  let hasAnswered = false;
  let hasAsked = false;
  let asking: { readonly at: number; readonly endsAt: number } | undefined;
  let limit: NodeJS.Timeout | undefined;
  let waiting: (() => void)[] = [];

  function over(): void {
    clearTimeout(limit);
    asking = undefined;
    for (const done of waiting) done();
    waiting = [];
    onOver();
  }

  const isOwed = (): boolean =>
    asking !== undefined && (hasAnswered || performance.now() - asking.at < FIRST_ANSWER_LIMIT_MS);

  return {
    get isHolding() {
      return hasAnswered && asking !== undefined;
    },
    get isOwed() {
      return isOwed();
    },
    get mayAsk() {
      return asking === undefined && (hasAnswered || !hasAsked);
    },
    get endsAt() {
      return asking?.endsAt ?? 0;
    },
    asked(endsAt) {
      hasAsked = true;
      asking = { at: performance.now(), endsAt };
      clearTimeout(limit);
      if (hasAnswered) limit = setTimeout(over, ANSWER_LIMIT_MS);
    },
    answered() {
      hasAnswered = true;
      over();
    },
    withdraw() {
      hasAsked = hasAnswered;
      if (asking !== undefined) over();
    },
    whenNothingOwed() {
      if (!isOwed()) return Promise.resolve();
      return new Promise((resolve) => {
        const timer = setTimeout(resolve, hasAnswered ? OWED_LIMIT_MS : FIRST_OWED_LIMIT_MS);
        waiting.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    },
  };
}

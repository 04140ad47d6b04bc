/**
 * Round trip to the terminal: a status query follows the output, and its answer confirms that the terminal has
 * processed everything before. The kernel alone does not reveal a slow line, since a pseudo-terminal and a secure shell
 * buffer as much as a 9,600 baud line transmits in half a minute.
 *
 * Source: ECMA-48, 8.3.35, DSR: `CSI 5 n` asks for the status, `CSI 0 n` means ready. At most one query is pending.
 * Until a terminal has answered once, a query delays nothing and is not repeated, so a terminal that never answers has
 * no cost.
 */

export const QUESTION = "\u001b[5n";
/** Time limit of an answer, in milliseconds, after an earlier one: a multiplexer may have attached another terminal. */
export const ANSWER_LIMIT_MS = 10_000;
/** Time limit of the first answer, in milliseconds. */
const FIRST_ANSWER_LIMIT_MS = 2_000;
/**
 * Maximum wait for a pending answer when leaving, in milliseconds, if the terminal has answered before: a full screen at 9,600
 * baud.
 */
export const OWED_LIMIT_MS = 5_000;
/** Maximum wait for a first answer when leaving, in milliseconds. */
const FIRST_OWED_LIMIT_MS = 150;

interface RoundTrip {
  /** Whether output is still on its way to a terminal that answers queries. */
  readonly isHolding: boolean;
  /** Whether an answer may still arrive. */
  readonly isOwed: boolean;
  /** Whether a query may follow the output. */
  readonly mayAsk: boolean;
  /** Position after the query, in bytes sent. */
  readonly endsAt: number;
  asked(endsAt: number): void;
  answered(): void;
  /** Cancels the query, which was not sent or whose answer nobody reads. */
  withdraw(): void;
  /** Resolves when no answer is expected, after at most `OWED_LIMIT_MS`. */
  whenNothingOwed(): Promise<void>;
}

/** Creates a round trip. `onOver` is called when the query was answered or abandoned. */
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

/**
 * Round trip to the terminal: a status query follows the output, and its answer confirms that the terminal has
 * processed everything before. The kernel alone does not reveal a slow line, since a pseudo-terminal and a secure shell
 * buffer as much as a 9,600 baud line transmits in half a minute.
 *
 * Source: ECMA-48, 8.3.35, DSR: `CSI 5 n` asks for the status, `CSI 0 n` means ready. At most one query is pending.
 * Until a terminal has answered once, a query delays nothing and is not repeated, so a terminal that never answers has
 * no cost.
 */

export const STATUS_QUERY = "\u001b[5n";
/** Time limit of an answer, in milliseconds, after an earlier one: a multiplexer may have attached another terminal. */
export const ANSWER_LIMIT_MS = 10_000;
/** Time limit of the first answer, in milliseconds. */
const FIRST_ANSWER_LIMIT_MS = 2_000;
/**
 * Maximum wait for a pending answer when leaving, in milliseconds, if the terminal has answered before: a full screen at 9,600
 * baud.
 */
export const PENDING_ANSWER_LIMIT_MS = 5_000;
/** Maximum wait for a first answer when leaving, in milliseconds. */
const PENDING_FIRST_ANSWER_LIMIT_MS = 150;

interface StatusRoundTrip {
  /** Whether output is still on its way to a terminal that answers queries. */
  readonly isAwaitingAnswer: boolean;
  /** Whether an answer may still arrive. */
  readonly isAnswerPending: boolean;
  /** Whether a query may follow the output. */
  readonly mayQuery: boolean;
  /** Position after the query, in bytes sent. */
  readonly queryEnd: number;
  asked(queryEnd: number): void;
  answered(): void;
  /** Cancels the query, which was not sent or whose answer nobody reads. */
  cancelQuery(): void;
  /** Resolves when no answer is expected, after at most `PENDING_ANSWER_LIMIT_MS`. */
  whenNoAnswerPending(): Promise<void>;
}

/** Creates a round trip. `onQueryEnded` is called when the query was answered or abandoned. */
export function createRoundTrip(onQueryEnded: () => void): StatusRoundTrip {
  let hasAnswered = false;
  let hasQueried = false;
  let pendingQuery: { readonly at: number; readonly queryEnd: number } | undefined;
  let limit: NodeJS.Timeout | undefined;
  let waiting: (() => void)[] = [];

  function finish(): void {
    clearTimeout(limit);
    pendingQuery = undefined;
    for (const done of waiting) done();
    waiting = [];
    onQueryEnded();
  }

  const isAnswerPending = (): boolean =>
    pendingQuery !== undefined && (hasAnswered || performance.now() - pendingQuery.at < FIRST_ANSWER_LIMIT_MS);

  return {
    get isAwaitingAnswer() {
      return hasAnswered && pendingQuery !== undefined;
    },
    get isAnswerPending() {
      return isAnswerPending();
    },
    get mayQuery() {
      return pendingQuery === undefined && (hasAnswered || !hasQueried);
    },
    get queryEnd() {
      return pendingQuery?.queryEnd ?? 0;
    },
    asked(queryEnd) {
      hasQueried = true;
      pendingQuery = { at: performance.now(), queryEnd };
      clearTimeout(limit);
      if (hasAnswered) limit = setTimeout(finish, ANSWER_LIMIT_MS);
    },
    answered() {
      hasAnswered = true;
      finish();
    },
    cancelQuery() {
      hasQueried = hasAnswered;
      if (pendingQuery !== undefined) finish();
    },
    whenNoAnswerPending() {
      if (!isAnswerPending()) return Promise.resolve();
      return new Promise((resolve) => {
        const timer = setTimeout(resolve, hasAnswered ? PENDING_ANSWER_LIMIT_MS : PENDING_FIRST_ANSWER_LIMIT_MS);
        waiting.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    },
  };
}

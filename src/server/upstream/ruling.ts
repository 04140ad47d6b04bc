/** What one attempt came to, and what follows from it: the rules of `retry` and `failover`. */
import { performance } from "node:perf_hooks";
import { GatewayError } from "../../base/index.ts";
import { headerValue, type Judge, NoServer } from "./attempt.ts";
import type { AnyCandidate, Attempted, AttemptResult, Forwarded, ForwardOptions } from "./candidates.ts";
import { type Move, nextMove, retryAfterMs, timeoutTrigger } from "./moves.ts";
import type { PresentedOutcome } from "./present.ts";
import type { Trigger } from "./provider.ts";
import { ErrorBody, type SaidError, saidIn } from "./said-error.ts";

const ANSWER: Move = { kind: "answer" };

/** Whose attempt it is. */
interface Turn {
  readonly candidate: AnyCandidate;
  readonly at: number;
  /** Attempts of the candidate before this one. */
  readonly repeated: number;
}

/** What one attempt came to, and what follows from it. */
export class Ruling<One extends AnyCandidate> implements Judge, Attempted {
  result: AttemptResult = "answered";
  status: number | null = null;
  move: Move = ANSWER;
  readonly acceptsFirstEvent: ((data: string) => boolean) | undefined;
  /** The candidate that `next` names, where the move is to it. */
  following: One | undefined;
  failedAfterMs = 0;
  error: (Partial<Pick<ErrorBody, "add" | "end">> & { readonly said: SaidError }) | undefined;
  readonly #begunAt = performance.now();
  readonly #options: ForwardOptions<One>;
  readonly #turn: Turn;
  readonly #startedAt: number;

  constructor(options: ForwardOptions<One>, turn: Turn, startedAt: number) {
    this.#options = options;
    this.#turn = turn;
    this.#startedAt = startedAt;
    const mayMove = turn.candidate.provider.retry !== undefined || options.candidates.mayHave(turn.at + 1);
    this.acceptsFirstEvent = mayMove ? (data) => this.#isFirstEvent(data) : undefined;
  }

  #isFirstEvent(data: string): boolean {
    const trigger = eventTrigger(data);
    if (trigger !== undefined) this.error = { said: saidIn(data) };
    return this.#isAnswer(trigger, undefined);
  }

  get next(): Forwarded | undefined {
    if (this.move.kind === "answer") return undefined;
    return this.move.kind === "retry" ? this.#turn.candidate.provider : this.following?.provider;
  }

  accepts(status: number, headers: readonly string[]): boolean {
    this.status = status;
    const trigger = statusTrigger(status);
    if (trigger !== undefined) this.error = new ErrorBody(headerValue(headers, "content-encoding"));
    return trigger === undefined || this.#isAnswer(trigger, namedWait(status, headers));
  }

  started(ms: number): void {
    if (this.result === "answered") this.#options.answered(ms);
  }

  /** The pool's picker answers in its stead: that is not repeated, and nobody stands in. */
  declined(status: 429 | 503): void {
    this.status = status;
    this.result = status === 429 ? "429" : "5xx";
    this.failedAfterMs = performance.now() - this.#begunAt;
  }

  failed(trigger: Trigger): void {
    this.#isAnswer(trigger, undefined);
  }

  #isAnswer(trigger: Trigger | undefined, retryAfterMs: number | undefined): boolean {
    if (trigger === undefined) return true;
    const { candidates, deadlineMs } = this.#options;
    this.result = trigger;
    this.failedAfterMs = performance.now() - this.#begunAt;
    const { candidate, at, repeated } = this.#turn;
    this.move = nextMove(
      { trigger, retryAfterMs },
      {
        retry: candidate.provider.retry,
        repeated,
        failoverWhen: candidates.failoverWhen,
        hasNext: () => {
          this.following = candidates.at(at + 1);
          return this.following !== undefined;
        },
        remainingMs: deadlineMs - (performance.now() - this.#startedAt),
        random: Math.random(),
      },
    );
    return this.move.kind === "answer";
  }
}

/** The refusal for an attempt that brought no answer; has `ruling` decide what comes next. */
export function failureOf(
  outcome: Exclude<PresentedOutcome, { readonly kind: "fault" }>,
  provider: Forwarded,
  failoverWhen: ReadonlySet<Trigger> | undefined,
  ruling: Pick<Ruling<AnyCandidate>, "failed" | "result" | "error">,
): GatewayError | undefined {
  if (outcome.kind === "unpresented") {
    const { error } = outcome;
    if (error.code !== "credential_unavailable") {
      ruling.result = "refused";
      return error;
    }
    // Another provider may have another credential.
    ruling.failed("connect");
    ruling.error = { said: { type: null, code: error.code } };
    return error;
  }
  const { noun = `Provider ${provider.name}` } = provider;
  if (outcome.kind === "unreachable") {
    ruling.failed("connect");
    const { cause } = outcome;
    return new GatewayError("upstream_unreachable", `${noun} could not be reached${whyNot(cause)}.`, { cause });
  }
  if (outcome.kind !== "timeout") return undefined;
  const trigger = timeoutTrigger(provider.retry, failoverWhen);
  ruling.failed(trigger);
  return trigger === "timeout"
    ? new GatewayError("upstream_timeout", `${noun} sent no answer in time.`)
    : new GatewayError("upstream_unreachable", `${noun} sent no answer in time.`);
}

/** What of it may be shown; with what ails this machine a provider has nothing to do. */
function whyNot(cause: Error): string {
  if (cause instanceof NoServer && cause.message !== "") return `: ${cause.message}`;
  const code = "code" in cause ? cause.code : undefined;
  return code === "EMFILE" || code === "ENFILE" ? ": the gateway has no file descriptors left, see `ulimit -n`" : "";
}

/** What an upstream's status is as a failure; undefined: it is none. */
export function statusTrigger(status: number): Trigger | undefined {
  if (status === 429) return "429";
  return status >= 500 ? "5xx" : undefined;
}

function namedWait(status: number, headers: readonly string[]): number | undefined {
  if (status !== 429) return undefined;
  const named = new Map<string, string>();
  for (const name of ["retry-after-ms", "retry-after", "date"]) {
    const value = headerValue(headers, name);
    if (value !== undefined) named.set(name, value);
  }
  return retryAfterMs(named, Date.now());
}

/** Error types of both dialects, in a first event, that another attempt may not meet (dialects reference, 10.1). */
const MOVING_ERRORS: ReadonlyMap<string, Trigger> = new Map([
  ["rate_limit_error", "429"],
  ["rate_limit_exceeded", "429"],
  ["overloaded_error", "5xx"],
  ["api_error", "5xx"],
  ["timeout_error", "5xx"],
  ["server_error", "5xx"],
  ["internal_error", "5xx"],
  ["service_unavailable_error", "5xx"],
  ["server_is_overloaded", "5xx"],
]);

function eventTrigger(data: string): Trigger | undefined {
  if (!data.includes('"error"')) return undefined;
  try {
    const { error } = JSON.parse(data) as { error?: { type?: unknown; code?: unknown } | null };
    if (typeof error !== "object" || error === null) return undefined;
    const byStatus = statusTrigger(Number(error.code));
    return byStatus ?? MOVING_ERRORS.get(String(error.type)) ?? MOVING_ERRORS.get(String(error.code));
  } catch {
    return undefined; // not JSON: none of our business
  }
}

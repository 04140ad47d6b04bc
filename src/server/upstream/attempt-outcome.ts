/** Decides what follows an attempt by its outcome: the rules of `retry` and `failover`. */
import { performance } from "node:perf_hooks";
import { GatewayError } from "../../base/index.ts";
import { errorInBody, errorInEvent } from "../core/dialects/index.ts";
import { ForwardProxyFault } from "../forward-proxy/index.ts";
import { type Inside, type Judge, NoServer } from "./attempt.ts";
import type { AnyCandidate, Attempted, AttemptResult, FailureKind, Forwarded, ForwardOptions } from "./candidates.ts";
import { headerValue } from "./header-value.ts";
import type { PresentedOutcome } from "./present.ts";
import type { Trigger } from "./provider.ts";
import { ErrorBody, type ProviderError, providerErrorIn } from "./provider-error.ts";
import { type NextStep, nextStep, retryAfterMs, timeoutTrigger } from "./retry-policy.ts";

const ANSWER: NextStep = { kind: "answer" };

/** Position of the attempt among the candidates. */
interface Turn {
  readonly candidate: AnyCandidate;
  readonly at: number;
  /** Number of earlier attempts at the candidate. */
  readonly repeated: number;
  /** Whether the gateway looks for an error within the answer of the attempt. */
  readonly checksForError: boolean;
}

/** Outcome of one attempt, and the decision that follows. */
export class Ruling<One extends AnyCandidate> implements Judge, Attempted {
  result: AttemptResult = "answered";
  status: number | null = null;
  move: NextStep = ANSWER;
  readonly inside: Judge["inside"];
  readonly mayMove: boolean;
  /** Next candidate; set for a failover. */
  following: One | undefined;
  failedAfterMs = 0;
  reason = "";
  hasTimedOut = false;
  hasErred = false;
  /** Refusal of the request; set if the upstream answered but its answer must not be sent. */
  refusal: GatewayError | undefined;
  error: (Partial<Pick<ErrorBody, "add" | "end">> & { readonly reported: ProviderError }) | undefined;
  readonly #begunAt = performance.now();
  readonly #options: ForwardOptions<One>;
  readonly #turn: Turn;
  readonly #startedAt: number;

  constructor(options: ForwardOptions<One>, turn: Turn, startedAt: number) {
    this.#options = options;
    this.#turn = turn;
    this.#startedAt = startedAt;
    this.mayMove = turn.candidate.provider.retry !== undefined || options.candidates.mayHave(turn.at + 1);
    this.inside = turn.checksForError ? this : undefined;
  }

  event(data: string): Inside {
    const found = errorInEvent(data);
    return found === undefined ? "answer" : this.#inside(found.status, data);
  }

  body(body: Buffer): Inside {
    const found = errorInBody(body);
    return found === undefined ? "answer" : this.#inside(found.status, body.toString("utf8"));
  }

  /** Handles an error that was found within an answer. */
  #inside(status: number, text: string): Inside {
    const trigger = statusTrigger(status);
    this.hasErred = true;
    if (trigger !== undefined) this.error = { reported: providerErrorIn(text) };
    return this.#isAnswer(trigger, undefined) ? status : "moves";
  }

  get next(): Forwarded | undefined {
    if (this.move.kind === "answer") return undefined;
    return this.move.kind === "retry" ? this.#turn.candidate.provider : this.following?.provider;
  }

  accepts(status: number, headers: readonly string[]): boolean {
    this.status = status;
    if (this.#isRefusedRedirect(status, headers)) return false;
    const trigger = statusTrigger(status);
    if (trigger !== undefined) this.error = new ErrorBody(headerValue(headers, "content-encoding"));
    return trigger === undefined || this.#isAnswer(trigger, namedWait(status, headers));
  }

  decoding(): void {
    this.#options.onDecoding?.();
  }

  started(ms: number): void {
    if (this.result === "answered") this.#options.onAnswer(ms);
  }

  /** Records that the pool's picker answered instead. No retry and no failover follow. */
  declined(status: 429 | 503): void {
    this.status = status;
    this.result = status === 429 ? "429" : "5xx";
    this.failedAfterMs = performance.now() - this.#begunAt;
  }

  /** Decides by `trigger` whether the request is retried or fails over. `result`: kind of failure that is reported. */
  failed(trigger: Trigger, result: FailureKind = trigger): void {
    this.#isAnswer(trigger, undefined);
    this.result = result;
  }

  /**
   * Returns whether to refuse a redirect. A client that followed it would send the request, and maybe its credential, past the
   * gateway.
   */
  #isRefusedRedirect(status: number, headers: readonly string[]): boolean {
    if (status < 300 || status > 399 || headerValue(headers, "location") === undefined) return false;
    const { provider, channel } = this.#turn.candidate;
    if (this.#options.passesRedirects && channel.credential === undefined) return false;
    this.result = "redirect";
    this.failedAfterMs = performance.now() - this.#begunAt;
    this.reason = `it answered ${status} with a \`location\``;
    this.refusal = new GatewayError(
      "upstream_redirect",
      `${nounOf(provider)} answered with a redirect (${status}), which is not followed or passed on: configure the address that it leads to.`,
    );
    return true;
  }

  #isAnswer(trigger: Trigger | undefined, retryAfterMs: number | undefined): boolean {
    if (trigger === undefined) return true;
    const { candidates, deadlineMs } = this.#options;
    this.result = trigger;
    this.failedAfterMs = performance.now() - this.#begunAt;
    const { candidate, at, repeated } = this.#turn;
    this.move = nextStep(
      { trigger, retryAfterMs },
      {
        retry: candidate.provider.retry,
        retries: repeated,
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

/** Returns the refusal for an attempt without an answer. `ruling` decides whether a retry or failover follows. */
export function failureOf(
  outcome: Exclude<PresentedOutcome, { readonly kind: "fault" }>,
  provider: Forwarded,
  failoverWhen: ReadonlySet<Trigger> | undefined,
  ruling: Pick<Ruling<AnyCandidate>, "failed" | "result" | "error" | "reason" | "hasTimedOut" | "refusal">,
): GatewayError | undefined {
  if (ruling.refusal !== undefined) return ruling.refusal;
  if (outcome.kind === "unpresented") {
    const { error } = outcome;
    if (error.code !== "credential_unavailable") {
      ruling.result = "refused";
      return error;
    }
    // Another provider may have a valid credential.
    ruling.failed("connect");
    ruling.error = { reported: { type: null, code: error.code } };
    return error;
  }
  const noun = nounOf(provider);
  if (outcome.kind === "invalid") {
    const { cause } = outcome;
    // The answer of another provider may be readable.
    ruling.failed("connect", "invalid");
    ruling.reason = cause.message;
    return new GatewayError("upstream_invalid", `${noun}'s answer could not be read: ${cause.message}.`, { cause });
  }
  if (outcome.kind === "unreachable") {
    ruling.failed("connect");
    const { cause } = outcome;
    return new GatewayError("upstream_unreachable", `${noun} could not be reached${whyNot(cause)}.`, { cause });
  }
  if (outcome.kind !== "timeout") return undefined;
  const trigger = timeoutTrigger(provider.retry, failoverWhen);
  ruling.failed(trigger);
  ruling.hasTimedOut = outcome.wasSent;
  return trigger === "timeout"
    ? new GatewayError("upstream_timeout", `${noun} sent no answer in time.`)
    : new GatewayError("upstream_unreachable", `${noun} sent no answer in time.`);
}

const nounOf = ({ name, noun = `Provider ${name}` }: Forwarded): string => noun;

/** Returns the part of the cause that may be shown. Causes on this machine are not the provider's fault. */
function whyNot(cause: Error): string {
  if (cause instanceof ForwardProxyFault) return `: ${cause.message}`;
  if (cause instanceof NoServer && cause.message !== "") return `: ${cause.message}`;
  const code = "code" in cause ? cause.code : undefined;
  return code === "EMFILE" || code === "ENFILE" ? ": the gateway has no file descriptors left, see `ulimit -n`" : "";
}

/** Returns the failure that an upstream's status stands for, or `undefined` if it is no failure. */
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

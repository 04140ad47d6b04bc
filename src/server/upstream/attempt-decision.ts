/** Decides what follows an attempt by its outcome: the rules of `retry` and `failover`. */
import { performance } from "node:perf_hooks";
import { connectionErrorText, GatewayError } from "../../base/index.ts";
import { errorInBody, errorInEvent } from "../core/dialects/index.ts";
import { ForwardProxyFault } from "../forward-proxy/index.ts";
import type { EmbeddedErrorResult, Judge } from "./attempt.ts";
import { NoServerError } from "./attempt-outcome.ts";
import type { CredentialAttemptOutcome } from "./attempt-with-credential.ts";
import type {
  AnyCandidate,
  AttemptReport,
  AttemptResult,
  FailureKind,
  ForwardOptions,
  ForwardTarget,
} from "./candidates.ts";
import { headerValue } from "./header-value.ts";
import type { Trigger } from "./provider.ts";
import { ErrorBody, type ProviderError, providerErrorIn } from "./provider-error.ts";
import { type NextStep, nextStep, retryAfterMs, timeoutTrigger } from "./retry-policy.ts";

const ANSWER: NextStep = { kind: "answer" };

/** Position of the attempt among the candidates. */
interface AttemptPosition {
  readonly candidate: AnyCandidate;
  readonly at: number;
  /** Number of earlier attempts at the candidate. */
  readonly retries: number;
  /** Whether the gateway looks for an error within the answer of the attempt. */
  readonly checksForError: boolean;
}

/** Outcome of one attempt, and the decision that follows. */
export class AttemptDecision<One extends AnyCandidate> implements Judge, AttemptReport {
  result: AttemptResult = "answered";
  status: number | null = null;
  nextStep: NextStep = ANSWER;
  readonly embeddedErrorCheck: Judge["embeddedErrorCheck"];
  readonly mayRetryOrFailOver: boolean;
  /** Next candidate; set for a failover. */
  nextCandidate: One | undefined;
  failedAfterMs = 0;
  reason = "";
  hasTimedOut = false;
  hasEmbeddedError = false;
  /** Refusal of the request; set if the upstream answered but its answer must not be sent. */
  refusal: GatewayError | undefined;
  error: (Partial<Pick<ErrorBody, "add" | "end">> & { readonly reported: ProviderError }) | undefined;
  readonly #begunAt = performance.now();
  readonly #options: ForwardOptions<One>;
  readonly #position: AttemptPosition;
  readonly #startedAt: number;

  constructor(options: ForwardOptions<One>, turn: AttemptPosition, startedAt: number) {
    this.#options = options;
    this.#position = turn;
    this.#startedAt = startedAt;
    this.mayRetryOrFailOver = turn.candidate.provider.retry !== undefined || options.candidates.mayExist(turn.at + 1);
    this.embeddedErrorCheck = turn.checksForError ? this : undefined;
  }

  event(data: string): EmbeddedErrorResult {
    const found = errorInEvent(data);
    return found === undefined ? "answer" : this.#handleEmbeddedError(found.status, data);
  }

  body(body: Buffer): EmbeddedErrorResult {
    const found = errorInBody(body);
    return found === undefined ? "answer" : this.#handleEmbeddedError(found.status, body.toString("utf8"));
  }

  /** Handles an error that was found within an answer. */
  #handleEmbeddedError(status: number, text: string): EmbeddedErrorResult {
    const trigger = statusTrigger(status);
    this.hasEmbeddedError = true;
    if (trigger !== undefined) this.error = { reported: providerErrorIn(text) };
    return this.#decideIsAnswer(trigger, undefined) ? status : "try-next";
  }

  get nextTarget(): ForwardTarget | undefined {
    if (this.nextStep.kind === "answer") return undefined;
    return this.nextStep.kind === "retry" ? this.#position.candidate.provider : this.nextCandidate?.provider;
  }

  accepts(status: number, headers: readonly string[]): boolean {
    this.status = status;
    if (this.#isRefusedRedirect(status, headers)) return false;
    const trigger = statusTrigger(status);
    if (trigger !== undefined) this.error = new ErrorBody(headerValue(headers, "content-encoding"));
    return trigger === undefined || this.#decideIsAnswer(trigger, requestedRetryMs(status, headers));
  }

  onDecoding(): void {
    this.#options.onDecoding?.();
  }

  onStart(ms: number): void {
    if (this.result === "answered") this.#options.onAnswer(ms);
  }

  /** Records that the pool's picker answered instead. No retry and no failover follow. */
  recordPickerAnswer(status: 429 | 503): void {
    this.status = status;
    this.result = status === 429 ? "429" : "5xx";
    this.failedAfterMs = performance.now() - this.#begunAt;
  }

  /** Decides by `trigger` whether the request is retried or fails over. `result`: kind of failure that is reported. */
  recordFailure(trigger: Trigger, result: FailureKind = trigger): void {
    this.#decideIsAnswer(trigger, undefined);
    this.result = result;
  }

  /**
   * Returns whether to refuse a redirect. A client that followed it would send the request, and maybe its credential, past the
   * gateway.
   */
  #isRefusedRedirect(status: number, headers: readonly string[]): boolean {
    if (status < 300 || status > 399 || headerValue(headers, "location") === undefined) return false;
    const { provider, channel } = this.#position.candidate;
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

  #decideIsAnswer(trigger: Trigger | undefined, retryAfterMs: number | undefined): boolean {
    if (trigger === undefined) return true;
    const { candidates, deadlineMs } = this.#options;
    this.result = trigger;
    this.failedAfterMs = performance.now() - this.#begunAt;
    const { candidate, at, retries } = this.#position;
    this.nextStep = nextStep(
      { trigger, retryAfterMs },
      {
        retry: candidate.provider.retry,
        retries,
        failoverWhen: candidates.failoverWhen,
        hasNext: () => {
          this.nextCandidate = candidates.at(at + 1);
          return this.nextCandidate !== undefined;
        },
        remainingMs: deadlineMs - (performance.now() - this.#startedAt),
        random: Math.random(),
      },
    );
    return this.nextStep.kind === "answer";
  }
}

/** Returns the refusal for an attempt without an answer. `decision` records whether a retry or failover follows. */
export function classifyFailure(
  outcome: Exclude<CredentialAttemptOutcome, { readonly kind: "fault" }>,
  provider: ForwardTarget,
  failoverWhen: ReadonlySet<Trigger> | undefined,
  decision: Pick<
    AttemptDecision<AnyCandidate>,
    "recordFailure" | "result" | "error" | "reason" | "hasTimedOut" | "refusal"
  >,
): GatewayError | undefined {
  if (decision.refusal !== undefined) return decision.refusal;
  if (outcome.kind === "no-credential") {
    const { error } = outcome;
    if (error.code !== "credential_unavailable") {
      decision.result = "refused";
      return error;
    }
    // Another provider may have a valid credential.
    decision.recordFailure("connect");
    decision.error = { reported: { type: null, code: error.code } };
    return error;
  }
  const noun = nounOf(provider);
  if (outcome.kind === "invalid") {
    const { cause } = outcome;
    // The answer of another provider may be readable.
    decision.recordFailure("connect", "invalid");
    decision.reason = cause.message;
    return new GatewayError("upstream_invalid", `${noun}'s answer could not be read: ${cause.message}.`, { cause });
  }
  if (outcome.kind === "unreachable") {
    decision.recordFailure("connect");
    const { cause } = outcome;
    const localCause = localCauseOf(cause);
    decision.reason = localCause ?? connectionErrorText(cause) ?? "";
    const addition = localCause === undefined ? "" : `: ${localCause}`;
    return new GatewayError("upstream_unreachable", `${noun} could not be reached${addition}.`, { cause });
  }
  if (outcome.kind !== "timeout") return undefined;
  const trigger = timeoutTrigger(provider.retry, failoverWhen);
  decision.recordFailure(trigger);
  decision.hasTimedOut = outcome.wasSent;
  return trigger === "timeout"
    ? new GatewayError("upstream_timeout", `${noun} sent no answer in time.`)
    : new GatewayError("upstream_unreachable", `${noun} sent no answer in time.`);
}

const nounOf = ({ name, noun = `Provider ${name}` }: ForwardTarget): string => noun;

/**
 * Returns a cause that is the gateway's or the configuration's, not the provider's; `undefined` for others. Clients see it too,
 * while other causes are shown to operators only.
 */
function localCauseOf(cause: Error): string | undefined {
  if (cause instanceof ForwardProxyFault) return cause.message;
  if (cause instanceof NoServerError && cause.message !== "") return cause.message;
  const code = "code" in cause ? cause.code : undefined;
  return code === "EMFILE" || code === "ENFILE"
    ? "the gateway has no file descriptors left, see `ulimit -n`"
    : undefined;
}

/** Returns the failure that an upstream's status stands for, or `undefined` if it is no failure. */
export function statusTrigger(status: number): Trigger | undefined {
  if (status === 429) return "429";
  return status >= 500 ? "5xx" : undefined;
}

function requestedRetryMs(status: number, headers: readonly string[]): number | undefined {
  if (status !== 429) return undefined;
  const named = new Map<string, string>();
  for (const name of ["retry-after-ms", "retry-after", "date"]) {
    const value = headerValue(headers, name);
    if (value !== undefined) named.set(name, value);
  }
  return retryAfterMs(named, Date.now());
}

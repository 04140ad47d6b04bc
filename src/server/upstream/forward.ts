/**
 * Carries a request to the first candidate that answers: retries at one provider, then failover to the next.
 *
 * Source: specification document 3, `providers[]`. Nothing moves once a byte has reached the client; the last
 * provider's own answer is returned, never an invented one; a 4xx other than 429 never moves.
 */
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { type AttemptSpan, type AttemptTracer, GatewayError } from "../../base/index.ts";
import type { ActingFor, Bearing, Presenter } from "../credentials/index.ts";
import { headerValue, type Judge, NoServer } from "./attempt.ts";
import { type Move, nextMove, retryAfterMs, timeoutTrigger } from "./moves.ts";
import type { Origins } from "./origins.ts";
import type { Downstream, UpstreamRequest } from "./ports.ts";
import type { PresentedOutcome } from "./present.ts";
import type { Provider, Trigger, UpstreamChannel } from "./provider.ts";
import { attemptRouted, deliver } from "./routed.ts";
import { ErrorBody, type SaidError, saidIn } from "./said-error.ts";

/** Whom attempts are made at: what of a provider, a server or an agent matters to them. */
export type Forwarded = Pick<Provider, "name" | "firstByteTimeoutMs" | "retry"> & {
  /** As a refusal calls it; undefined: a provider. */
  readonly noun?: string;
};

export type ForwardedChannel = Pick<UpstreamChannel, "id" | "origin" | "host" | "shownOrigin" | "credential"> & {
  readonly pool?: UpstreamChannel["pool"];
};

export interface Candidate<To extends Forwarded = Provider, By extends ForwardedChannel = UpstreamChannel> {
  readonly provider: To;
  readonly channel: By;
  /** As this provider is sent it; empty where the request names none. */
  readonly model: string;
  /** The part of a pool that it is confined to; undefined: none. */
  readonly subset?: string | undefined;
  /** Made when the candidate's turn comes, since most requests never reach the second. */
  readonly prepare: () => { readonly request: UpstreamRequest; readonly downstream: Downstream };
}

/** Who is asked, in order, counted from 0. All but the first are admitted when needed, since most requests need none. */
export interface Candidates<One = Candidate> {
  /** Undefined: there is none. There is a first one. */
  at(position: number): One | undefined;
  /** False: `at` answers undefined. */
  mayHave(position: number): boolean;
  /** Triggers of the provider that the request was addressed to, be it the first or one that is passed over. */
  readonly failoverWhen: ReadonlySet<Trigger> | undefined;
}

const ANSWER: Move = { kind: "answer" };

/** `refused`: there is nothing that could be presented for this caller, so that nothing was done. */
export type AttemptResult = "answered" | Trigger | "abandoned" | "refused";

/** The upstream failed, or could not be asked. */
export const isFailure = (result: AttemptResult): result is Trigger =>
  result !== "answered" && result !== "abandoned" && result !== "refused";

export interface Attempted {
  readonly result: AttemptResult;
  /** Null where no answer came. */
  readonly status: number | null;
  /** Who is to be asked next, the same provider for a retry. */
  readonly next: Forwarded | undefined;
  /** Milliseconds from the attempt's begin to its failure; 0 for one that did not fail. */
  readonly failedAfterMs: number;
  /** What the provider said of its error, of an answer that is not delivered only later; undefined: there was none. */
  readonly error: { readonly said: SaidError } | undefined;
}

export interface ForwardOptions<One extends Candidate<Forwarded, ForwardedChannel> = Candidate> {
  readonly candidates: Candidates<One>;
  /** Milliseconds from now that the client said it would wait; infinite where it said nothing. */
  readonly deadlineMs: number;
  readonly origins: Pick<Origins, "route">;
  /** By which others may tell what they logged of the request. */
  readonly requestId?: string | undefined;
  readonly presenter: Presenter;
  /** Whom what is presented may depend on. */
  readonly actingFor?: ActingFor | undefined;
  /** Told before each request goes out what tells the headers of its answer that show our credential. */
  readonly presented: (bears: Bearing | undefined) => void;
  readonly downstream: Downstream;
  /** Told of each attempt as it begins, so that the answer's headers can say how many there were and where. */
  readonly attempting: (candidate: One, isRetry: boolean) => void;
  /** Told when an answer that is no failure begins to reach the client, so many milliseconds after its attempt began. */
  readonly answered: (ms: number) => void;
  readonly attempted: (provider: One["provider"], outcome: Attempted) => void;
  /** Milliseconds spent waiting for upstreams or between attempts: none of it is ours. */
  readonly waited: (ms: number) => void;
  /** Undefined when nobody traces. */
  readonly tracer: AttemptTracer | undefined;
}

/** Resolves when the answer was delivered or the client left; throws the refusal when no candidate answered. */
type AnyCandidate = Candidate<Forwarded, ForwardedChannel>;

export async function forward<One extends AnyCandidate>(options: ForwardOptions<One>): Promise<void> {
  const { candidates, downstream } = options;
  const { failoverWhen } = candidates;
  const startedAt = Date.now();
  let failed: GatewayError | undefined;
  let following = candidates.at(0);
  for (let at = 0; following !== undefined; at++) {
    const candidate: One = following;
    const { provider } = candidate;
    following = undefined;
    const prepared = candidate.prepare();
    for (let repeated = 0; ; repeated++) {
      const ruling = new Ruling(options, { candidate, at, repeated }, startedAt);
      options.attempting(candidate, repeated > 0);
      const span = options.tracer && startSpan(options.tracer, candidate, prepared.request);
      const request = span === undefined ? prepared.request : carrying(span, prepared.request);
      const { channel, subset } = candidate;
      const to = { origins: options.origins, channel, subset, requestId: options.requestId };
      const outcome = await attemptRouted(to, request, prepared.downstream, {
        firstByteTimeoutMs: provider.firstByteTimeoutMs,
        judge: ruling,
        waited: options.waited,
        presenter: options.presenter,
        credential: candidate.channel.credential,
        host: candidate.channel.host,
        actingFor: options.actingFor,
        presented: options.presented,
      });
      failed = failureOf(outcome, provider, failoverWhen, ruling);
      if (outcome.kind === "abandoned") ruling.result = "abandoned";
      if (outcome.kind === "declined") ruling.declined(outcome.answer.status);
      span?.end(ruling.result, ruling.status);
      options.attempted(provider, ruling);
      if (outcome.kind === "delivered" || outcome.kind === "abandoned") return;
      if (outcome.kind === "declined") {
        options.presented(undefined);
        deliver(outcome.answer, prepared.downstream);
        return;
      }
      const { move } = ruling;
      if (move.kind === "retry" && !(await waitOut(move.waitMs, downstream, options.waited))) return;
      if (move.kind === "retry") continue;
      if (move.kind === "answer" && failed !== undefined) throw failed;
      following = ruling.following;
      break;
    }
  }
  throw failed ?? new GatewayError("upstream_unreachable", "No provider answered.");
}

function startSpan(
  tracer: AttemptTracer,
  { provider, channel }: AnyCandidate,
  { method }: UpstreamRequest,
): AttemptSpan {
  return tracer.attempt({ method, provider: provider.name, channel: channel.id, origin: channel.shownOrigin });
}

function carrying(span: AttemptSpan, { method, path, headers, body }: UpstreamRequest): UpstreamRequest {
  return { method, path, headers: span.carry(headers), body };
}

/** Whose attempt it is. */
interface Turn {
  readonly candidate: AnyCandidate;
  readonly at: number;
  /** Attempts of the candidate before this one. */
  readonly repeated: number;
}

/** What one attempt came to, and what follows from it. */
class Ruling<One extends AnyCandidate> implements Judge, Attempted {
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
        remainingMs: deadlineMs - (Date.now() - this.#startedAt),
        random: Math.random(),
      },
    );
    return this.move.kind === "answer";
  }
}

/** The refusal for an attempt that brought no answer; has `ruling` decide what comes next. */
function failureOf(
  outcome: PresentedOutcome,
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
  for (const name of ["retry-after-ms", "retry-after"]) {
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

/** False when the client left meanwhile. */
async function waitOut(waitMs: number, downstream: Downstream, waited: (ms: number) => void): Promise<boolean> {
  const leaving = new AbortController();
  downstream.onGone(() => leaving.abort());
  try {
    await sleep(waitMs, undefined, { signal: leaving.signal });
    waited(waitMs);
  } catch {
    return false; // aborted, which is all that a timer can fail with
  } finally {
    downstream.onGone(undefined);
  }
  return !downstream.gone;
}

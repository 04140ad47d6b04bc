/**
 * Makes one attempt with its credential. The headers are built for the bytes that are sent. If the answer shows that the
 * credential is no longer valid, the request is sent once more with a new one. Source: design decisions, section 13.
 */
import { performance } from "node:perf_hooks";
import { asRefusal, GatewayError } from "../../base/index.ts";
import type {
  ContainsCredential,
  Credential,
  PresentedCredential,
  PresentedJudge,
  PresentedVerdict,
  Presenter,
  RequestCaller,
} from "../credentials/index.ts";
import { type AttemptOptions, type AttemptOutcome, attempt, type Judge } from "./attempt.ts";
import { headerValue } from "./header-value.ts";
import type { Downstream, UpstreamRequest } from "./ports.ts";
import type { Route } from "./server.ts";

export interface PresentingOptions extends AttemptOptions {
  readonly presenter: Presenter;
  /** Credential to present; `undefined` if the client's own is forwarded, or none is presented. */
  readonly credential: Credential | undefined;
  /** Value of the `host` header. */
  readonly host: string;
  readonly actingFor: RequestCaller | undefined;
  /** Called before the request is sent. */
  readonly presented: (bears: ContainsCredential | undefined) => void;
}

export type PresentedOutcome =
  | AttemptOutcome
  /** No credential is available: nothing was sent, or the credential that was sent was refused. */
  | { readonly kind: "unpresented"; readonly error: GatewayError }
  /** The gateway failed internally. */
  | { readonly kind: "fault"; readonly error: unknown };

/** Receives the outcome once. Must not throw. */
export type Over = (outcome: PresentedOutcome) => void;

const ABANDONED: AttemptOutcome = { kind: "abandoned" };

/** Makes the attempt. It uses no promise if the credential is available and every answer is final. */
export function attemptPresenting(
  route: Route,
  request: UpstreamRequest,
  downstream: Downstream,
  options: PresentingOptions,
  over: Over,
): void {
  if (options.credential === undefined) {
    options.presented(undefined);
    attempt(route, request, downstream, options, over);
    return;
  }
  const found = presentFor(request, options.credential, options);
  if (found instanceof GatewayError) over({ kind: "unpresented", error: found });
  else if (found instanceof Promise || found.judge !== undefined) {
    attemptJudged(found, { route, request, downstream }, options.credential, options).then(over, faulty(over));
  } else {
    options.presented(found.containsCredential);
    attempt(route, bearing(request, found), downstream, options, over);
  }
}

export const faulty =
  (over: Over) =>
  (error: unknown): void =>
    over({ kind: "fault", error });

interface Attempting {
  readonly route: Route;
  readonly request: UpstreamRequest;
  readonly downstream: Downstream;
}

async function attemptJudged(
  first: PresentedCredential | Promise<PresentedCredential>,
  { route, request, downstream }: Attempting,
  credential: Credential,
  options: PresentingOptions,
): Promise<PresentedOutcome> {
  const { firstByteTimeoutMs, decodes, mapsErrors, retypes, holdMs, waited } = options;
  let found: PresentedCredential | Promise<PresentedCredential> | GatewayError = first;
  const attemptOnce = (outgoing: UpstreamRequest, judged: AttemptOptions): Promise<AttemptOutcome> =>
    new Promise((resolve) => attempt(route, outgoing, downstream, judged, resolve));
  for (let isRepeat = false; ; isRepeat = true) {
    const ready = found instanceof Promise ? await whileThere(found, downstream, waited).catch(asRefusal) : found;
    if (ready instanceof GatewayError) return { kind: "unpresented", error: ready };
    if (ready === undefined) return ABANDONED;
    options.presented(ready.containsCredential);
    const outgoing = bearing(request, ready);
    if (ready.judge === undefined) return attemptOnce(outgoing, options);
    const judge = new PresentedAnswer(options.judge, ready.judge, isRepeat);
    const judged = { firstByteTimeoutMs, decodes, mapsErrors, retypes, holdMs, waited, judge };
    const outcome = await attemptOnce(outgoing, judged);
    if (!judge.isRefused) return outcome;
    ready.judge.onRepeat();
    found = presentFor(request, credential, options);
  }
}

function presentFor(
  { method, path, headers, body }: UpstreamRequest,
  credential: Credential,
  { presenter, host, actingFor }: PresentingOptions,
): PresentedCredential | Promise<PresentedCredential> | GatewayError {
  try {
    return presenter.present(credential, { method, path, host, headers, body }, actingFor);
  } catch (error) {
    return asRefusal(error);
  }
}

const bearing = ({ method, path, body }: UpstreamRequest, { headers }: PresentedCredential): UpstreamRequest => ({
  method,
  path,
  headers,
  body,
});

/** Judge that checks whether the credential was refused, and otherwise leaves the decision to the actual judge. */
class PresentedAnswer implements Judge {
  isRefused = false;
  readonly #judge: Judge;
  readonly #presented: PresentedJudge;
  readonly #isRepeat: boolean;

  constructor(judge: Judge, presented: PresentedJudge, isRepeat: boolean) {
    this.#judge = judge;
    this.#presented = presented;
    this.#isRepeat = isRepeat;
  }

  get error(): Judge["error"] {
    return this.#judge.error;
  }

  get inside(): Judge["inside"] {
    return this.#judge.inside;
  }

  get mayMove(): boolean {
    return this.#judge.mayMove;
  }

  accepts(status: number, headers: readonly string[]): boolean | "read" {
    const verdict = this.#presented.judgeHeaders(status, (name) => headerValue(headers, name), this.#isRepeat);
    if (this.#refuses(verdict)) return false;
    const isAccepted = this.#judge.accepts(status, headers);
    return isAccepted === true && verdict === "read" ? "read" : isAccepted;
  }

  readonly acceptsBody = (body: string): boolean => !this.#refuses(this.#presented.judgeBody(body));

  decoding(): void {
    this.#judge.decoding();
  }

  started(ms: number): void {
    this.#judge.started(ms);
  }

  #refuses(verdict: PresentedVerdict | "read"): boolean {
    this.isRefused = verdict === "again" && !this.#isRepeat;
    return this.isRefused;
  }
}

/**
 * Waits for `awaited`. Resolves to `undefined` if the client has left; the awaited work continues, because other requests share
 * it.
 */
export async function whileThere<Value>(
  awaited: Promise<Value>,
  downstream: Downstream,
  waited: (ms: number) => void,
): Promise<Value | undefined> {
  if (downstream.isGone) return undefined;
  const begunAt = performance.now();
  try {
    return await new Promise<Value | undefined>((resolve, reject) => {
      downstream.onGone(() => resolve(undefined));
      awaited.then(resolve, reject);
    });
  } finally {
    downstream.onGone(undefined);
    waited(performance.now() - begunAt);
  }
}

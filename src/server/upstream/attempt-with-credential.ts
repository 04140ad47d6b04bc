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
import { type AttemptOptions, attempt, type Judge } from "./attempt.ts";
import type { AttemptOutcome } from "./attempt-outcome.ts";
import { headerValue } from "./header-value.ts";
import type { Downstream, UpstreamRequest } from "./ports.ts";
import type { Route } from "./server.ts";

export interface CredentialAttemptOptions extends AttemptOptions {
  readonly presenter: Presenter;
  /** Credential to present; `undefined` if the client's own is forwarded, or none is presented. */
  readonly credential: Credential | undefined;
  /** Value of the `host` header. */
  readonly host: string;
  readonly actingFor: RequestCaller | undefined;
  /** Called before the request is sent. */
  readonly onPresented: (containsCredential: ContainsCredential | undefined) => void;
}

export type CredentialAttemptOutcome =
  | AttemptOutcome
  /** No credential is available: nothing was sent, or the credential that was sent was refused. */
  | { readonly kind: "no-credential"; readonly error: GatewayError }
  /** The gateway failed internally. */
  | { readonly kind: "fault"; readonly error: unknown };

/** Receives the outcome once. Must not throw. */
export type OutcomeCallback = (outcome: CredentialAttemptOutcome) => void;

const ABANDONED: AttemptOutcome = { kind: "abandoned" };

/** Makes the attempt. It uses no promise if the credential is available and every answer is final. */
export function attemptWithCredential(
  route: Route,
  request: UpstreamRequest,
  downstream: Downstream,
  options: CredentialAttemptOptions,
  onOutcome: OutcomeCallback,
): void {
  if (options.credential === undefined) {
    options.onPresented(undefined);
    attempt(route, request, downstream, options, onOutcome);
    return;
  }
  const found = presentFor(request, options.credential, options);
  if (found instanceof GatewayError) onOutcome({ kind: "no-credential", error: found });
  else if (found instanceof Promise || found.judge !== undefined) {
    attemptJudged(found, { route, request, downstream }, options.credential, options).then(
      onOutcome,
      faultReporter(onOutcome),
    );
  } else {
    options.onPresented(found.containsCredential);
    attempt(route, withHeaders(request, found), downstream, options, onOutcome);
  }
}

export const faultReporter =
  (onOutcome: OutcomeCallback) =>
  (error: unknown): void =>
    onOutcome({ kind: "fault", error });

interface AttemptTarget {
  readonly route: Route;
  readonly request: UpstreamRequest;
  readonly downstream: Downstream;
}

async function attemptJudged(
  first: PresentedCredential | Promise<PresentedCredential>,
  { route, request, downstream }: AttemptTarget,
  credential: Credential,
  options: CredentialAttemptOptions,
): Promise<CredentialAttemptOutcome> {
  const { firstByteTimeoutMs, decodes, mapsErrors, correctsContentType, holdMs, onWait } = options;
  let found: PresentedCredential | Promise<PresentedCredential> | GatewayError = first;
  const attemptOnce = (outgoing: UpstreamRequest, judged: AttemptOptions): Promise<AttemptOutcome> =>
    new Promise((resolve) => attempt(route, outgoing, downstream, judged, resolve));
  for (let isRepeat = false; ; isRepeat = true) {
    const ready =
      found instanceof Promise ? await waitUnlessClientLeaves(found, downstream, onWait).catch(asRefusal) : found;
    if (ready instanceof GatewayError) return { kind: "no-credential", error: ready };
    if (ready === undefined) return ABANDONED;
    options.onPresented(ready.containsCredential);
    const outgoing = withHeaders(request, ready);
    if (ready.judge === undefined) return attemptOnce(outgoing, options);
    const judge = new CredentialJudge(options.judge, ready.judge, isRepeat);
    const judged = { firstByteTimeoutMs, decodes, mapsErrors, correctsContentType, holdMs, onWait, judge };
    const outcome = await attemptOnce(outgoing, judged);
    if (!judge.isRefused) return outcome;
    ready.judge.onRepeat();
    found = presentFor(request, credential, options);
  }
}

function presentFor(
  { method, path, headers, body }: UpstreamRequest,
  credential: Credential,
  { presenter, host, actingFor }: CredentialAttemptOptions,
): PresentedCredential | Promise<PresentedCredential> | GatewayError {
  try {
    return presenter.present(credential, { method, path, host, headers, body }, actingFor);
  } catch (error) {
    return asRefusal(error);
  }
}

const withHeaders = ({ method, path, body }: UpstreamRequest, { headers }: PresentedCredential): UpstreamRequest => ({
  method,
  path,
  headers,
  body,
});

/** Judge that checks whether the credential was refused, and otherwise leaves the decision to the actual judge. */
class CredentialJudge implements Judge {
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

  get embeddedErrorCheck(): Judge["embeddedErrorCheck"] {
    return this.#judge.embeddedErrorCheck;
  }

  get mayRetryOrFailOver(): boolean {
    return this.#judge.mayRetryOrFailOver;
  }

  accepts(status: number, headers: readonly string[]): boolean | "read" {
    const verdict = this.#presented.judgeHeaders(status, (name) => headerValue(headers, name), this.#isRepeat);
    if (this.#refuses(verdict)) return false;
    const isAccepted = this.#judge.accepts(status, headers);
    return isAccepted === true && verdict === "read" ? "read" : isAccepted;
  }

  readonly acceptsBody = (body: string): boolean => !this.#refuses(this.#presented.judgeBody(body));

  onDecoding(): void {
    this.#judge.onDecoding();
  }

  onStart(ms: number): void {
    this.#judge.onStart(ms);
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
export async function waitUnlessClientLeaves<Value>(
  awaited: Promise<Value>,
  downstream: Downstream,
  onWait: (ms: number) => void,
): Promise<Value | undefined> {
  if (downstream.isGone) {
    awaited.catch(() => undefined); // A failure concerns nobody any more.
    return undefined;
  }
  const begunAt = performance.now();
  try {
    return await new Promise<Value | undefined>((resolve, reject) => {
      downstream.onGone(() => resolve(undefined));
      awaited.then(resolve, reject);
    });
  } finally {
    downstream.onGone(undefined);
    onWait(performance.now() - begunAt);
  }
}

/**
 * Reads the usage of one request from its answer as it passes, and charges it once.
 *
 *   answer                                        charge
 *   2xx with usage                                that usage
 *   2xx without, on a route that always has it    the reservation; counted as missing
 *   2xx without, where usage is optional          nothing
 *   impossible usage                              its plausible part, but at least the reservation
 *   error status                                  the reported usage, if any
 *   stream that ends with its own error           the reported usage, otherwise one token per event
 *   broken off, or the client left                the known usage, otherwise the reservation or one token per event,
 *                                                 whichever is more
 *   failed, and another attempt followed          the known usage, if any
 *   timed out before an answer                    the estimated input
 *   never sent                                    nothing
 *
 * Source: design decisions, section 6; lessons P12 to P16.
 */
import { STREAM_CHARGE_TOKENS } from "../../core/budgets/index.ts";
import {
  type BodyUsage,
  createBodyUsage,
  createStreamUsage,
  type Dialect,
  errorInEvent,
  NO_USAGE,
  type Route,
  type StreamUsage,
  type Usage,
} from "../../core/dialects/index.ts";
import { type AttemptResult, headerValue, type Provider } from "../../upstream/index.ts";
import type { Charge } from "../budgets/index.ts";
import type { Doubt, UsageMetrics } from "./metrics.ts";
import type { Meter, MeteredParts, UsageAccount } from "./types.ts";

/** Maximum number of events in a stream that contain no tokens: roles, starts and stops of blocks, pings. */
const MAX_EVENTS_WITHOUT_TOKENS = 8;

interface MeterOptions {
  /** Charge of the request; `undefined` if it is counted but not charged. */
  readonly charge: Charge | undefined;
  readonly route: Pick<Route, "name" | "usage">;
  /** Label of the model: a name or pattern of the configuration. */
  readonly label: string;
  readonly metrics: UsageMetrics;
  /** Receives the cost units charged for the attempts at each provider. */
  readonly onUnits: (provider: string, units: number) => void;
  /** Receives usage as it is counted. */
  readonly onUsage?: (usage: Usage) => void;
  readonly account?: UsageAccount | undefined;
}

/** State of an attempt. */
interface Attempt {
  readonly provider: string;
  readonly model: string;
  /** Dialect of the answer. */
  readonly dialect: Dialect;
  result: AttemptResult | undefined;
  hasTimedOut: boolean;
  /** Status of an answer that is sent to the client. */
  status: number | undefined;
  isEnded: boolean;
  isBroken: boolean;
  /** Whether the answer itself reported a failure. */
  hasEmbeddedError: boolean;
  stream: StreamUsage | undefined;
  /** Number of events of the stream so far. */
  events: number;
  body: BodyUsage | undefined;
  /** Total tokens charged last while streaming. */
  chargedTokens: number | undefined;
}

export function createMeter(options: MeterOptions): Meter {
  return new AttemptMeter(options);
}

/** This is a class because one is created per request: methods of an object literal would be created each time. */
class AttemptMeter implements Meter {
  readonly #options: MeterOptions;
  #attempt: Attempt | undefined;
  /** Cost units already reported to `onUnits`. */
  #reportedUnits = 0;
  #isClosed = false;

  constructor(options: MeterOptions) {
    this.#options = options;
  }

  get usage(): Usage | undefined {
    return this.#attempt && usageOf(this.#attempt);
  }

  beginAttempt({ name }: Pick<Provider, "name">, model: string, dialect: Dialect): void {
    this.#count();
    this.#attempt = {
      provider: name,
      model,
      dialect,
      result: undefined,
      hasTimedOut: false,
      status: undefined,
      isEnded: false,
      isBroken: false,
      hasEmbeddedError: false,
      stream: undefined,
      events: 0,
      body: undefined,
      chargedTokens: undefined,
    };
    this.#options.charge?.attempt({ model, backend: name });
  }

  beginAnswer(status: number, headers: readonly string[]): MeteredParts {
    const attempt = this.#attempt;
    if (attempt === undefined) return "nothing";
    attempt.status = status;
    if (this.#options.route.usage === "none" || isEncoded(headers)) return "nothing";
    const type = headerValue(headers, "content-type")?.toLowerCase() ?? "";
    if (type.startsWith("text/event-stream")) {
      attempt.stream = createStreamUsage(attempt.dialect, this.#options.route.name);
      return "events";
    }
    if (!type.includes("json")) return "nothing";
    attempt.body = createBodyUsage(attempt.dialect);
    return "bytes";
  }

  readEvent(data: string): void {
    const attempt = this.#attempt;
    if (attempt?.stream === undefined) return;
    attempt.events++;
    if (reportsFailure(data, attempt.events)) attempt.hasEmbeddedError = true;
    if (attempt.stream.read(data)) this.#chargeStream(attempt.stream.usage);
  }

  countEvents(events: number): void {
    if (this.#attempt !== undefined) this.#attempt.events += events;
  }

  readBytes(chunk: Buffer): void {
    const attempt = this.#attempt;
    if (attempt === undefined) return;
    attempt.body?.push(chunk);
    if (MAY_USE_NOTHING.has(this.#options.route.name) && isFailedResponse(chunk)) attempt.hasEmbeddedError = true;
  }

  endAnswer(): void {
    if (this.#attempt !== undefined) this.#attempt.isEnded = true;
  }

  breakAnswer(): void {
    if (this.#attempt !== undefined) this.#attempt.isBroken = true;
  }

  endAttempt(result: AttemptResult, how?: { readonly hasTimedOut: boolean; readonly hasEmbeddedError: boolean }): void {
    if (this.#attempt === undefined) return;
    this.#attempt.result = result;
    this.#attempt.hasTimedOut = how?.hasTimedOut === true;
    this.#attempt.hasEmbeddedError ||= how?.hasEmbeddedError === true;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#charge();
    this.#count();
  }

  /** Charges the first known usage of a stream, and later usage each time it has grown enough to be worth a price calculation. */
  #chargeStream(usage: Usage | undefined): void {
    const attempt = this.#attempt;
    const { charge } = this.#options;
    if (charge === undefined || attempt === undefined || usage === undefined) return;
    const { chargedTokens } = attempt;
    if (chargedTokens !== undefined && usage.totalTokens < chargedTokens + STREAM_CHARGE_TOKENS) return;
    attempt.chargedTokens = usage.totalTokens;
    charge.spend(usage);
  }

  /** Settles the reservation by the outcome and usage of the last attempt. */
  #charge(): void {
    const { charge, route, metrics } = this.#options;
    const attempt = this.#attempt;
    if (attempt === undefined) {
      charge?.release();
      return;
    }
    const usage = usageOf(attempt);
    const outcome = outcomeOf(attempt);
    const doubt = doubtOf(attempt, usage, { route, isComplete: outcome === "complete" });
    if (doubt !== undefined) metrics.countDoubt(attempt.provider, route.name, doubt);
    switch (outcome) {
      case "complete":
        this.#settleComplete(attempt, usage, doubt);
        return;
      case "interrupted":
        if (doubt === "impossible") charge?.settleDoubtful(usage);
        else charge?.abort(usage, minimumUsageOf(attempt));
        return;
      case "erred": {
        // An error may come with counts that are all zero, and then it used nothing.
        const used = usage === undefined || usage.totalTokens === 0 ? minimumUsageOf(attempt) : usage;
        if (doubt === "impossible") charge?.settleDoubtful(usage);
        else if (used === undefined) charge?.release();
        else charge?.abort(used);
        return;
      }
      case "timed out":
        charge?.settleTimedOut();
        return;
      case "failed":
        charge?.release();
    }
  }

  /** Charges a whole answer, and counts it if its usage should have been reported and was not. */
  #settleComplete(attempt: Attempt, usage: Usage | undefined, doubt: ReturnType<typeof doubtOf>): void {
    const { charge, route, metrics } = this.#options;
    if (doubt === "impossible" || doubt === "nothing") charge?.settleDoubtful(usage);
    else if (usage === undefined && route.usage !== "always") charge?.settleUnused();
    else if (attempt.stream === undefined || attempt.stream.isFinal) charge?.settle(usage);
    else charge?.abort(usage); // a stream without its final count has reported only a part of its usage
    if (doubt === undefined && route.usage === "always" && isMissing(attempt, usage)) {
      metrics.countMissing(attempt.provider, route.name);
    }
  }

  /** Reports the usage of the last attempt to metrics, ledger and statistics. */
  #count(): void {
    const attempt = this.#attempt;
    if (attempt === undefined) return;
    const { charge, label, route, metrics, onUnits, onUsage, account } = this.#options;
    const usage = usageOf(attempt);
    if (account !== undefined && attempt.stream !== undefined && isMissing(attempt, usage)) {
      const isUsageExpected = route.usage === "always" || outcomeOf(attempt) === "interrupted";
      if (isUsageExpected) account.countUnmeasured(attempt);
    }
    if (usage !== undefined) {
      metrics.addUsage(attempt.provider, label, usage);
      onUsage?.(usage);
      account?.addUsage(usage, attempt);
    }
    const units = (charge?.spent ?? 0) - this.#reportedUnits;
    if (units <= 0) return;
    this.#reportedUnits += units;
    onUnits(attempt.provider, units);
    account?.addUnits(units, attempt);
  }
}

/**
 * Returns the outcome of an attempt. `failed`: there is no answer that is charged. `interrupted`: the answer broke off, so the
 * rest of its usage is unknown. `erred`: the answer reported a failure. `timed out`: no answer came, although the provider may
 * have processed the input.
 */
function outcomeOf({ status, result, hasTimedOut, hasEmbeddedError, isEnded, isBroken }: Attempt): Outcome {
  if (status !== undefined && (hasEmbeddedError || !isSuccess(status))) return "erred";
  if (status !== undefined && isEnded && !isBroken) return "complete";
  if (status === undefined && hasTimedOut) return "timed out";
  const hasFailed = result !== undefined && result !== "answered" && result !== "abandoned";
  return status === undefined && hasFailed ? "failed" : "interrupted";
}

type Outcome = "complete" | "interrupted" | "erred" | "timed out" | "failed";

/** Returns a lower bound of the output: each event of a stream has at least one token, except for `MAX_EVENTS_WITHOUT_TOKENS` events. */
function minimumUsageOf({ events }: Attempt): Usage | undefined {
  const tokens = events - MAX_EVENTS_WITHOUT_TOKENS;
  return tokens > 0 ? { ...NO_USAGE, outputTokens: tokens, totalTokens: tokens } : undefined;
}

/** Returns whether an event reports a failure: the failed event of a response, or an error in any other stream. */
const reportsFailure = (data: string, events: number): boolean =>
  (events === 1 || data.includes('"error"')) && (FAILED_EVENT.test(data) || errorInEvent(data) !== undefined);

const FAILED_EVENT = /"type"\s*:\s*"response\.failed"/;
/** Markers of a failed response. Texts in an answer cannot match, because their quotes are escaped. */
const FAILED_RESPONSES = ['"status":"failed"', '"status": "failed"'];
const isFailedResponse = (chunk: Buffer): boolean => FAILED_RESPONSES.some((text) => chunk.includes(text));

const isMissing = ({ stream }: Attempt, usage: Usage | undefined): boolean =>
  usage === undefined || stream?.isFinal === false;

/** Routes on which an answer with status 200 can still report a failure, and may then have used nothing. */
const MAY_USE_NOTHING: ReadonlySet<string> = new Set(["responses", "responses_compact"]);

function doubtOf(
  { stream, body, events }: Attempt,
  usage: Usage | undefined,
  { route, isComplete }: { readonly route: MeterOptions["route"]; readonly isComplete: boolean },
): Doubt | undefined {
  if ((stream ?? body)?.isDoubtful === true) return "impossible";
  if (stream?.hasShrunk === true) return "shrank";
  if (!isComplete || usage?.totalTokens !== 0 || route.usage !== "always") return undefined;
  if (stream !== undefined) return events > MAX_EVENTS_WITHOUT_TOKENS ? "nothing" : undefined;
  return MAY_USE_NOTHING.has(route.name) ? undefined : "nothing";
}

const usageOf = ({ stream, body }: Attempt): Usage | undefined => stream?.usage ?? body?.end();

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/** Returns whether the answer has a content encoding, which the meter cannot read. */
function isEncoded(headers: readonly string[]): boolean {
  const encoding = headerValue(headers, "content-encoding");
  return encoding !== undefined && encoding.toLowerCase() !== "identity";
}

/**
 * Reads what one request used from its answer as it passes, and charges it once.
 *
 *   answered 2xx with usage            that usage
 *   answered 2xx without, it should    what was reserved, and it is counted as missing
 *   answered 2xx without, it may       nothing
 *   told what cannot be                what is left of it, and no less than what was reserved
 *   answered with an error             what it told, else nothing
 *   ended by an error of its own       what it told, else a token an event
 *   broken off, or the client left     what is known, else what was reserved, or a token an event where that is more
 *   moved on from                      what is known, else nothing
 *   timed out before an answer         its input, as it was estimated
 *   never sent                         nothing
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
import type { Account, Meter, Shown } from "./types.ts";

/** Roles, starts and stops of blocks, pings. */
const EVENTS_AROUND = 8;

export interface MeterOptions {
  /** Undefined: counted, and nobody pays. */
  readonly charge: Charge | undefined;
  readonly route: Pick<Route, "name" | "usage">;
  /** Of the model: a name or pattern of the configuration. */
  readonly label: string;
  readonly metrics: UsageMetrics;
  /** Told of each provider what its attempts were charged, in cost units. */
  readonly spent: (provider: string, units: number) => void;
  /** Told of usage as it is counted. */
  readonly counted?: (usage: Usage) => void;
  readonly account?: Account | undefined;
}

/** An attempt as far as it has come. */
interface Attempt {
  readonly provider: string;
  readonly model: string;
  /** Of its answer. */
  readonly dialect: Dialect;
  result: AttemptResult | undefined;
  hasTimedOut: boolean;
  /** Of an answer that goes to the client. */
  status: number | undefined;
  isEnded: boolean;
  isBroken: boolean;
  /** It said itself that it failed. */
  hasErred: boolean;
  stream: StreamUsage | undefined;
  /** Of the stream so far. */
  events: number;
  body: BodyUsage | undefined;
  /** Of the usage that was charged last, as it flowed. */
  chargedTokens: number | undefined;
}

export function createMeter(options: MeterOptions): Meter {
  return new AttemptMeter(options);
}

/** A class, since there is one for each request: its methods are made once. */
class AttemptMeter implements Meter {
  readonly #options: MeterOptions;
  #attempt: Attempt | undefined;
  /** Units that were told to `spent`. */
  #told = 0;
  #isClosed = false;

  constructor(options: MeterOptions) {
    this.#options = options;
  }

  get usage(): Usage | undefined {
    return this.#attempt && usageOf(this.#attempt);
  }

  attempting({ name }: Pick<Provider, "name">, model: string, dialect: Dialect): void {
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
      hasErred: false,
      stream: undefined,
      events: 0,
      body: undefined,
      chargedTokens: undefined,
    };
    this.#options.charge?.attempt({ model, backend: name });
  }

  started(status: number, headers: readonly string[]): Shown {
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

  event(data: string): void {
    const attempt = this.#attempt;
    if (attempt?.stream === undefined) return;
    attempt.events++;
    if (tellsFailure(data, attempt.events)) attempt.hasErred = true;
    if (attempt.stream.read(data)) this.#flow(attempt.stream.usage);
  }

  passed(events: number): void {
    if (this.#attempt !== undefined) this.#attempt.events += events;
  }

  bytes(chunk: Buffer): void {
    const attempt = this.#attempt;
    if (attempt === undefined) return;
    attempt.body?.push(chunk);
    if (MAY_USE_NOTHING.has(this.#options.route.name) && isFailedResponse(chunk)) attempt.hasErred = true;
  }

  ended(): void {
    if (this.#attempt !== undefined) this.#attempt.isEnded = true;
  }

  broken(): void {
    if (this.#attempt !== undefined) this.#attempt.isBroken = true;
  }

  attempted(result: AttemptResult, how?: { readonly hasTimedOut: boolean; readonly hasErred: boolean }): void {
    if (this.#attempt === undefined) return;
    this.#attempt.result = result;
    this.#attempt.hasTimedOut = how?.hasTimedOut === true;
    this.#attempt.hasErred ||= how?.hasErred === true;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#charge();
    this.#count();
  }

  /** At the first that is known, and then as often as it has grown by enough to be worth a pricing. */
  #flow(usage: Usage | undefined): void {
    const attempt = this.#attempt;
    const { charge } = this.#options;
    if (charge === undefined || attempt === undefined || usage === undefined) return;
    const { chargedTokens } = attempt;
    if (chargedTokens !== undefined && usage.totalTokens < chargedTokens + STREAM_CHARGE_TOKENS) return;
    attempt.chargedTokens = usage.totalTokens;
    charge.spend(usage);
  }

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
    if (doubt !== undefined) metrics.doubted(attempt.provider, route.name, doubt);
    switch (outcome) {
      case "complete":
        if (doubt === "impossible" || doubt === "nothing") {
          charge?.doubt(usage);
        } else if (usage === undefined && route.usage !== "always") {
          charge?.unused();
        } else if (attempt.stream === undefined || attempt.stream.isFinal) {
          charge?.settle(usage);
        } else {
          charge?.abort(usage); // whoever ends without its last count has told a part
        }
        if (doubt === undefined && route.usage === "always" && isMissing(attempt, usage)) {
          metrics.missing(attempt.provider, route.name);
        }
        return;
      case "interrupted":
        if (doubt === "impossible") charge?.doubt(usage);
        else charge?.abort(usage, atLeastOf(attempt));
        return;
      case "erred":
        if (doubt === "impossible") charge?.doubt(usage);
        else if ((usage ?? atLeastOf(attempt)) === undefined) charge?.release();
        else charge?.abort(usage ?? atLeastOf(attempt));
        return;
      case "timed out":
        charge?.timedOut();
        return;
      case "failed":
        charge?.release();
    }
  }

  /** What the last attempt came to, for those who only look. */
  #count(): void {
    const attempt = this.#attempt;
    if (attempt === undefined) return;
    const { charge, label, route, metrics, spent, counted, account } = this.#options;
    const usage = usageOf(attempt);
    if (account !== undefined && attempt.stream !== undefined && isMissing(attempt, usage)) {
      const isTold = route.usage === "always" || outcomeOf(attempt) === "interrupted";
      if (isTold) account.unmeasured(attempt);
    }
    if (usage !== undefined) {
      metrics.used(attempt.provider, label, usage);
      counted?.(usage);
      account?.counted(usage, attempt);
    }
    const units = (charge?.spent ?? 0) - this.#told;
    if (units <= 0) return;
    this.#told += units;
    spent(attempt.provider, units);
    account?.spent(units, attempt);
  }
}

/**
 * `failed`: it gave no answer that is paid for. `interrupted`: it was under way, and the rest of it is not known to us.
 * `erred`: it told that it failed. `timed out`: nothing of an answer came, and the provider may have worked on the input all the same.
 */
function outcomeOf({ status, result, hasTimedOut, hasErred, isEnded, isBroken }: Attempt): Outcome {
  if (status !== undefined && (hasErred || !isSuccess(status))) return "erred";
  if (status !== undefined && isEnded && !isBroken) return "complete";
  if (status === undefined && hasTimedOut) return "timed out";
  const hasFailed = result !== undefined && result !== "answered" && result !== "abandoned";
  return status === undefined && hasFailed ? "failed" : "interrupted";
}

type Outcome = "complete" | "interrupted" | "erred" | "timed out" | "failed";

/** Each event of a stream brings a token or more, but for a few around them. */
function atLeastOf({ events }: Attempt): Usage | undefined {
  const tokens = events - EVENTS_AROUND;
  return tokens > 0 ? { ...NO_USAGE, outputTokens: tokens, totalTokens: tokens } : undefined;
}

/** A response that failed is told by its own event; any other answer by an error. */
const tellsFailure = (data: string, events: number): boolean =>
  (events === 1 || data.includes('"error"')) && (FAILED_EVENT.test(data) || errorInEvent(data) !== undefined);

const FAILED_EVENT = /"type"\s*:\s*"response\.failed"/;
/** Within a text the quotes would be escaped. */
const FAILED_RESPONSES = ['"status":"failed"', '"status": "failed"'];
const isFailedResponse = (chunk: Buffer): boolean => FAILED_RESPONSES.some((text) => chunk.includes(text));

const isMissing = ({ stream }: Attempt, usage: Usage | undefined): boolean =>
  usage === undefined || stream?.isFinal === false;

/** Of these an answer may have failed within, and then it used nothing. */
const MAY_USE_NOTHING: ReadonlySet<string> = new Set(["responses", "responses_compact"]);

function doubtOf(
  { stream, body, events }: Attempt,
  usage: Usage | undefined,
  { route, isComplete }: { readonly route: MeterOptions["route"]; readonly isComplete: boolean },
): Doubt | undefined {
  if ((stream ?? body)?.isDoubtful === true) return "impossible";
  if (stream?.hasShrunk === true) return "shrank";
  if (!isComplete || usage?.totalTokens !== 0 || route.usage !== "always") return undefined;
  if (stream !== undefined) return events > EVENTS_AROUND ? "nothing" : undefined;
  return MAY_USE_NOTHING.has(route.name) ? undefined : "nothing";
}

const usageOf = ({ stream, body }: Attempt): Usage | undefined => stream?.usage ?? body?.end();

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/** Nobody here undoes an encoding: its usage cannot be read. */
function isEncoded(headers: readonly string[]): boolean {
  const encoding = headerValue(headers, "content-encoding");
  return encoding !== undefined && encoding.toLowerCase() !== "identity";
}

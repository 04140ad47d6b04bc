/**
 * Statistics of providers over the last 60 seconds on this node, as shown in the list `backends` of the admin API (design
 * decisions, section 3). Metrics for machines are in `metrics.ts`.
 *
 * An attempt is counted once its outcome is known: as answered when its answer begins to reach the client, as failed by one of
 * the triggers of `retry` and `failover`. An attempt whose client left before that counts as neither, and is only visible while
 * it is pending. Memory is bounded by the configuration: one window and 50 failures per provider.
 */
import type { Clock } from "../../base/index.ts";
import type { FailureKind, ProviderError } from "../upstream/index.ts";
import { Interval, type IntervalReading } from "./interval.ts";
import { quantile } from "./latencies.ts";
import { type CounterName, SlidingWindow, WINDOW_SECONDS } from "./sliding-window-counts.ts";

/** Number of remembered failures per provider. */
const MAX_FAILURES = 50;

/**
 * Maximum number of models with their own statistics in the lifetime of a process. The names come from its configurations, and
 * each takes 2 KiB.
 */
const MAX_MODELS = 1_000;
const OTHER_MODELS = "other";

/** Minimum number of attempts for the state `failing`: one failed attempt in a quiet minute is not enough. */
const MIN_JUDGED_ATTEMPTS = 3;

export interface AttemptFailure {
  readonly kind: FailureKind;
  /** Status of the answer; `null` if there was none. */
  readonly status: number | null;
  /** Number of the attempt within its request, counted over all providers from 1. */
  readonly attempt: number;
  /** Provider of the next attempt, which is the same one for a retry; `null` if there is none. */
  readonly movedTo: string | null;
  readonly request: string;
  /** Display name of the caller; `null` if unknown. */
  readonly caller: string | null;
  /** Model as the client requested it, truncated; `null` without one. */
  readonly model: string | null;
  /** Milliseconds since the beginning of the attempt. */
  readonly durationMs: number;
  /** Error that the provider reported, which may be filled in later; `undefined` without one. */
  readonly error: { readonly reported: ProviderError } | undefined;
  /**
   * Reason why the upstream could not be reached or its answer could not be used; absent for other failures. It quotes nothing
   * from the answer.
   */
  readonly reason?: string;
  /** Whether the attempt failed after its answer had begun, in which case it is already counted. */
  readonly wasAnswered?: boolean;
}

/** Failure with its time, in milliseconds since 1970. */
export type RecordedFailure = AttemptFailure & { readonly at: number };

/** Statistics of one provider. An attempt keeps the object from beginning to end, across configuration changes. */
export interface ProviderStatistics {
  /** Counts an attempt that begins. `isRetry`: it repeats an attempt at this provider. */
  beginAttempt(isRetry: boolean): void;
  /** Counts an attempt whose answer begins. `ms`: milliseconds since the attempt began. */
  recordAnswer(ms: number): void;
  recordFailure(failure: AttemptFailure): void;
  /** Must be called once for each attempt that has begun, whatever its outcome. */
  endAttempt(): void;
  countFailoverIn(): void;
  countFailoverOut(): void;
  /** Adds cost units that a budget was charged for usage at this provider. `units`: a non-negative integer. */
  addUnits(units: number): void;
}

export interface ProviderReading {
  /**
   * State of the provider. `failing`: at least half of three or more attempts failed. `idle`: no attempt was counted and none is
   * pending.
   */
  readonly state: "ok" | "failing" | "idle";
  /** Attempts per second, over 60 seconds or since the provider was configured. */
  readonly rate: number;
  /** Share of failed attempts; `null` without attempts. */
  readonly errorRatio: number | null;
  /** Median time to the first byte of answered attempts, in milliseconds; `null` without any. */
  readonly firstByteP50: number | null;
  readonly firstByteP95: number | null;
  readonly inFlight: number;
  readonly retries: number;
  readonly failoversIn: number;
  readonly failoversOut: number;
  /** Cost units that budgets were charged for usage at this provider. */
  readonly units: number;
  /** Newest failure of the last 60 seconds; `undefined` without one. */
  readonly lastFailure: RecordedFailure | undefined;
}

export interface Statistics {
  /** Replaces the set of providers; statistics of providers that are not in it are dropped. */
  configure(names: Iterable<string>): void;
  /**
   * Returns the statistics of a provider, or `undefined` if it is not configured. `model`: label of the model in whose interval
   * the attempt is counted, too.
   */
  of(provider: string, model?: string): ProviderStatistics | undefined;
  /** Yields the counts of every provider and model since the last call. */
  intervals(): Iterable<{
    readonly kind: "backends" | "models";
    readonly name: string;
    readonly reading: IntervalReading;
  }>;
  read(provider: string): ProviderReading | undefined;
  /** Returns remembered failures, newest first. */
  failures(provider: string): readonly RecordedFailure[] | undefined;
  /** Returns whether nothing was recorded in the last 60 seconds, so that readings stay the same until something is. */
  isQuiet(): boolean;
  /** Calls the listener once, as soon as something is recorded. There is one listener at a time; `undefined` removes it. */
  awaitChange(listener: (() => void) | undefined): void;
}

export function createStatistics(clock: Clock): Statistics {
  let providers = new Map<string, ProviderMeasurements>();
  const models = new Map<string, Interval>();
  const intervalOf = (model: string): Interval => {
    const known = models.get(model);
    if (known !== undefined) return known;
    if (models.size >= MAX_MODELS && model !== OTHER_MODELS) return intervalOf(OTHER_MODELS);
    const made = new Interval();
    models.set(model, made);
    return made;
  };
  let changeListener: (() => void) | undefined;
  const notifyChange = (): void => {
    if (changeListener === undefined) return;
    const listener = changeListener;
    changeListener = undefined;
    listener();
  };
  return {
    configure(names) {
      const before = providers;
      providers = new Map();
      for (const name of names) providers.set(name, before.get(name) ?? new ProviderMeasurements(clock, notifyChange));
    },
    of(provider, model) {
      const measuring = providers.get(provider);
      // `none` is the label of a route without a model.
      return model === undefined || model === "none" ? measuring : measuring?.forModel(model, intervalOf);
    },
    *intervals() {
      for (const [name, measuring] of providers) {
        yield { kind: "backends", name, reading: measuring.interval.takeReading() };
      }
      for (const [name, interval] of models) yield { kind: "models", name, reading: interval.takeReading() };
    },
    read: (provider) => providers.get(provider)?.read(),
    failures: (provider) => providers.get(provider)?.failures(),
    isQuiet: () => ![...providers.values()].some((it) => it.hasRecentCounts()),
    awaitChange(listener) {
      changeListener = listener;
    },
  };
}

class ProviderMeasurements implements ProviderStatistics {
  readonly #clock: Clock;
  readonly #notifyChange: () => void;
  readonly #window = new SlidingWindow();
  readonly interval = new Interval();
  /** Statistics by model label. */
  readonly #byModel = new Map<string, ProviderStatistics>();
  readonly #startedAt: number;
  #inFlight = 0;
  /** Ring buffer of failures. Once it is full, `#next` is the oldest. */
  readonly #failures: RecordedFailure[] = [];
  #next = 0;

  constructor(clock: Clock, changed: () => void) {
    this.#clock = clock;
    this.#notifyChange = changed;
    this.#startedAt = clock.monotonic();
  }

  forModel(model: string, intervalOf: (model: string) => Interval): ProviderStatistics {
    let measurements = this.#byModel.get(model);
    if (measurements === undefined) {
      measurements = new ModelMeasurements(this, intervalOf(model));
      this.#byModel.set(model, measurements);
    }
    return measurements;
  }

  beginAttempt(isRetry: boolean): void {
    this.#inFlight++;
    this.interval.beginAttempt();
    if (isRetry) this.#count("retries");
    else this.#notifyChange();
  }

  recordAnswer(ms: number): void {
    this.interval.recordAnswer(ms);
    const second = this.#second();
    this.#window.recordFirstByte(ms, second);
    this.#window.count("attempts", second);
    this.#notifyChange();
  }

  recordFailure(failure: AttemptFailure): void {
    this.#failures[this.#next] = { ...failure, at: this.#clock.now() };
    this.#next = (this.#next + 1) % MAX_FAILURES;
    this.interval.recordFailure();
    const second = this.#second();
    if (failure.wasAnswered !== true) this.#window.count("attempts", second);
    this.#window.count("failures", second);
    this.#notifyChange();
  }

  endAttempt(): void {
    this.#inFlight--;
    this.interval.endAttempt();
    this.#notifyChange();
  }

  countFailoverIn(): void {
    this.#count("failoversIn");
  }

  countFailoverOut(): void {
    this.#count("failoversOut");
  }

  addUnits(units: number): void {
    if (units === 0) return;
    this.#window.addUnits(units, this.#second());
    this.#notifyChange();
  }

  read(): ProviderReading {
    const totals = this.#window.totals(this.#second());
    const { attempts, failures, retries, failoversIn, failoversOut, units, firstBytes } = totals;
    const isFailing = attempts >= MIN_JUDGED_ATTEMPTS && failures * 2 >= attempts;
    const isIdle = attempts === 0 && this.#inFlight === 0;
    return {
      state: isFailing ? "failing" : isIdle ? "idle" : "ok",
      rate: attempts / this.#coveredSeconds(),
      errorRatio: attempts === 0 ? null : failures / attempts,
      firstByteP50: quantile(firstBytes, 0.5),
      firstByteP95: quantile(firstBytes, 0.95),
      inFlight: this.#inFlight,
      retries,
      failoversIn,
      failoversOut,
      units,
      lastFailure: failures === 0 ? undefined : this.#failures.at(this.#next - 1),
    };
  }

  failures(): readonly RecordedFailure[] {
    return [...this.#failures.slice(this.#next), ...this.#failures.slice(0, this.#next)].reverse();
  }

  hasRecentCounts(): boolean {
    return this.#window.lastSecond() > this.#second() - WINDOW_SECONDS;
  }

  /**
   * Returns the number of seconds that the window covers, at least 1, because a rate over less than a second would be a guess.
   */
  #coveredSeconds(): number {
    const now = this.#clock.monotonic() / 1_000;
    const windowStart = Math.floor(now) - WINDOW_SECONDS + 1;
    return Math.max(1, now - Math.max(windowStart, this.#startedAt / 1_000));
  }

  #count(what: CounterName): void {
    this.#window.count(what, this.#second());
    this.#notifyChange();
  }

  #second(): number {
    return Math.floor(this.#clock.monotonic() / 1_000);
  }
}

/** Statistics of a provider that also count in the interval of one model. */
class ModelMeasurements implements ProviderStatistics {
  readonly #provider: ProviderMeasurements;
  readonly #model: Interval;

  constructor(provider: ProviderMeasurements, model: Interval) {
    this.#provider = provider;
    this.#model = model;
  }

  beginAttempt(isRetry: boolean): void {
    this.#provider.beginAttempt(isRetry);
    this.#model.beginAttempt();
  }

  recordAnswer(ms: number): void {
    this.#provider.recordAnswer(ms);
    this.#model.recordAnswer(ms);
  }

  recordFailure(failure: AttemptFailure): void {
    this.#provider.recordFailure(failure);
    this.#model.recordFailure();
  }

  endAttempt(): void {
    this.#provider.endAttempt();
    this.#model.endAttempt();
  }

  countFailoverIn(): void {
    this.#provider.countFailoverIn();
  }

  countFailoverOut(): void {
    this.#provider.countFailoverOut();
  }

  addUnits(units: number): void {
    this.#provider.addUnits(units);
  }
}

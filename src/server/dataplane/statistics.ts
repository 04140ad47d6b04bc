/**
 * Providers as this node has met them in the last 60 seconds, for people who look: what the list `backends` of the admin
 * API shows (design decisions, section 3). Counters for machines are in `metrics.ts`.
 *
 * An attempt counts once it is decided: answered when its answer begins to reach the client, failed by one of the
 * triggers of `retry` and `failover`. One whose client left before that is neither, and is only seen while it is under
 * way. What is held is bounded by the configuration: a window and 50 failures a provider.
 */
import type { Clock } from "../../base/index.ts";
import type { FailureKind, SaidError } from "../upstream/index.ts";
import { Interval, type IntervalReading } from "./interval.ts";
import { quantile } from "./latencies.ts";
import { type Counted, WINDOW_SECONDS, Window } from "./window.ts";

/** Failures remembered of a provider. */
const KEPT_FAILURES = 50;

/** Names of models told apart over the life of a process; they come from its configurations. Each takes 2 KiB. */
const MAX_MODELS = 1_000;
const OTHER_MODELS = "other";

/** One failure of one attempt, in a quiet minute, is no reason to call a provider failing. */
const MIN_JUDGED_ATTEMPTS = 3;

export interface AttemptFailure {
  readonly kind: FailureKind;
  /** Null where the provider gave no answer. */
  readonly status: number | null;
  /** Of its request, from 1, all providers together. */
  readonly attempt: number;
  /** Who is to be asked next, the same provider for a retry; null: nobody. */
  readonly movedTo: string | null;
  readonly request: string;
  /** As people know who called; null: not known. */
  readonly caller: string | null;
  /** As the client asked for it, bounded; null: none. */
  readonly model: string | null;
  /** Milliseconds from the attempt's begin. */
  readonly durationMs: number;
  /** What the provider said of its error, maybe only later; undefined: there was none. */
  readonly error: { readonly said: SaidError } | undefined;
  /** Why an answer could not be used; absent where that is not the failure. Quotes nothing of it. */
  readonly reason?: string;
  /** It failed once its answer had begun, and counts as an attempt already. */
  readonly wasAnswered?: boolean;
}

/** Milliseconds since 1970. */
export type KeptFailure = AttemptFailure & { readonly at: number };

/** A provider's own, kept by an attempt from its begin to its end, over any change of the configuration. */
export interface ProviderStatistics {
  /** `isRetry`: it repeats one at this provider. */
  begun(isRetry: boolean): void;
  /** The answer begins, so many milliseconds after the attempt. */
  answered(ms: number): void;
  failed(failure: AttemptFailure): void;
  /** Whatever came of it; once for each that has begun. */
  ended(): void;
  cameFromAnother(): void;
  leftForAnother(): void;
  /** A budget was charged so many cost units, whole and not negative, for what was used here. */
  spent(units: number): void;
}

export interface Measured {
  /** `failing`: at least half of three or more attempts failed; `idle`: none counts and none is under way. */
  readonly state: "ok" | "failing" | "idle";
  /** Attempts a second, over 60 seconds or since the provider is configured. */
  readonly rate: number;
  /** Null without attempts. */
  readonly errorRatio: number | null;
  /** Milliseconds to the first byte of attempts that were answered; null without any. */
  readonly firstByteP50: number | null;
  readonly firstByteP95: number | null;
  readonly inFlight: number;
  readonly retries: number;
  readonly failoversIn: number;
  readonly failoversOut: number;
  /** Cost units that budgets were charged for what was used here. */
  readonly units: number;
}

export interface Statistics {
  /** From here on there are these providers; what was measured of others is forgotten. */
  configure(names: Iterable<string>): void;
  /** Undefined for a provider that is not configured any more. `model`: whose interval counts it too; a label of series. */
  of(provider: string, model?: string): ProviderStatistics | undefined;
  /** What was met since they were taken last, of every provider and model. */
  intervals(): Iterable<{
    readonly kind: "backends" | "models";
    readonly name: string;
    readonly reading: IntervalReading;
  }>;
  read(provider: string): Measured | undefined;
  /** Newest first. */
  failures(provider: string): readonly KeptFailure[] | undefined;
  /** The last 60 seconds hold nothing: readings stay as they are until something is recorded. */
  isQuiet(): boolean;
  /** Calls back once, as soon as something is recorded. One listener at a time; undefined takes it off. */
  awaitChange(listener: (() => void) | undefined): void;
}

export function createStatistics(clock: Clock): Statistics {
  let providers = new Map<string, Measuring>();
  const models = new Map<string, Interval>();
  const intervalOf = (model: string): Interval => {
    const known = models.get(model);
    if (known !== undefined) return known;
    if (models.size >= MAX_MODELS && model !== OTHER_MODELS) return intervalOf(OTHER_MODELS);
    const made = new Interval();
    models.set(model, made);
    return made;
  };
  let awaiting: (() => void) | undefined;
  const changed = (): void => {
    if (awaiting === undefined) return;
    const listener = awaiting;
    awaiting = undefined;
    listener();
  };
  return {
    configure(names) {
      const before = providers;
      providers = new Map();
      for (const name of names) providers.set(name, before.get(name) ?? new Measuring(clock, changed));
    },
    of(provider, model) {
      const measuring = providers.get(provider);
      // As series say where a route has no model.
      return model === undefined || model === "none" ? measuring : measuring?.asking(model, intervalOf);
    },
    *intervals() {
      for (const [name, measuring] of providers) {
        yield { kind: "backends", name, reading: measuring.interval.take() };
      }
      for (const [name, interval] of models) yield { kind: "models", name, reading: interval.take() };
    },
    read: (provider) => providers.get(provider)?.read(),
    failures: (provider) => providers.get(provider)?.failures(),
    isQuiet: () => ![...providers.values()].some((it) => it.isWindowed()),
    awaitChange(listener) {
      awaiting = listener;
    },
  };
}

class Measuring implements ProviderStatistics {
  readonly #clock: Clock;
  readonly #changed: () => void;
  readonly #window = new Window();
  readonly interval = new Interval();
  /** By label. */
  readonly #asking = new Map<string, ProviderStatistics>();
  readonly #startedAt: number;
  #inFlight = 0;
  /** Oldest first once it is full, from `#next` on. */
  readonly #failures: KeptFailure[] = [];
  #next = 0;

  constructor(clock: Clock, changed: () => void) {
    this.#clock = clock;
    this.#changed = changed;
    this.#startedAt = clock.monotonic();
  }

  asking(model: string, intervalOf: (model: string) => Interval): ProviderStatistics {
    let both = this.#asking.get(model);
    if (both === undefined) {
      both = new AskingFor(this, intervalOf(model));
      this.#asking.set(model, both);
    }
    return both;
  }

  begun(isRetry: boolean): void {
    this.#inFlight++;
    this.interval.begun();
    if (isRetry) this.#count("retries");
    else this.#changed();
  }

  answered(ms: number): void {
    this.interval.answered(ms);
    const second = this.#second();
    this.#window.firstByte(ms, second);
    this.#window.count("attempts", second);
    this.#changed();
  }

  failed(failure: AttemptFailure): void {
    this.#failures[this.#next] = { ...failure, at: this.#clock.now() };
    this.#next = (this.#next + 1) % KEPT_FAILURES;
    this.interval.failed();
    const second = this.#second();
    if (failure.wasAnswered !== true) this.#window.count("attempts", second);
    this.#window.count("failures", second);
    this.#changed();
  }

  ended(): void {
    this.#inFlight--;
    this.interval.ended();
    this.#changed();
  }

  cameFromAnother(): void {
    this.#count("failoversIn");
  }

  leftForAnother(): void {
    this.#count("failoversOut");
  }

  spent(units: number): void {
    if (units === 0) return;
    this.#window.spent(units, this.#second());
    this.#changed();
  }

  read(): Measured {
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
    };
  }

  failures(): readonly KeptFailure[] {
    return [...this.#failures.slice(this.#next), ...this.#failures.slice(0, this.#next)].reverse();
  }

  isWindowed(): boolean {
    return this.#window.lastSecond() > this.#second() - WINDOW_SECONDS;
  }

  /** Whole seconds that have passed, and the one that runs; a rate over less than a second would be a guess. */
  #coveredSeconds(): number {
    const now = this.#clock.monotonic() / 1_000;
    const windowStart = Math.floor(now) - WINDOW_SECONDS + 1;
    return Math.max(1, now - Math.max(windowStart, this.#startedAt / 1_000));
  }

  #count(what: Counted): void {
    this.#window.count(what, this.#second());
    this.#changed();
  }

  #second(): number {
    return Math.floor(this.#clock.monotonic() / 1_000);
  }
}

/** Attempts at a provider for one model. */
class AskingFor implements ProviderStatistics {
  readonly #provider: Measuring;
  readonly #model: Interval;

  constructor(provider: Measuring, model: Interval) {
    this.#provider = provider;
    this.#model = model;
  }

  begun(isRetry: boolean): void {
    this.#provider.begun(isRetry);
    this.#model.begun();
  }

  answered(ms: number): void {
    this.#provider.answered(ms);
    this.#model.answered(ms);
  }

  failed(failure: AttemptFailure): void {
    this.#provider.failed(failure);
    this.#model.failed();
  }

  ended(): void {
    this.#provider.ended();
    this.#model.ended();
  }

  cameFromAnother(): void {
    this.#provider.cameFromAnother();
  }

  leftForAnother(): void {
    this.#provider.leftForAnother();
  }

  spent(units: number): void {
    this.#provider.spent(units);
  }
}

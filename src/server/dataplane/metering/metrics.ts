/** Metrics of usage. `model` is a name or pattern of the configuration, never text of a caller. */
import type { Counter, Instruments, Log } from "../../../base/index.ts";
import type { Usage } from "../../core/dialects/index.ts";

export interface UsageMetrics {
  /** Counts the usage of one attempt, or of one answer within a session. */
  addUsage(provider: string, model: string, usage: Usage): void;
  /** Counts an answer that reported no usage or only a part of it, on a route whose answers report usage. */
  countMissing(provider: string, route: string): void;
  /** Counts an answer whose reported usage is not trusted, and logs it at most once a minute per provider. */
  countDoubt(provider: string, route: string, doubt: Doubt): void;
}

/**
 * Reason why reported usage is not trusted. `impossible`: a count is negative, fractional, not a number or out of range.
 * `shrank`: it is less than the same stream reported before. `nothing`: an answer that must have tokens reports none.
 */
export type Doubt = "impossible" | "shrank" | "nothing";

const LOG_INTERVAL_MS = 60_000;

/** Counters by kind. Cached and newly cached tokens are included in the input, reasoning tokens in the output. */
interface TokenCounters {
  readonly input: Counter;
  readonly output: Counter;
  readonly cached: Counter;
  readonly created: Counter;
  readonly reasoning: Counter;
}

/** Creates the metrics. `monotonic` returns the time in milliseconds. */
export function createUsageMetrics(
  instruments: Instruments,
  log: Pick<Log, "warn">,
  monotonic: () => number = () => performance.now(),
): UsageMetrics {
  const tokens = instruments.counter(
    "gateway_tokens_total",
    "Tokens that providers reported. `cached_input` and `cache_creation_input` are parts of `input`, and `reasoning` of `output`.",
    ["provider", "model", "kind"],
  );
  const missing = instruments.counter(
    "gateway_usage_missing_total",
    "Complete answers without readable usage on routes that report it. The reserved amount is charged.",
    ["provider", "route"],
  );
  const doubts = instruments.counter(
    "gateway_usage_doubted_total",
    "Answers with implausible usage. For `impossible` and `nothing` at least the reserved amount is charged, and for `shrank` the highest reported value.",
    ["provider", "route", "doubt"],
  );
  const throttles = new Map<string, { until: number; suppressed: number }>();
  const logDoubt = (provider: string, route: string, doubt: Doubt): void => {
    const now = monotonic();
    const before = throttles.get(provider);
    if (before !== undefined && now < before.until) {
      before.suppressed += 1;
      return;
    }
    throttles.set(provider, { until: now + LOG_INTERVAL_MS, suppressed: 0 });
    const more = before === undefined ? 0 : before.suppressed;
    log.warn("a provider reports implausible usage; the charge does not rely on it alone", {
      provider,
      route,
      doubt,
      more,
    });
  };
  // Joining label values costs more than counting, so child metrics are cached. Both names come from the configuration, which
  // bounds the maps.
  const children = new Map<string, Map<string, TokenCounters>>();
  const countersFor = (provider: string, model: string): TokenCounters => {
    let models = children.get(provider);
    if (models === undefined) {
      models = new Map();
      children.set(provider, models);
    }
    let kinds = models.get(model);
    if (kinds === undefined) {
      const of = (kind: string): Counter => tokens.with(provider, model, kind);
      kinds = {
        input: of("input"),
        output: of("output"),
        cached: of("cached_input"),
        created: of("cache_creation_input"),
        reasoning: of("reasoning"),
      };
      models.set(model, kinds);
    }
    return kinds;
  };
  return {
    addUsage(provider, model, usage) {
      const { input, output, cached, created, reasoning } = countersFor(provider, model);
      input.inc(usage.inputTokens);
      output.inc(usage.outputTokens);
      cached.inc(usage.cachedInputTokens);
      created.inc(usage.cacheCreationInputTokens);
      reasoning.inc(usage.reasoningTokens);
    },
    countMissing: (provider, route) => missing.with(provider, route).inc(),
    countDoubt(provider, route, doubt) {
      doubts.with(provider, route, doubt).inc();
      logDoubt(provider, route, doubt);
    },
  };
}

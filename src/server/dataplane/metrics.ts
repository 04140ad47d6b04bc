/** Metrics of the data plane. Label values come from the configuration and the route table, never from a caller. */
import { type Instruments, LATENCY_BOUNDS_SECONDS, type Log } from "../../base/index.ts";
import { MCP_VERSION } from "../core/agents/index.ts";
import { createGuardrailMetrics, type GuardrailMetrics } from "../core/guardrails/index.ts";
import { type ConventionMetrics, createConventionMetrics } from "./conventions/index.ts";
import { createDecisionMetrics, type DecisionMetrics } from "./governance/metrics.ts";
import { createUsageMetrics, type UsageMetrics } from "./metering/index.ts";

/** Label set. `labels` returns the same object for the same values, so that a set can be looked up by identity. */
export interface Labels {
  readonly route: string;
  readonly provider: string;
  readonly model: string;
  /** Maker of the provider: its name in the catalog, otherwise its configured name. */
  readonly maker: string;
}

export interface DataplaneMetrics {
  readonly decisions: DecisionMetrics;
  readonly guardrails: GuardrailMetrics;
  readonly usage: UsageMetrics;
  readonly conventions: ConventionMetrics;
  labels(route: string, provider?: string, model?: string, maker?: string): Labels;
  /** Counts a finished request. `code`: code of the refusal, or empty if an upstream answered. */
  countRequest(labels: Labels, status: number, code: string): void;
  /** Records the seconds that the gateway added, excluding the time of waiting for client and upstream. */
  observeOverhead(route: string, seconds: number): void;
  /** Records the seconds from the end of the request to the first byte of the answer. */
  observeFirstByte(labels: Labels, seconds: number): void;
  countAttempt(provider: string, outcome: string): void;
  countRetry(provider: string): void;
  countFailover(from: string, to: string): void;
  /** Counts a capability that a request uses and that was dropped for the provider. */
  countFidelityLoss(provider: string, capability: string): void;
  /** Counts an open WebSocket session until the returned function is called. */
  trackSession(provider: string): () => void;
}

export function createMetrics(instruments: Instruments, log: Pick<Log, "warn">): DataplaneMetrics {
  const requests = instruments.counter(
    "gateway_requests_total",
    "Requests answered, refused or abandoned (status 499).",
    ["route", "provider", "model", "status", "code"],
  );
  const overhead = instruments.histogram(
    "gateway_overhead_seconds",
    "Time that the gateway adds to a request until the headers of the answer, without waiting for client and upstream.",
    LATENCY_BOUNDS_SECONDS,
    ["route"],
  );
  const firstByte = instruments.histogram(
    "gateway_time_to_first_byte_seconds",
    "Time from the end of the request to the first byte of the answer.",
    LATENCY_BOUNDS_SECONDS,
    ["route", "provider", "model"],
  );
  const attempts = instruments.counter("gateway_upstream_attempts_total", "Attempts at providers, by outcome.", [
    "provider",
    "outcome",
  ]);
  const retries = instruments.counter("gateway_retries_total", "Retries at the same provider.", ["provider"]);
  const failovers = instruments.counter(
    "gateway_failovers_total",
    "Requests that failed over from one provider to another.",
    ["from", "to"],
  );
  const losses = instruments.counter(
    "gateway_fidelity_losses_total",
    "Capabilities that were left out of forwarded requests: hints always, and others with `on_fidelity_loss: allow`.",
    ["provider", "capability"],
  );
  const sessions = instruments.gauge("gateway_websocket_sessions", "Open WebSocket sessions.", ["provider"]);

  // Joining label values costs more than counting, so the child metrics of each label set are cached.
  const counters = memoize(({ route, provider, model }: Labels) =>
    memoize((status: number) => memoize((code: string) => requests.with(route, provider, model, String(status), code))),
  );
  const firstBytes = memoize(({ route, provider, model }: Labels) => firstByte.with(route, provider, model));
  const overheads = memoize((route: string) => overhead.with(route));
  const outcomes = memoize((provider: string) => memoize((outcome: string) => attempts.with(provider, outcome)));

  const labels = memoize((route: string) =>
    memoize((provider: string) =>
      memoize((model: string) => memoize((maker: string): Labels => ({ route, provider, model, maker }))),
    ),
  );

  return {
    decisions: createDecisionMetrics(instruments),
    guardrails: createGuardrailMetrics(instruments, log, () => performance.now()),
    usage: createUsageMetrics(instruments, log),
    conventions: createConventionMetrics(instruments, MCP_VERSION),
    labels: (route, provider = "none", model = "none", maker = "none") => labels(route)(provider)(model)(maker),
    countRequest: (labels, status, code) => counters(labels)(status)(code).inc(),
    observeOverhead: (route, seconds) => overheads(route).observe(seconds),
    observeFirstByte: (labels, seconds) => firstBytes(labels).observe(seconds),
    countAttempt: (provider, outcome) => outcomes(provider)(outcome).inc(),
    countRetry: (provider) => retries.with(provider).inc(),
    countFailover: (from, to) => failovers.with(from, to).inc(),
    countFidelityLoss: (provider, capability) => losses.with(provider, capability).inc(),
    trackSession(provider) {
      const gauge = sessions.with(provider);
      gauge.add(1);
      return () => gauge.add(-1);
    },
  };
}

/** Caches the results of `make`. Keys come from the configuration and the route table, which bounds the cache. */
function memoize<Key, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const made = new Map<Key, Value>();
  return (key) => {
    let value = made.get(key);
    if (value === undefined) {
      value = make(key);
      made.set(key, value);
    }
    return value;
  };
}

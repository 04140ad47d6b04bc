/** The series of the data plane. Label values come from the configuration and the route table, never from a caller. */
import { type Counter, type Histogram, type Instruments, LATENCY_BOUNDS_SECONDS } from "../../base/index.ts";

export interface Labels {
  readonly route: string;
  readonly provider: string;
  readonly model: string;
}

export interface DataplaneMetrics {
  /** `code`: the refusal's, or empty when the answer is an upstream's. */
  finished(labels: Labels, status: number, code: string): void;
  /** Seconds the gateway added, waiting for client and upstream excluded. */
  overhead(route: string, seconds: number): void;
  /** Seconds from the request's end to the answer's first byte. */
  firstByte(labels: Labels, seconds: number): void;
  attempted(provider: string, outcome: string): void;
  retried(provider: string): void;
  failedOver(from: string, to: string): void;
  /** Sessions that have switched to WebSocket. */
  sessionOpened(provider: string): () => void;
}

export function createMetrics(instruments: Instruments): DataplaneMetrics {
  const requests = instruments.counter(
    "gateway_requests_total",
    "Requests answered, refused or abandoned (status 499).",
    ["route", "provider", "model", "status", "code"],
  );
  const overhead = instruments.histogram(
    "gateway_overhead_seconds",
    "Time the gateway adds to a request up to the answer's headers; waiting for client and upstream is excluded.",
    LATENCY_BOUNDS_SECONDS,
    ["route"],
  );
  const firstByte = instruments.histogram(
    "gateway_time_to_first_byte_seconds",
    "From the end of the request to the first byte of the answer.",
    LATENCY_BOUNDS_SECONDS,
    ["route", "provider", "model"],
  );
  const attempts = instruments.counter(
    "gateway_upstream_attempts_total",
    "Attempts at providers, by what came of them.",
    ["provider", "outcome"],
  );
  const retries = instruments.counter("gateway_retries_total", "Attempts that repeat one at the same provider.", [
    "provider",
  ]);
  const failovers = instruments.counter("gateway_failovers_total", "Requests moved from one provider to another.", [
    "from",
    "to",
  ]);
  const sessions = instruments.gauge("gateway_websocket_sessions", "WebSocket sessions that are open.", ["provider"]);

  // Joining label values costs more than counting: the children of the last label sets are kept at hand.
  const counters = new Map<string, Map<string, Counter>>();
  const firstBytes = new Map<string, Histogram>();
  const overheads = new Map<string, Histogram>();
  const labelKey = ({ route, provider, model }: Labels): string => `${route}\u0000${provider}\u0000${model}`;

  return {
    finished(labels, status, code) {
      const key = labelKey(labels);
      let byOutcome = counters.get(key);
      if (byOutcome === undefined) {
        byOutcome = new Map();
        counters.set(key, byOutcome);
      }
      const outcome = code === "" ? String(status) : `${status} ${code}`;
      let counter = byOutcome.get(outcome);
      if (counter === undefined) {
        counter = requests.with(labels.route, labels.provider, labels.model, String(status), code);
        byOutcome.set(outcome, counter);
      }
      counter.inc();
    },
    overhead(route, seconds) {
      let histogram = overheads.get(route);
      if (histogram === undefined) {
        histogram = overhead.with(route);
        overheads.set(route, histogram);
      }
      histogram.observe(seconds);
    },
    firstByte(labels, seconds) {
      const key = labelKey(labels);
      let histogram = firstBytes.get(key);
      if (histogram === undefined) {
        histogram = firstByte.with(labels.route, labels.provider, labels.model);
        firstBytes.set(key, histogram);
      }
      histogram.observe(seconds);
    },
    attempted: (provider, outcome) => attempts.with(provider, outcome).inc(),
    retried: (provider) => retries.with(provider).inc(),
    failedOver: (from, to) => failovers.with(from, to).inc(),
    sessionOpened(provider) {
      const gauge = sessions.with(provider);
      gauge.add(1);
      return () => gauge.add(-1);
    },
  };
}

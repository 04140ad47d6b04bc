/**
 * Reads the settings of the export from the standard environment variables: signals, destination, protocol, queue sizes.
 *
 * Source: the OpenTelemetry specification, "Environment Variable Specification" and "OTLP Exporter Configuration". The exporters
 * themselves read endpoints, headers, certificates, compression and timeouts; the tracer provider reads samplers and limits.
 * There is one deliberate restriction: a signal whose exporter variable is unset is only on if an endpoint is configured for it.
 * With the standard's default (localhost), each start would wait for a collector that usually does not exist.
 */

export type Environment = Readonly<Record<string, string | undefined>>;

type Protocol = "grpc" | "http/json" | "http/protobuf";

export type Destination = { readonly kind: "otlp"; readonly protocol: Protocol } | { readonly kind: "console" };

/** Limits of one queue, with the names of the batch processors. */
export interface BatchBounds {
  readonly maxQueueSize: number;
  readonly maxExportBatchSize: number;
  readonly scheduledDelayMillis: number;
  readonly exportTimeoutMillis: number;
}

export interface OtlpSettings {
  /** Destinations of traces; empty if they are off. */
  readonly traces: readonly Destination[];
  readonly metrics: readonly Destination[];
  readonly logs: readonly Destination[];
  readonly spanBounds: BatchBounds;
  readonly recordBounds: BatchBounds;
  readonly metricIntervalMs: number;
  /** Timeout of an export of metrics, in milliseconds; at most the export interval. */
  readonly metricTimeoutMs: number;
  /** Whether W3C trace context is read from requests and passed on. */
  readonly propagates: boolean;
}

interface SettingsReading {
  /** Settings; `undefined` if nothing is exported. */
  readonly settings: OtlpSettings | undefined;
  /** Sentences for the operator. They contain no values of variables, except known names. */
  readonly warnings: readonly string[];
}

type Signal = "traces" | "metrics" | "logs";

const PROTOCOLS: readonly Protocol[] = ["grpc", "http/json", "http/protobuf"];

const SPAN_DELAY_MS = 5_000;
const RECORD_DELAY_MS = 1_000;
/** Maximum delay of a timer: 24.8 days. A longer timer would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export function readSettings(env: Environment): SettingsReading {
  const warnings: string[] = [];
  const text = (name: string): string | undefined => env[name]?.trim() || undefined;
  if (text("OTEL_SDK_DISABLED")?.toLowerCase() === "true") return { settings: undefined, warnings };

  const positive = (name: string, otherwise: number, max = MAX_TIMER_MS): number => {
    const value = text(name);
    if (value === undefined) return otherwise;
    if (/^[1-9]\d{0,14}$/.test(value)) return Math.min(Number(value), max);
    warnings.push(`${name} is not a positive integer; ${otherwise} is used`);
    return otherwise;
  };
  const destinations = (signal: Signal) => destinationsOf(signal, text, warnings);
  const [traces, metrics, logs] = [destinations("traces"), destinations("metrics"), destinations("logs")];
  if (traces.length + metrics.length + logs.length === 0) return { settings: undefined, warnings };

  const boundsOf = (prefix: string, delayMs: number): BatchBounds => {
    const maxQueueSize = positive(`${prefix}_MAX_QUEUE_SIZE`, 2_048);
    return {
      maxQueueSize,
      maxExportBatchSize: Math.min(positive(`${prefix}_MAX_EXPORT_BATCH_SIZE`, 512), maxQueueSize),
      scheduledDelayMillis: positive(`${prefix}_SCHEDULE_DELAY`, delayMs),
      exportTimeoutMillis: positive(`${prefix}_EXPORT_TIMEOUT`, 30_000),
    };
  };
  const metricIntervalMs = positive("OTEL_METRIC_EXPORT_INTERVAL", 60_000);
  const temporality = text("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE")?.toLowerCase() ?? "cumulative";
  if (metrics.length > 0 && temporality !== "cumulative") {
    warnings.push("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: the series are those of /metrics, so cumulative");
  }
  return {
    settings: {
      traces,
      metrics,
      logs,
      spanBounds: boundsOf("OTEL_BSP", SPAN_DELAY_MS),
      recordBounds: boundsOf("OTEL_BLRP", RECORD_DELAY_MS),
      metricIntervalMs,
      metricTimeoutMs: Math.min(positive("OTEL_METRIC_EXPORT_TIMEOUT", 30_000), metricIntervalMs),
      propagates: readPropagators(text("OTEL_PROPAGATORS"), warnings),
    },
    warnings,
  };
}

function destinationsOf(
  signal: Signal,
  text: (name: string) => string | undefined,
  warnings: string[],
): readonly Destination[] {
  const name = signal.toUpperCase();
  const variable = `OTEL_${name}_EXPORTER`;
  const [ownEndpoint, endpoint] = [`OTEL_EXPORTER_OTLP_${name}_ENDPOINT`, "OTEL_EXPORTER_OTLP_ENDPOINT"];
  const named = text(ownEndpoint) === undefined ? endpoint : ownEndpoint;
  const chosen = text(variable) ?? (text(named) === undefined ? "none" : "otlp");
  const names = new Set(chosen.split(",").map((item) => item.trim()));
  if (names.has("none")) return [];
  const destinations: Destination[] = [];
  for (const exporter of names) {
    if (exporter === "console") destinations.push({ kind: "console" });
    else if (exporter !== "otlp") warnings.push(`${variable}: only otlp, console and none are supported; ignored`);
    else {
      const protocol = protocolOf(name, text, warnings);
      if (isEndpoint(text(named), protocol)) destinations.push({ kind: "otlp", protocol });
      else warnings.push(`${named} is not an http or https URL; ${signal} are not exported`);
    }
  }
  return destinations;
}

function protocolOf(name: string, text: (name: string) => string | undefined, warnings: string[]): Protocol {
  const signalVariable = `OTEL_EXPORTER_OTLP_${name}_PROTOCOL`;
  const variable = text(signalVariable) === undefined ? "OTEL_EXPORTER_OTLP_PROTOCOL" : signalVariable;
  const value = text(variable) ?? "http/protobuf";
  const protocol = PROTOCOLS.find((candidate) => candidate === value);
  if (protocol === undefined) warnings.push(`${variable} is none of ${PROTOCOLS.join(", ")}; http/protobuf is used`);
  return protocol ?? "http/protobuf";
}

/**
 * Returns whether the text is a valid endpoint. If it is absent, the exporter uses its default. For gRPC it may also be a bare
 * `host:port`.
 */
function isEndpoint(text: string | undefined, protocol: Protocol): boolean {
  if (text === undefined) return true;
  const url = protocol === "grpc" && !text.includes("://") ? `http://${text}` : text;
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}

function readPropagators(text: string | undefined, warnings: string[]): boolean {
  if (text === undefined) return true;
  const names = text.split(",").map((item) => item.trim());
  // Baggage always passes unchanged from client to upstream, so `baggage` needs no handling.
  if (names.some((name) => name !== "tracecontext" && name !== "baggage" && name !== "none")) {
    warnings.push("OTEL_PROPAGATORS: only tracecontext, baggage and none are supported; others are ignored");
  }
  return names.includes("tracecontext");
}

/**
 * Builds the pipelines of the enabled signals, from tracer and loggers to exporters. Only this file imports code that loads
 * OpenTelemetry packages, and it is imported only if the environment configures an export.
 *
 * Providers are used directly: nothing is instrumented, no signal handlers are installed, and nothing is registered in the
 * library's globals except the handlers for its error messages.
 */

import { api, core, logs, metrics, resources, tracing } from "@opentelemetry/sdk-node";
import type { Instruments, LogLine } from "../../../base/index.ts";
import type { BuildInfo } from "../process-metrics.ts";
import { boundedRecords, boundedSpans, withFailureReports } from "./bounded-processors.ts";
import { type ExportedAuditRecord, emitAuditRecord, emitLogLine } from "./emit-records.ts";
import type { ExportProblems, Queue } from "./export-problems.ts";
import { metricExporterFor, recordExporterFor, spanExporterFor } from "./exporters.ts";
import { createMetricProducer } from "./metric-producer.ts";
import type { OtlpSettings } from "./settings.ts";
import { createTracing, type Tracing } from "./spans.ts";

export interface Pipelines {
  readonly tracing: Tracing | undefined;
  readonly emitLine: ((line: LogLine) => void) | undefined;
  readonly emitAudit: ((record: ExportedAuditRecord) => void) | undefined;
  /** Exports queued data and shuts the pipelines down. Resolves when the data was accepted or given up. */
  flush(): Promise<void>;
}

export interface PipelinesOptions {
  readonly settings: OtlpSettings;
  readonly instruments: Instruments;
  readonly sample: () => void;
  readonly build: BuildInfo;
  readonly nodeId: string;
  readonly problems: ExportProblems;
  readonly now: () => number;
}

export async function openPipelines(options: PipelinesOptions): Promise<Pipelines> {
  const { settings, problems, build } = options;
  listenToLibraries(problems);
  const resource = resourceOf(options);
  const traces = await openTraces(settings, resource, problems);
  const closers: (() => Promise<void>)[] = [];
  if (traces !== undefined) closers.push(() => traces.shutdown());
  const series = await openMetrics(options, resource);
  if (series !== undefined) closers.push(() => series.shutdown());
  const lines = await openRecords("logs", settings, resource, problems);
  const records = await openRecords("audit", settings, resource, problems);
  for (const provider of [records, lines]) if (provider !== undefined) closers.push(() => provider.shutdown());

  const lineLogger = lines?.getLogger("gateway/log", build.version);
  const auditLogger = records?.getLogger("gateway/audit", build.version);
  return {
    tracing: traces && createTracing(traces.getTracer("gateway", build.version), settings),
    emitLine: lineLogger && ((line) => emitLogLine(lineLogger, line)),
    emitAudit: auditLogger && ((record) => emitAuditRecord(auditLogger, record)),
    async flush() {
      await Promise.allSettled(closers.map((close) => close()));
      api.diag.disable();
    },
  };
}

async function openTraces(settings: OtlpSettings, resource: resources.Resource, problems: ExportProblems) {
  if (settings.traces.length === 0) return undefined;
  const exporters = await Promise.all(settings.traces.map(spanExporterFor));
  const spanProcessors = exporters.map((exporter) => boundedSpans(exporter, settings.spanBounds, problems));
  return new tracing.BasicTracerProvider({ resource, spanProcessors });
}

async function openMetrics(options: PipelinesOptions, resource: resources.Resource) {
  const { settings, problems, build } = options;
  if (settings.metrics.length === 0) return undefined;
  const producer = createMetricProducer({ ...options, scope: { name: "gateway/metrics", version: build.version } });
  const exporters = await Promise.all(settings.metrics.map(metricExporterFor));
  const readers = exporters.map(
    (exporter) =>
      new metrics.PeriodicExportingMetricReader({
        exporter: withFailureReports(exporter, problems),
        exportIntervalMillis: settings.metricIntervalMs,
        exportTimeoutMillis: settings.metricTimeoutMs,
        metricProducers: [producer],
      }),
  );
  return new metrics.MeterProvider({ resource, readers });
}

async function openRecords(
  queue: Queue,
  settings: OtlpSettings,
  resource: resources.Resource,
  problems: ExportProblems,
) {
  if (settings.logs.length === 0) return undefined;
  const exporters = await Promise.all(settings.logs.map(recordExporterFor));
  const processors = exporters.map((exporter) => boundedRecords(exporter, settings.recordBounds, queue, problems));
  return new logs.LoggerProvider({ resource, processors });
}

/**
 * Returns the resource attributes of this process. Its arguments are left out, because a URL among them may contain a credential.
 */
function resourceOf({ build, nodeId }: PipelinesOptions): resources.Resource {
  const gatewayResource = resources.resourceFromAttributes({
    "service.name": "gateway",
    "service.version": build.version,
    "service.instance.id": nodeId,
    "process.pid": process.pid,
    "process.executable.name": "gateway",
    "process.runtime.name": "nodejs",
    "process.runtime.version": build.node,
  });
  // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override the other attributes.
  return resources
    .defaultResource()
    .merge(gatewayResource)
    .merge(resources.detectResources({ detectors: [resources.envDetector] }));
}

/**
 * Reports error messages of the libraries. Messages about failed exports are dropped, because these are counted where they occur.
 */
function listenToLibraries(problems: ExportProblems): void {
  core.setGlobalErrorHandler(() => undefined);
  const complain = (message: string, ...rest: readonly unknown[]): void => {
    const details = rest.map((item) => (item instanceof Error ? item.message : typeof item === "string" ? item : ""));
    problems.logLibraryError([message, ...details].join(" ").trim());
  };
  const ignore = (): void => undefined;
  api.diag.setLogger(
    { error: complain, warn: complain, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: api.DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}

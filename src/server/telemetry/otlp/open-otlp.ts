/**
 * Exports metrics, traces, log lines and audit records by OTLP if the standard environment variables configure it.
 *
 * Source: specification document 1, overview 6 and events. Without this configuration no OpenTelemetry package is loaded. A
 * collector that is slow or gone only causes dropped records, which are counted: queues are bounded, no request waits for an
 * export, and the last flush ends within `CLOSE_LIMIT_MS`.
 */

import type { Instruments, Log, LogLine } from "../../../base/index.ts";
import type { BuildInfo } from "../process-metrics.ts";
import type { ExportedAuditRecord } from "./emit-records.ts";
import { createExportProblems, type Queue } from "./export-problems.ts";
import { type Environment, type OtlpSettings, readSettings } from "./settings.ts";
import type { Tracing } from "./spans.ts";

/** Timeout of the whole shutdown, in milliseconds. The libraries' own timeouts are twice as long. */
const CLOSE_LIMIT_MS = 5_000;

interface OtlpOptions {
  /** Environment of the process. Exporters and samplers read `process.env` themselves. */
  readonly env: Environment;
  readonly instruments: Instruments;
  /** Updates the process metrics before the instruments are read. */
  readonly sample: () => void;
  readonly build: BuildInfo;
  /** Value of `service.instance.id`. */
  readonly nodeId: string;
  readonly log: Log;
  /** Returns the time in milliseconds since 1970. */
  readonly now: () => number;
}

export interface Otlp {
  /** Tracing; `undefined` if traces are off. */
  readonly tracing: Tracing | undefined;
  /** Receives each line of the log; `undefined` if logs are off. */
  readonly logSink: ((line: LogLine) => void) | undefined;
  /** Exports emitted records, which must come in the order of the trail. */
  exportAudit(records: readonly ExportedAuditRecord[]): void;
  /** Flushes the queues, for at most 5 s. */
  close(): Promise<void>;
}

/**
 * Opens the export. Returns `undefined` if none is configured or it cannot be opened; the latter is logged, and the gateway
 * serves without it.
 */
export async function openOtlp(options: OtlpOptions): Promise<Otlp | undefined> {
  const { env, instruments, log, now } = options;
  const { settings, warnings } = readSettings(env);
  for (const warning of warnings) log.warn("telemetry", { warning });
  if (settings === undefined) return undefined;
  const problems = createExportProblems({ instruments, log, now, queues: queuesOf(settings) });
  const pipelines = await import("./pipelines.ts")
    .then(({ openPipelines }) => openPipelines({ ...options, settings, problems }))
    .catch((error: unknown) => problems.warn("telemetry could not be started, so nothing is exported", { error }));
  if (pipelines === undefined) return undefined;
  problems.markStarted();
  const { tracing, emitLine, emitAudit, flush } = pipelines;
  let closing: Promise<void> | undefined;
  return {
    tracing,
    logSink:
      emitLine &&
      ((written) => {
        if (!problems.isLogging()) emitLine(written);
      }),
    exportAudit(records) {
      if (emitAudit === undefined) return;
      for (const record of records) {
        try {
          emitAudit(record);
        } catch (error) {
          problems.recordFailure("audit", 1, error);
        }
      }
    },
    close() {
      closing ??= settlesWithin(flush(), CLOSE_LIMIT_MS).then((isDone) => {
        if (!isDone) problems.warn("not all telemetry was exported before the process ended");
      });
      return closing;
    },
  };
}

function queuesOf({ traces, metrics, logs }: OtlpSettings): readonly Queue[] {
  return [
    ...(traces.length > 0 ? (["traces"] as const) : []),
    ...(metrics.length > 0 ? (["metrics"] as const) : []),
    ...(logs.length > 0 ? (["logs", "audit"] as const) : []),
  ];
}

/** Waits for `work`. Resolves to false on timeout. Never rejects. */
async function settlesWithin(work: Promise<void>, timeoutMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<boolean>((late) => {
    timer = setTimeout(() => late(false), timeoutMs);
  });
  return Promise.race([work.then(() => true), limit]).finally(() => clearTimeout(timer));
}

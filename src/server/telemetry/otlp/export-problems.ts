/**
 * Reports failures of the export: they are always counted, logged at most once a minute, and never exported.
 *
 * A log line about a failing export must not be exported, because that would fail and be logged again. Logging is synchronous, so
 * a flag that is set while this module logs is enough to recognize its own lines.
 */

import type { Instruments, Log } from "../../../base/index.ts";

/** Name of a queue. Log lines and audit records have separate queues, because many log lines must not displace audit records. */
export type Queue = "traces" | "metrics" | "logs" | "audit";

export interface ExportProblems {
  /** Records a failed export. `lost`: number of spans or records that are lost with it. */
  recordFailure(queue: Queue, lost: number, error: unknown): void;
  /** Records that an item was dropped because the queue was full. */
  recordDrop(queue: Queue): void;
  /**
   * Handles an error message of the libraries. Until `markStarted` each different message is logged once, because each concerns
   * another setting; of later ones, at most one a minute is logged.
   */
  logLibraryError(message: string): void;
  markStarted(): void;
  /** Writes `message` only to the log, without exporting it. */
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  /** Whether a line of this module is being logged. */
  isLogging(): boolean;
}

const MIN_LOG_INTERVAL_MS = 60_000;
const MAX_MESSAGE_LENGTH = 500;

interface ExportProblemsOptions {
  readonly instruments: Instruments;
  readonly log: Log;
  /** Returns the time in milliseconds since 1970. */
  readonly now: () => number;
  /** Queues that are in use. Each has its metric series from the beginning. */
  readonly queues: readonly Queue[];
}

export function createExportProblems({ instruments, log, now, queues }: ExportProblemsOptions): ExportProblems {
  const failures = instruments.counter("gateway_telemetry_export_failures_total", "Failed exports to the collector.", [
    "signal",
  ]);
  const drops = instruments.counter(
    "gateway_telemetry_dropped_total",
    "Spans and records that were dropped because the queue was full or the export failed.",
    ["signal"],
  );
  const children = new Map(
    queues.map((queue) => [queue, { failures: failures.with(queue), drops: drops.with(queue) }]),
  );
  const unreported = new Map<Queue, number>();
  let failureLoggedAt = Number.NEGATIVE_INFINITY;
  let libraryErrorLoggedAt = Number.NEGATIVE_INFINITY;
  const loggedAtStart = new Set<string>();
  let hasStarted = false;
  let isLogging = false;

  function warn(message: string, fields?: Readonly<Record<string, unknown>>): void {
    isLogging = true;
    try {
      log.warn(message, fields);
    } finally {
      isLogging = false;
    }
  }

  return {
    warn,
    isLogging: () => isLogging,
    recordFailure(queue, lost, error) {
      children.get(queue)?.failures.inc();
      if (lost > 0) children.get(queue)?.drops.inc(lost);
      unreported.set(queue, (unreported.get(queue) ?? 0) + 1);
      if (now() - failureLoggedAt < MIN_LOG_INTERVAL_MS) return;
      failureLoggedAt = now();
      warn("telemetry could not be exported", { failures: Object.fromEntries(unreported), error });
      unreported.clear();
    },
    recordDrop(queue) {
      children.get(queue)?.drops.inc();
    },
    logLibraryError(message) {
      if (hasStarted ? now() - libraryErrorLoggedAt < MIN_LOG_INTERVAL_MS : loggedAtStart.has(message)) return;
      if (hasStarted) libraryErrorLoggedAt = now();
      else loggedAtStart.add(message);
      warn("telemetry", { detail: message.slice(0, MAX_MESSAGE_LENGTH) });
    },
    markStarted() {
      hasStarted = true;
      loggedAtStart.clear();
    },
  };
}

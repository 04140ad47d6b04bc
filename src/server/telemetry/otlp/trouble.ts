/**
 * Failures of the export: always counted, logged at most once a minute, and never exported.
 *
 * A log line about a failing export must not become a record to export, which would fail and be logged again. Logging is
 * synchronous, so a flag that is set while we log is enough to recognize our own lines.
 */

import type { Instruments, Log } from "../../../base/index.ts";

/** Log lines and audit records travel by queues of their own: a flood of the former must not displace the latter. */
export type Queue = "traces" | "metrics" | "logs" | "audit";

export interface Trouble {
  /** Notes a failed export. `lost`: number of spans or records lost with it. */
  failed(queue: Queue, lost: number, error: unknown): void;
  /** The queue was full. */
  dropped(queue: Queue): void;
  /**
   * Handles complaints of the libraries: until `settled`, each different one once, since it concerns another setting; then as
   * failures.
   */
  complained(message: string): void;
  settled(): void;
  /** Writes `message` only to the plain log. */
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  /** Whether a line of this module is being written. */
  isSpeaking(): boolean;
}

const QUIET_MS = 60_000;
const MAX_COMPLAINT_LENGTH = 500;

export interface TroubleOptions {
  readonly instruments: Instruments;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Open queues; each has its series from the beginning. */
  readonly queues: readonly Queue[];
}

export function createTrouble({ instruments, log, now, queues }: TroubleOptions): Trouble {
  const failures = instruments.counter(
    "gateway_telemetry_export_failures_total",
    "Exports to the collector that failed.",
    ["signal"],
  );
  const drops = instruments.counter(
    "gateway_telemetry_dropped_total",
    "Spans and records given up: the queue was full, or their export failed.",
    ["signal"],
  );
  const children = new Map(
    queues.map((queue) => [queue, { failures: failures.with(queue), drops: drops.with(queue) }]),
  );
  const untold = new Map<Queue, number>();
  let failureToldAt = Number.NEGATIVE_INFINITY;
  let complaintToldAt = Number.NEGATIVE_INFINITY;
  const toldAtStart = new Set<string>();
  let isSettled = false;
  let speaking = false;

  function warn(message: string, fields?: Readonly<Record<string, unknown>>): void {
    speaking = true;
    try {
      log.warn(message, fields);
    } finally {
      speaking = false;
    }
  }

  return {
    warn,
    isSpeaking: () => speaking,
    failed(queue, lost, error) {
      children.get(queue)?.failures.inc();
      if (lost > 0) children.get(queue)?.drops.inc(lost);
      untold.set(queue, (untold.get(queue) ?? 0) + 1);
      if (now() - failureToldAt < QUIET_MS) return;
      failureToldAt = now();
      warn("telemetry could not be exported", { failures: Object.fromEntries(untold), error });
      untold.clear();
    },
    dropped(queue) {
      children.get(queue)?.drops.inc();
    },
    complained(message) {
      if (isSettled ? now() - complaintToldAt < QUIET_MS : toldAtStart.has(message)) return;
      if (isSettled) complaintToldAt = now();
      else toldAtStart.add(message);
      warn("telemetry", { detail: message.slice(0, MAX_COMPLAINT_LENGTH) });
    },
    settled() {
      isSettled = true;
      toldAtStart.clear();
    },
  };
}

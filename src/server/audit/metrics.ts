/** Metrics of the audit trail. */

import { AUDIT_EVENTS, type AuditEventName, type Counter, type Histogram, type Instruments } from "../../base/index.ts";

/** Bounds of the time to sign, write and sync a group, in seconds. */
const JOURNAL_BOUNDS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

interface AuditMetrics {
  readonly records: Readonly<Record<AuditEventName, Counter>>;
  readonly refused: Counter;
  readonly unread: Counter;
  readonly journalSeconds: Histogram;
  readonly witnessFailures: Counter;
}

export function createAuditMetrics(instruments: Instruments, queueBytes: () => number): AuditMetrics {
  const records = instruments.counter("gateway_audit_records_total", "Events accepted by the audit trail.", ["event"]);
  instruments.observedGauge(
    "gateway_audit_queue_bytes",
    "Bytes of audit events that are waiting to be written.",
    queueBytes,
  );
  return {
    records: Object.fromEntries(AUDIT_EVENTS.map((name) => [name, records.with(name)])) as AuditMetrics["records"],
    refused: instruments
      .counter(
        "gateway_audit_refused_total",
        "Events that the audit trail refused because its queue was full or closed.",
      )
      .with(),
    unread: instruments
      .counter(
        "gateway_audit_unread_total",
        "Audit records that nobody read, because the reader of the output was gone.",
      )
      .with(),
    journalSeconds: instruments
      .histogram(
        "gateway_audit_journal_seconds",
        "Time to sign a group of audit records and to write it to disk.",
        JOURNAL_BOUNDS_SECONDS,
      )
      .with(),
    witnessFailures: instruments
      .counter("gateway_audit_witness_failures_total", "Failed reports of the newest audit record to the cluster.")
      .with(),
  };
}

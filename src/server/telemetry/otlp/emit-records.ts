/**
 * Emits log lines and audit records as OTLP log records, under the scopes `gateway/log` and `gateway/audit`.
 *
 * The body of an audit record is the record itself, in the canonical form of RFC 8785, as one string. If a collector writes the
 * bodies one per line, they are byte for byte the lines of the trail, and can be verified as such. The attributes only repeat
 * fields that help to find the record.
 */

import { type LogAttributes, type Logger, type LogRecord, SeverityNumber } from "@opentelemetry/api-logs";
import canonicalize from "canonicalize";
import type { LogLevel, LogLine } from "../../../base/index.ts";

const SEVERITIES: Readonly<Record<LogLevel, SeverityNumber>> = {
  debug: SeverityNumber.DEBUG,
  info: SeverityNumber.INFO,
  warn: SeverityNumber.WARN,
  error: SeverityNumber.ERROR,
};

/** Fields read from an audit record; the rest is exported in canonical form. */
export interface ExportedAuditRecord {
  readonly node: string;
  readonly seq: number;
  readonly event: string;
  /** Time of the record as in RFC 3339. */
  readonly ts: string;
}

export function emitLogLine(logger: Logger, { time, level, message, fields }: LogLine): void {
  logger.emit({
    ...timestampOf(time),
    severityNumber: SEVERITIES[level],
    severityText: level.toUpperCase(),
    body: message,
    // The logger has already converted the fields to plain values.
    attributes: fields as LogAttributes,
  });
}

/** Emits an audit record. Throws for a record without a canonical form; the trail contains none. */
export function emitAuditRecord(logger: Logger, record: ExportedAuditRecord): void {
  logger.emit({
    ...timestampOf(record.ts),
    severityNumber: SeverityNumber.INFO,
    severityText: "INFO",
    body: canonicalize(record) ?? "",
    attributes: { "event.name": record.event, "audit.node": record.node, "audit.seq": record.seq },
  });
}

function timestampOf(time: string): Pick<LogRecord, "timestamp"> {
  const timestamp = Date.parse(time);
  return Number.isNaN(timestamp) ? {} : { timestamp };
}

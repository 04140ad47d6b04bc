/** An in-memory audit trail: its records, and a queue that can be full. */

import type { AuditRecord } from "../../../../src/admin-api/index.ts";
import { GatewayError } from "../../../../src/base/index.ts";
import type { AuditEntry, AuditSink } from "../../../../src/server/admin/ports.ts";

export interface MemoryAudit {
  readonly audit: AuditSink;
  /** Entries in recorded order. */
  readonly entries: readonly AuditEntry[];
  /** Slots that are reserved and neither used nor released. */
  readonly reserved: number;
  /** Leaves no room from now on. */
  fill(): void;
}

export const AUDIT_RECORD: AuditRecord = {
  audit: 1,
  node: "n1",
  kid: "k".repeat(43),
  seq: 0,
  prev: "",
  ts: "2026-11-20T12:00:00.000Z",
  event: "chain.start",
  controls: [],
  data: { version: "1.2.3" },
  hash: "h".repeat(43),
  sig: "s".repeat(86),
};

export function createMemoryAudit(): MemoryAudit {
  const entries: AuditEntry[] = [];
  let reserved = 0;
  let isFull = false;
  return {
    audit: {
      reserve() {
        if (isFull) throw new GatewayError("audit_unavailable", "The audit queue is full.");
        reserved += 1;
        return {
          async record(entry) {
            reserved -= 1;
            entries.push(entry);
          },
          release() {
            reserved -= 1;
          },
        };
      },
      authFailure(data) {
        entries.push({ event: "auth.failure", data });
      },
      // The trail defines the record format; one record stands for all.
      recent: (limit) => [AUDIT_RECORD].slice(0, limit),
    },
    entries,
    get reserved() {
      return reserved;
    },
    fill() {
      isFull = true;
    },
  };
}

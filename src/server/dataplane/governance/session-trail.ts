/**
 * Audit trail of a session. Every refusal is recorded; other actions of rules are recorded up to a number per minute, and one
 * record sums up the rest. So a long session cannot fill the trail, and every message is accounted for.
 */
import { performance } from "node:perf_hooks";
import type { RecordData, RecordValue } from "../../core/guardrails/index.ts";
import type { DecisionRecord, DecisionTrail } from "../ports.ts";

export const MAX_RECORDS_PER_MINUTE = 60;
const MINUTE_MS = 60_000;

export interface SessionTrail extends DecisionTrail {
  /** Writes the pending records. */
  close(): void;
}

/** Pending records of one event and direction, which are summed up in one record. */
interface PendingRecords {
  messages: number;
  last: DecisionRecord;
  readonly controls: Set<string>;
  readonly skipped: Set<RecordValue>;
  readonly matched: Map<string, Matched>;
  readonly detectors: Record<string, Record<string, number>>;
}

/** Matched rules as they appear in decision records. */
type Matched = {
  readonly rule: string;
  readonly action: string;
  readonly types: Counts;
  readonly kinds: readonly string[];
};

type Counts = Readonly<Record<string, number>>;

/** Returns the trail of a session. `monotonic` returns the time in milliseconds. */
export function sessionTrail(trail: DecisionTrail, monotonic: () => number = () => performance.now()): SessionTrail {
  const pending = new Map<string, PendingRecords>();
  let begunAt = monotonic();
  let recordsThisMinute = 0;
  let timer: NodeJS.Timeout | undefined;

  /** Writes the summary records. Throws `audit_unavailable` if one cannot be recorded. */
  const writeSummaries = (): void => {
    for (const [key, summed] of pending) {
      trail.record(summaryRecord(summed));
      pending.delete(key);
    }
  };
  const onMinuteElapsed = (): void => {
    timer = undefined;
    try {
      writeSummaries();
    } catch {
      scheduleSummaries(); // the trail is full; the next request that records is refused
    }
  };
  const scheduleSummaries = (): void => {
    timer ??= setTimeout(onMinuteElapsed, MINUTE_MS).unref();
  };
  return {
    record(record) {
      const { event, data } = record;
      if (event !== "guardrail.shadow" && data["decision"] !== "allow") return trail.record(record);
      const now = monotonic();
      if (now - begunAt >= MINUTE_MS) {
        begunAt = now;
        recordsThisMinute = 0;
        writeSummaries();
      }
      if (recordsThisMinute < MAX_RECORDS_PER_MINUTE) {
        trail.record(record);
        recordsThisMinute++;
        return;
      }
      add(pending, record);
      scheduleSummaries();
    },
    recordFailedAuthentication: (data) => trail.recordFailedAuthentication(data),
    close() {
      clearTimeout(timer);
      try {
        writeSummaries();
      } catch {
        // There is no peer left to refuse; the trail counts records that it could not write.
      }
    },
  };
}

function add(unreported: Map<string, PendingRecords>, record: DecisionRecord): void {
  const { event, data, controls } = record;
  const key = `${event} ${String(data["direction"])}`;
  let summed = unreported.get(key);
  if (summed === undefined) {
    summed = { messages: 0, last: record, controls: new Set(), skipped: new Set(), matched: new Map(), detectors: {} };
    unreported.set(key, summed);
  }
  summed.messages++;
  summed.last = record;
  for (const control of controls) summed.controls.add(control);
  for (const rule of listOf(data["skipped"])) summed.skipped.add(rule);
  for (const one of listOf(data["matched"]) as readonly Matched[]) {
    const name = JSON.stringify([one.rule, one.action]);
    const before = summed.matched.get(name);
    const kinds = [...new Set([...(before?.kinds ?? []), ...one.kinds])];
    summed.matched.set(name, { ...one, kinds, types: added(before?.types ?? {}, one.types) });
  }
  for (const [detector, types] of Object.entries((data["detectors"] ?? {}) as Readonly<Record<string, Counts>>)) {
    summed.detectors[detector] = added(summed.detectors[detector] ?? {}, types);
  }
}

const listOf = (value: RecordValue | undefined): readonly RecordValue[] => (Array.isArray(value) ? value : []);

function added(counts: Counts, more: Counts): Record<string, number> {
  const sum: Record<string, number> = { ...counts };
  for (const [type, count] of Object.entries(more)) sum[type] = (sum[type] ?? 0) + count;
  return sum;
}

function summaryRecord({ messages, last, controls, skipped, matched, detectors }: PendingRecords): DecisionRecord {
  const { event, data } = last;
  const what: RecordData =
    event === "guardrail.shadow"
      ? { detectors }
      : { matched: [...matched.values()].map((one) => ({ ...one })), skipped: [...skipped] };
  return { event, controls: [...controls], data: { ...data, ...what, messages } };
}

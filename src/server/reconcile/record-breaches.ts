/**
 * Records new breaches once, by the node that judged. Breaches that it has not recorded are recorded by the next
 * leader. So a breach is never lost, and is recorded twice only if a node dies between the record and the note about
 * it.
 */
import type { Log } from "../../base/index.ts";
import { entryFields, type LedgerEntry, unrecordedBreaches, withRecordedBreaches } from "./judge/ledger-entry.ts";
import type { ReconcilePorts } from "./ports.ts";
import type { Ledger, LedgerRecord } from "./reconcile-ledger.ts";

/** Time in which only the judging node records a breach, in milliseconds. */
const CLAIM_MS = 60_000;

interface BreachRecorderPorts extends Pick<ReconcilePorts, "node" | "rows" | "record"> {
  readonly ledger: Ledger;
  readonly now: () => number;
  readonly log: Log;
}

/** Records breaches. Rejects like writes. A breach whose note failed is recorded again. */
export async function recordBreaches(
  { node, rows, record, ledger, now, log }: BreachRecorderPorts,
  signal: AbortSignal,
): Promise<void> {
  const waiting = Array.from(ledger.entries()).filter(
    ({ value, at }) =>
      unrecordedBreaches(value).length > 0 && (value.judged?.by === node || Math.abs(now() - at) > CLAIM_MS),
  );
  for (const entry of waiting.toSorted((a, b) => (a.value.day < b.value.day ? -1 : 1))) {
    signal.throwIfAborted();
    if (!recordEntry(entry, record, log)) return;
    const { value, rev } = entry;
    await rows.put(
      [{ day: value.day, id: value.provider, fields: entryFields(withRecordedBreaches(value)), seen: rev }],
      signal,
    );
  }
}

/** Records the breaches of an entry. Returns false if nothing can be recorded now. */
function recordEntry({ value }: LedgerRecord<LedgerEntry>, record: ReconcilePorts["record"], log: Log): boolean {
  const { day, provider, scope, judged } = value;
  for (const verdict of unrecordedBreaches(value)) {
    const breach = { ...verdict, provider, day, scope, unmeasured: judged?.unmeasured ?? 0 };
    try {
      record(breach);
    } catch (error) {
      log.error("a reconciliation breach could not be recorded in the audit trail yet", { provider, day, error });
      return false;
    }
    const { class: name, metered, reported, delta, ratio, direction, hard, unmeasured } = breach;
    const fields = { provider, day, class: name, metered, reported, delta, ratio, direction, hard, scope };
    const message = "metered usage and the provider's report disagree";
    log[hard ? "error" : "warn"](message, { ...fields, unmeasured_streams: unmeasured });
  }
  return true;
}

/**
 * Writes audit records of budget refusals. Each budget has at most one record per minute, the first of them immediately. A record
 * contains the number of refusals since the previous one, and the caller of the last one.
 */
import type { Caller } from "../../auth/index.ts";
import { callerDisplayName } from "../caller-label.ts";
import type { Refusal } from "./refusals.ts";

const EVERY_MS = 60_000;

/** Methods of the audit trail that are used here. */
interface Decisions {
  /** Throws if the record cannot be written. */
  record(record: {
    readonly event: "access.decision";
    readonly controls: readonly string[];
    readonly data: Readonly<Record<string, string | number | null>>;
  }): void;
}

export interface BudgetRecords {
  add(refusal: Refusal): void;
  /** Writes the pending records. */
  close(): void;
}

interface BudgetRefusals {
  unrecorded: number;
  last: Refusal;
  timer: NodeJS.Timeout;
}

export function recordBudgets(trail: Decisions): BudgetRecords {
  const budgets = new Map<string, BudgetRefusals>();

  const record = (budget: string, refused: number, { caller, code, requestId }: Refusal): boolean => {
    try {
      trail.record({
        event: "access.decision",
        controls: [],
        data: { ...callerFields(caller), budget, code, decision: "deny", refused, request: requestId },
      });
      return true;
    } catch {
      return false; // the trail is full or closed, which it counts itself; the refusals stay pending
    }
  };

  const onElapsed = (budget: string, refusals: BudgetRefusals): void => {
    if (refusals.unrecorded === 0) {
      budgets.delete(budget);
      return;
    }
    if (record(budget, refusals.unrecorded, refusals.last)) refusals.unrecorded = 0;
    refusals.timer = startTimer(budget, refusals);
  };
  const startTimer = (budget: string, refusals: BudgetRefusals): NodeJS.Timeout =>
    setTimeout(() => onElapsed(budget, refusals), EVERY_MS).unref();

  return {
    add(refusal) {
      if (refusal.by?.kind !== "budget") return;
      const { name } = refusal.by;
      const pending = budgets.get(name);
      if (pending !== undefined) {
        pending.unrecorded += 1;
        pending.last = refusal;
        return;
      }
      const made = { unrecorded: record(name, 1, refusal) ? 0 : 1, last: refusal } as BudgetRefusals;
      made.timer = startTimer(name, made);
      budgets.set(name, made);
    },
    close() {
      for (const [budget, { unrecorded, last, timer }] of budgets) {
        clearTimeout(timer);
        if (unrecorded > 0) record(budget, unrecorded, last);
      }
      budgets.clear();
    },
  };
}

/** Returns the caller's fields, as in records of access rules. */
function callerFields(caller: Caller | undefined): Readonly<Record<string, string | null>> {
  return {
    caller: caller?.kind ?? null,
    key: caller?.key?.name ?? null,
    key_id: caller?.key?.id ?? null,
    user_name: caller === undefined || caller.key !== undefined ? null : (callerDisplayName(caller) ?? null),
  };
}

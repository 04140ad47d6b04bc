/**
 * Port `Suspensions` of the data plane, over the replicated rows `susp/<kind>:<name>`. There are only a few, so all are kept
 * parsed; a change is visible here in the same turn as in the view. Source: design decisions, sections 2, 3.
 */
import type { Clock } from "../../../base/index.ts";
import type { StateView } from "../../cluster/index.ts";
import { readSuspension } from "../../core/state/index.ts";
import type { SuspendedKind, Suspension, Suspensions } from "../../dataplane/index.ts";

const TABLE = "susp/";

interface SuspensionRow extends Suspension {
  readonly kind: SuspendedKind;
  readonly name: string;
}

/**
 * Opens the suspensions. Those that have ended stay in the state for a day but are not active here: an end does not change the
 * row.
 */
export function openSuspensions(view: StateView, clock: Pick<Clock, "now">): Suspensions {
  /** Suspensions by the key of the row, from which the name cannot be derived. */
  const rows = new Map<string, SuspensionRow>();
  /** Suspensions by kind and name. Lookups use a caller's text of any length, without building a row key from it. */
  const byName = new Map<SuspendedKind, Map<string, SuspensionRow>>();

  const applyRow = (row: string, value: string | undefined): void => {
    const before = rows.get(row);
    if (before !== undefined) byName.get(before.kind)?.delete(before.name);
    rows.delete(row);
    if (value === undefined) return;
    const { kind, name, reason, until } = readSuspension(value);
    const held: SuspensionRow = Object.freeze({ kind, name, reason, until });
    rows.set(row, held);
    const named = byName.get(kind) ?? new Map<string, SuspensionRow>();
    byName.set(kind, named.set(name, held));
  };
  const readAll = (): void => {
    rows.clear();
    byName.clear();
    for (const [row, value] of view.scan(TABLE)) applyRow(row, value);
  };

  readAll();
  view.watch(TABLE, (mutations) => {
    if (mutations === undefined) readAll();
    else for (const { key, value } of mutations) applyRow(key, value);
  });

  return {
    now: clock.now,
    get any() {
      return rows.size > 0;
    },
    of(kind, name) {
      const held = byName.get(kind)?.get(name);
      return held === undefined || (held.until !== null && held.until <= clock.now()) ? undefined : held;
    },
  };
}

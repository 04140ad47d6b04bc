/** Alerts about reconciliation: verdicts beyond the bounds, one row per provider, and unavailable reports. */

import type { ReconcileRecord, ReconcileVerdictRecord } from "../../admin-api/index.ts";
import { count, percent, plural } from "../format/numbers.ts";
import { rowsOf } from "../model/data.ts";
import type { AttentionItem, AttentionSource } from "./attention-item.ts";
import { earlyDays } from "./days-before-metering.ts";
import { verdictId } from "./reconcile.ts";

export const DRIFT: AttentionSource = {
  needs: [{ id: "list_reconcile_verdicts" }],
  items({ data }) {
    const breaches = new Map<string, ReconcileVerdictRecord[]>();
    const rows = rowsOf(data, "reconcile_verdicts");
    const isEarly = earlyDays(rows);
    for (const row of rows) {
      if (row.breach === 1 && !isEarly(row)) breaches.set(row.provider, [...(breaches.get(row.provider) ?? []), row]);
    }
    return [...breaches.values()].flatMap(driftItem);
  },
};

/** Builds the alert of one provider. It describes the worst breach: unexplained differences come first, then the newest day. */
function driftItem(rows: readonly ReconcileVerdictRecord[]): readonly AttentionItem[] {
  const [worst] = rows.toSorted((a, b) => b.hard - a.hard || (a.day < b.day ? 1 : -1));
  if (worst === undefined) return [];
  const { day, provider, class: name, metered, reported, ratio, hard } = worst;
  const others = rows.length === 1 ? "" : `; ${plural(rows.length - 1, "further breach", "further breaches")}`;
  return [
    {
      id: `reconcile:${provider}`,
      severity: "warn",
      weight: hard === 1 ? 0.6 : 0.2,
      degree: rows.length,
      what: "BREACH",
      kind: "reconcile",
      name: provider,
      text: `${day} ${name}: metered ${count(metered)}, reported ${count(reported)} (${percent(ratio)} %)${others}`,
      target: { place: { view: "reconcile" }, row: verdictId(worst) },
      json: worst,
    },
  ];
}

export const MISSING_REPORTS: AttentionSource = {
  needs: [{ id: "list_reconcile" }],
  items: ({ data }) =>
    rowsOf(data, "reconcile").flatMap((row) => (row.error === null ? [] : [reportItem(row, row.error)])),
};

const reportItem = (row: ReconcileRecord, error: string): AttentionItem => ({
  id: `report:${row.provider}`,
  severity: "warn",
  weight: 0.3,
  what: "REPORT",
  kind: "reconcile",
  name: row.provider,
  text: `its usage report cannot be read: ${error}`,
  target: { place: { view: "reconcile" } },
  json: row,
});

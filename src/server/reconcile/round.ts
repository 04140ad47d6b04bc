/** Runs one round for a provider: fetches its report, compares it with what was metered, and updates the ledger. */
import type { Log } from "../../base/index.ts";
import type { Audited, Audits } from "../snapshot/index.ts";
import { type FetchedReport, type FetchPorts, fetchReport } from "./fetch/report.ts";
import { momentOf, windowAt } from "./judge/days.ts";
import { type Entry, entryWith, fieldsOf, type Judging } from "./judge/entry.ts";
import { type Round, roundFields } from "./judge/round-entry.ts";
import { type LedgerPut, MAX_PUT, type ReconcilePorts } from "./ports.ts";
import type { Ledger } from "./reconcile-ledger.ts";

interface RoundPorts extends Pick<ReconcilePorts, "node" | "rows" | "metered" | "send"> {
  readonly ledger: Ledger;
  readonly now: () => number;
  readonly log: Log;
  readonly wait?: FetchPorts["wait"];
}

interface RoundEnd {
  /** True if the report was fetched. */
  readonly isHad: boolean;
  /** True if another node wrote some of the rows in the meantime, so that this result may not be the stored one. */
  readonly isStale: boolean;
}

/** Runs a round. Rejects like writes, and with the signal's reason. */
export async function runRound(
  audited: Audited,
  audits: Audits,
  ports: RoundPorts,
  signal: AbortSignal,
): Promise<RoundEnd> {
  const { ledger, rows, now, log } = ports;
  const { provider, type } = audited;
  const scope = audited.keyIds.length === 0 ? "organisation" : "keys";
  const triedAt = now();
  const report = await fetchReport(audited, windowAt(triedAt, audits.lookbackMs), ports, signal);
  let isStale = false;
  if (report.kind === "reported") {
    const puts = changedDays(report, audited, audits, ports);
    for (let at = 0; at < puts.length; at += MAX_PUT) {
      const stale = await rows.put(puts.slice(at, at + MAX_PUT), signal);
      isStale ||= stale.length > 0;
    }
  }
  const before = ledger.round(provider);
  const error = problemOf(report);
  if (error !== undefined && error !== before?.value.error) {
    log.warn("a provider's usage report could not be fetched", { provider, problem: error });
  }
  if (error === undefined && before?.value.error !== undefined) {
    log.info("a provider's usage report can be fetched again", { provider });
  }
  const fetchedAt = report.kind === "reported" ? triedAt : before?.value.fetchedAt;
  const round: Round = { provider, type, scope, triedAt, fetchedAt, error };
  await rows.put([{ day: "round", id: provider, fields: roundFields(round), seen: before?.rev ?? 0 }], signal);
  return { isHad: report.kind === "reported", isStale };
}

function problemOf(report: FetchedReport): string | undefined {
  if (report.kind === "failed") return report.problem;
  const { unread } = report;
  if (unread.length === 0) return undefined;
  const days = unread.length > 5 ? `${unread.slice(0, 5).join(", ")} and ${unread.length - 5} more` : unread.join(", ");
  return `the report has no known counter on ${days}: not judged`;
}

/** Returns the changed entries. Reports are stored for every complete day; judgements use the current rules. */
function changedDays(
  report: Extract<FetchedReport, { readonly kind: "reported" }>,
  { provider, type, keyIds }: Audited,
  { lagMs, driftRatio, driftFloor }: Audits,
  { ledger, metered, now, node, log }: RoundPorts,
): readonly LedgerPut[] {
  const puts: LedgerPut[] = [];
  const scope = keyIds.length === 0 ? "organisation" : "keys";
  const at = now();
  for (const [day, reported] of report.days) {
    const before = ledger.entry(day, provider);
    const judging: Judging = {
      now: at,
      lagMs,
      rules: { driftRatio, driftFloor },
      metered: metered(provider, day),
      by: node,
    };
    const entry = entryWith({ day, provider, type, scope, reported }, before?.value, judging);
    if (entry === before?.value) continue;
    tellCorrection(before?.value, entry, log);
    puts.push({ day, id: provider, fields: fieldsOf(entry), seen: before?.rev ?? 0 });
  }
  return puts.toSorted((a, b) => momentOf(a.day) - momentOf(b.day));
}

/** Logs that an earlier breach no longer exists. */
function tellCorrection(before: Entry | undefined, { day, provider, judged }: Entry, log: Log): void {
  const breaching = new Set(judged?.classes.flatMap((one) => (one.breach ? one.class : [])));
  for (const one of before?.judged?.classes ?? []) {
    if (!one.isRecorded || breaching.has(one.class)) continue;
    log.info("metered usage and the provider's report agree now", { provider, day, class: one.class });
  }
}

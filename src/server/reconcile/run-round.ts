/** Runs one round for a provider: fetches its report, compares it with what was metered, and updates the ledger. */
import type { Log } from "../../base/index.ts";
import type { ReconciledProvider, ReconcileTargets } from "../snapshot/index.ts";
import { type FetchedReport, type FetchPorts, fetchReport } from "./fetch/fetch-report.ts";
import { lookbackWindow, startOfDayMs } from "./judge/days.ts";
import { entryFields, type JudgeInput, type LedgerEntry, updateEntry } from "./judge/ledger-entry.ts";
import { type Round, roundFields } from "./judge/round-entry.ts";
import { type LedgerPut, MAX_PUT_ROWS, type ReconcilePorts } from "./ports.ts";
import type { Ledger } from "./reconcile-ledger.ts";

interface RoundPorts extends Pick<ReconcilePorts, "node" | "rows" | "metered" | "send"> {
  readonly ledger: Ledger;
  readonly now: () => number;
  readonly log: Log;
  readonly wait?: FetchPorts["wait"];
}

interface RoundResult {
  /** True if the report was fetched. */
  readonly isFetched: boolean;
  /** True if another node wrote some of the rows in the meantime, so that this result may not be the stored one. */
  readonly isStale: boolean;
}

/** Runs a round. Rejects like writes, and with the signal's reason. */
export async function runRound(
  audited: ReconciledProvider,
  audits: ReconcileTargets,
  ports: RoundPorts,
  signal: AbortSignal,
): Promise<RoundResult> {
  const { ledger, rows, now, log } = ports;
  const { provider, type } = audited;
  const scope = audited.keyIds.length === 0 ? "organisation" : "keys";
  const triedAt = now();
  const report = await fetchReport(audited, lookbackWindow(triedAt, audits.lookbackMs), ports, signal);
  let isStale = false;
  if (report.kind === "reported") {
    const puts = changedDays(report, audited, audits, ports);
    for (let at = 0; at < puts.length; at += MAX_PUT_ROWS) {
      const stale = await rows.put(puts.slice(at, at + MAX_PUT_ROWS), signal);
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
  return { isFetched: report.kind === "reported", isStale };
}

function problemOf(report: FetchedReport): string | undefined {
  if (report.kind === "failed") return report.problem;
  const { unreadableDays } = report;
  if (unreadableDays.length === 0) return undefined;
  const days =
    unreadableDays.length > 5
      ? `${unreadableDays.slice(0, 5).join(", ")} and ${unreadableDays.length - 5} more`
      : unreadableDays.join(", ");
  return `the report has no known counter on ${days}: not judged`;
}

/** Returns the changed entries. Reports are stored for every complete day; judgements use the current rules. */
function changedDays(
  report: Extract<FetchedReport, { readonly kind: "reported" }>,
  { provider, type, keyIds }: ReconciledProvider,
  { lagMs, driftRatio, driftFloor }: ReconcileTargets,
  { ledger, metered, now, node, log }: RoundPorts,
): readonly LedgerPut[] {
  const puts: LedgerPut[] = [];
  const scope = keyIds.length === 0 ? "organisation" : "keys";
  const at = now();
  for (const [day, reported] of report.days) {
    const before = ledger.entry(day, provider);
    const judging: JudgeInput = {
      now: at,
      lagMs,
      rules: { driftRatio, driftFloor },
      metered: metered(provider, day),
      nodeId: node,
    };
    const entry = updateEntry({ day, provider, type, scope, reported }, before?.value, judging);
    if (entry === before?.value) continue;
    logCorrection(before?.value, entry, log);
    puts.push({ day, id: provider, fields: entryFields(entry), seen: before?.rev ?? 0 });
  }
  return puts.toSorted((a, b) => startOfDayMs(a.day) - startOfDayMs(b.day));
}

/** Logs that an earlier breach no longer exists. */
function logCorrection(before: LedgerEntry | undefined, { day, provider, judged }: LedgerEntry, log: Log): void {
  const breaching = new Set(judged?.classes.flatMap((one) => (one.breach ? one.class : [])));
  for (const one of before?.judged?.classes ?? []) {
    if (!one.isRecorded || breaching.has(one.class)) continue;
    log.info("metered usage and the provider's report agree now", { provider, day, class: one.class });
  }
}

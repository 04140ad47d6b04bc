/**
 * Sends the ledger's reports to the cluster and applies the answers. The contents of a lost report are included in the next one.
 * After a failure there is a short pause, so that a cluster that refuses is not asked in a loop. Source: cluster reference, 7.2
 * rule 5; the ledger's side is `core/budgets/reporting.ts`.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "../../../base/index.ts";
import { applyReportAnswer, giveUpReport, hasUrgentReport, type Report, takeReport } from "../../core/budgets/index.ts";
import type { Accounts } from "./accounts.ts";
import type { UsageReports } from "./types.ts";

/** Timeout of a report, long enough for several elections. Requests that wait for an allowance give up long before. */
const REPORT_LIMIT_MS = 2_000;
/**
 * Timeout of each report at shutdown. It is shorter, because all final reports must be sent within the time limit of the
 * shutdown.
 */
const LAST_LIMIT_MS = 1_000;
const PAUSE_MS = 100;

interface ReportSender {
  /**
   * Must be called after each change of the ledger. Urgent rows are sent together with everything added in this turn of the
   * event loop.
   */
  onLedgerChanged(): void;
  /** Must be called at every tick. Sends the due reports and gives up reports that have timed out. */
  tick(): void;
  /** Sends the due reports after the pending ones. Resolves once all have ended. */
  sendNow(): Promise<void>;
  /**
   * Sends the final reports at shutdown: waits at most a second for pending reports, then sends everything, one report after the
   * other, and repeats lost ones. `prepare` is called before each report, because an answer may contain grants that a lost
   * report had requested.
   */
  sendLast(prepare: () => void): Promise<void>;
  /** Stops immediately: sends nothing more and gives up pending reports. */
  stop(): void;
  readonly isIdle: boolean;
}

interface PendingReport {
  /** Time at which the report was sent, in milliseconds of the monotonic clock. */
  readonly since: number;
  readonly giveUp: () => void;
  readonly ended: Promise<boolean>;
}

export function createReportSender(
  accounts: Accounts,
  reports: UsageReports,
  { monotonic, log }: { readonly monotonic: () => number; readonly log: Log },
): ReportSender {
  const { ledger, metrics } = accounts;
  const pending = new Set<PendingReport>();
  let isScheduled = false;
  let isEnding = false;
  let isStopped = false;
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let loggedCode = "";

  const take = (): Report | undefined =>
    isStopped || reports.incarnation() !== ledger.incarnation ? undefined : takeReport(ledger, accounts.now());

  const sendDue = (): void => {
    if (isEnding || monotonic() < pausedUntil) return;
    for (let report = take(); report !== undefined; report = take()) void sendReport(report);
  };

  /** Sends a report. Resolves to whether it was answered; never rejects. */
  const sendReport = (report: Report): Promise<boolean> => {
    const aborting = new AbortController();
    const giveUp = (): void => {
      giveUpReport(ledger, report, accounts.now());
      aborting.abort();
    };
    const ended = sendAndApply(report, aborting.signal).finally(() => pending.delete(entry));
    const entry: PendingReport = { since: monotonic(), giveUp, ended };
    pending.add(entry);
    return ended;
  };

  const sendAndApply = async (report: Report, signal: AbortSignal): Promise<boolean> => {
    const isAnswered = await outcomeOf(report, signal);
    if (isStopped) return false;
    if (!isAnswered) pausedUntil = monotonic() + PAUSE_MS;
    accounts.onLedgerChanged();
    return isAnswered;
  };

  const outcomeOf = async (report: Report, signal: AbortSignal): Promise<boolean> => {
    try {
      const outcome = await reports.report({ inc: report.inc, rows: report.rows }, signal);
      if (outcome.kind === "answered") {
        applyReportAnswer(ledger, report, outcome.rows, accounts.now(), reports.logNow());
        metrics.countReport("answered");
        loggedCode = "";
        return true;
      }
      metrics.countReport("refused");
      if (outcome.code !== loggedCode)
        log.warn("the cluster refused a budget report of this node", { code: outcome.code });
      loggedCode = outcome.code;
    } catch (error) {
      metrics.countReport("lost");
      log.debug("a budget report of this node was lost; the next report includes it", { error });
    }
    giveUpReport(ledger, report, accounts.now());
    return false;
  };

  return {
    onLedgerChanged() {
      if (isScheduled || isEnding || !hasUrgentReport(ledger)) return;
      isScheduled = true;
      setImmediate(() => {
        isScheduled = false;
        sendDue();
      });
    },
    tick() {
      const latest = monotonic() - (isEnding ? LAST_LIMIT_MS : REPORT_LIMIT_MS);
      for (const { since, giveUp } of pending) if (since <= latest) giveUp();
      sendDue();
    },
    async sendNow() {
      await Promise.all(Array.from(pending, ({ ended }) => ended));
      sendDue();
      await Promise.all(Array.from(pending, ({ ended }) => ended));
    },
    async sendLast(prepare) {
      isEnding = true;
      await Promise.all(Array.from(pending, ({ ended }) => ended));
      for (;;) {
        prepare();
        const report = take();
        if (report === undefined) return;
        if (!(await sendReport(report))) await pause(PAUSE_MS);
      }
    },
    stop() {
      isStopped = true;
      for (const { giveUp } of pending) giveUp();
    },
    get isIdle() {
      return pending.size === 0;
    },
  };
}

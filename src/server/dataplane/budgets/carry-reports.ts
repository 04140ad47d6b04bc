/**
 * Sends the ledger's reports to the cluster and applies the answers. The contents of a lost report are included in the next one.
 * After a failure there is a short pause, so that a cluster that refuses is not asked in a loop. Source: cluster reference, 7.2
 * rule 5; the ledger's side is `core/budgets/reporting.ts`.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "../../../base/index.ts";
import { answered, isAsking, lost, type Report, takeReport } from "../../core/budgets/index.ts";
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

interface ReportCarrier {
  /**
   * Must be called after each change of the ledger. Urgent rows are sent together with everything added in this turn of the
   * event loop.
   */
  changed(): void;
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

interface Carried {
  /** Time at which the report was sent, in milliseconds of the monotonic clock. */
  readonly since: number;
  readonly giveUp: () => void;
  readonly ended: Promise<boolean>;
}

export function carryReports(
  accounts: Accounts,
  reports: UsageReports,
  { monotonic, log }: { readonly monotonic: () => number; readonly log: Log },
): ReportCarrier {
  const { ledger, metrics } = accounts;
  const underWay = new Set<Carried>();
  let isScheduled = false;
  let isEnding = false;
  let isStopped = false;
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let refusedAs = "";

  const take = (): Report | undefined =>
    isStopped || reports.incarnation() !== ledger.incarnation ? undefined : takeReport(ledger, accounts.now());

  const send = (): void => {
    if (isEnding || monotonic() < pausedUntil) return;
    for (let report = take(); report !== undefined; report = take()) void carry(report);
  };

  /** Sends a report. Resolves to whether it was answered; never rejects. */
  const carry = (report: Report): Promise<boolean> => {
    const aborting = new AbortController();
    const giveUp = (): void => {
      lost(ledger, report, accounts.now());
      aborting.abort();
    };
    const ended = exchange(report, aborting.signal).finally(() => underWay.delete(carried));
    const carried: Carried = { since: monotonic(), giveUp, ended };
    underWay.add(carried);
    return ended;
  };

  const exchange = async (report: Report, signal: AbortSignal): Promise<boolean> => {
    const isAnswered = await outcomeOf(report, signal);
    if (isStopped) return false;
    if (!isAnswered) pausedUntil = monotonic() + PAUSE_MS;
    accounts.changed();
    return isAnswered;
  };

  const outcomeOf = async (report: Report, signal: AbortSignal): Promise<boolean> => {
    try {
      const outcome = await reports.report({ inc: report.inc, rows: report.rows }, signal);
      if (outcome.kind === "answered") {
        answered(ledger, report, outcome.rows, accounts.now(), reports.logNow());
        metrics.reported("answered");
        refusedAs = "";
        return true;
      }
      metrics.reported("refused");
      if (outcome.code !== refusedAs)
        log.warn("the cluster refused a budget report of this node", { code: outcome.code });
      refusedAs = outcome.code;
    } catch (error) {
      metrics.reported("lost");
      log.debug("a budget report of this node was lost; the next report includes it", { error });
    }
    lost(ledger, report, accounts.now());
    return false;
  };

  return {
    changed() {
      if (isScheduled || isEnding || !isAsking(ledger)) return;
      isScheduled = true;
      setImmediate(() => {
        isScheduled = false;
        send();
      });
    },
    tick() {
      const latest = monotonic() - (isEnding ? LAST_LIMIT_MS : REPORT_LIMIT_MS);
      for (const { since, giveUp } of underWay) if (since <= latest) giveUp();
      send();
    },
    async sendNow() {
      await Promise.all(Array.from(underWay, ({ ended }) => ended));
      send();
      await Promise.all(Array.from(underWay, ({ ended }) => ended));
    },
    async sendLast(prepare) {
      isEnding = true;
      await Promise.all(Array.from(underWay, ({ ended }) => ended));
      for (;;) {
        prepare();
        const report = take();
        if (report === undefined) return;
        if (!(await carry(report))) await pause(PAUSE_MS);
      }
    },
    stop() {
      isStopped = true;
      for (const { giveUp } of underWay) giveUp();
    },
    get isIdle() {
      return underWay.size === 0;
    },
  };
}

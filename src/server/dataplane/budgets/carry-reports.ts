/**
 * Carries the ledger's reports to the cluster and their answers back. Each has two seconds: what a lost one said goes out
 * with the next. After one that failed nothing is sent for a moment, so that a cluster that refuses is not asked in a loop.
 * Source: cluster reference, 7.2 rule 5; the ledger's side is `core/budgets/reporting.ts`.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "../../../base/index.ts";
import { answered, isAsking, lost, type Report, takeReport } from "../../core/budgets/index.ts";
import type { Accounts } from "./accounts.ts";
import type { UsageReports } from "./types.ts";

/** Several elections. Whoever waits for an allowance has given up long before. */
const REPORT_LIMIT_MS = 2_000;
/** At the end: what was spent and is not used is told after it, and has little time. */
const LAST_LIMIT_MS = 1_000;
const PAUSE_MS = 100;

export interface ReportCarrier {
  /** To be called after each change of the ledger. What is urgent goes out with all that this turn of the loop adds. */
  changed(): void;
  /** To be called at every tick: sends what is due, and gives up what takes too long. */
  tick(): void;
  /** Sends what is due, after what is under way; resolves once that has ended. */
  sendNow(): Promise<void>;
  /**
   * The end: waits a second at most for what is under way, then sends all there is, one report after the other, and a lost
   * one again. `prepare` is called before each, since an answer may tell of grants that a lost one had asked for.
   */
  sendLast(prepare: () => void): Promise<void>;
  /** Nothing is sent any more at all, and nothing under way is waited for. */
  stop(): void;
  readonly isIdle: boolean;
}

interface Carried {
  /** Monotonic. */
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

  /** Resolves true when the report was answered. Never rejects. */
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
      if (outcome.code !== refusedAs) log.warn("the cluster refuses what this node spent", { code: outcome.code });
      refusedAs = outcome.code;
    } catch (error) {
      metrics.reported("lost");
      log.debug("a report of what this node spent is lost, and follows with the next", { error });
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

/**
 * Runs the ledger of this node: passes it the time and the cluster's answers, and carries out its reports and decisions.
 *
 * Normally a reservation only touches memory, without a promise or timer. A tick of 50 ms runs while there is a bucket. `now` is
 * the later of the clock and the time of the cluster's log. The log time advances between two entries, so that a wait also ends
 * if the log is ahead of the clock and gets no entries. Source: cluster reference, section 7.2.
 */
import type { Clock, Instruments, Log } from "../../../base/index.ts";
import {
  bucketOf,
  budgetRow,
  createAverages,
  createLedger,
  type LedgerOptions,
  nameOfShare,
  type Reservation,
  refusalOf,
  release,
  reportSoon,
  reserve,
  restart,
  returnAll,
  returnSpare,
  type ShareName,
  TICK_MS,
  takeDecided,
  tick,
  UNAVAILABLE,
} from "../../core/budgets/index.ts";
import type { Accounts } from "./accounts.ts";
import { demandOf, refusalFor } from "./demand.ts";
import { HeldCharge } from "./held-charge.ts";
import { createSessionCharge } from "./held-session.ts";
import { createLender } from "./lend.ts";
import { createBudgetMetrics } from "./metrics.ts";
import { createReportSender } from "./report-sender.ts";
import type { Charge, OpenBudgets, SessionCharge, Spending, UsageReports } from "./types.ts";

const CLOSE_LIMIT_MS = 2_000;
/** Timeout of the final reports without a leader: enough for one election. Without a quorum they would never be answered. */
const LEADERLESS_LIMIT_MS = 1_000;

export interface BudgetsOptions {
  /** Id of the node in the cluster. */
  readonly node: string;
  readonly clock: Clock;
  readonly reports: UsageReports;
  readonly instruments: Instruments;
  readonly log: Log;
  /** Options of a process that borrows from its node; absent for the node itself. */
  readonly ledger?: LedgerOptions;
  /** Called with the names of shares that this process holds no more units of. Only used with `ledger.borrows`. */
  readonly onForgotten?: (names: readonly ShareName[]) => void;
  /** Calls `run` every `ms` until the returned function is called. Default: a timer that does not keep the process alive. */
  readonly every?: (ms: number, run: () => void) => () => void;
}

export function openBudgets(options: BudgetsOptions): OpenBudgets {
  const { clock, reports, log, every = repeat } = options;
  const ledger = createLedger(options.node, reports.incarnation(), options.ledger);
  const refreshClusterState = (): void => {
    ledger.hasLeader = reports.hasLeader();
    ledger.pledges = reports.takesPledges();
    ledger.elapsed = clock.monotonic();
  };
  refreshClusterState();
  const averages = createAverages();
  const now = laterOf(clock, reports);
  const metrics = createBudgetMetrics(
    options.instruments,
    () => ledger.buckets.size,
    () => ledger.unusedUnits,
  );
  const waiting = new Map<Reservation, () => void>();
  let stopTicking: (() => void) | undefined;
  let isClosed = false;

  const accounts: Accounts = {
    ledger,
    averages,
    metrics,
    now,
    onLedgerChanged() {
      if (ledger.decided.length > 0) deliverDecisions();
      lender.proceed();
      reportSender.onLedgerChanged();
      if (stopTicking === undefined && !isClosed) stopTicking = every(TICK_MS, onTick);
    },
    whenDecided(reservation, decided) {
      const since = clock.monotonic();
      waiting.set(reservation, () => {
        metrics.observeWait((clock.monotonic() - since) / 1_000);
        decided();
      });
    },
    refusal(spending, reservation) {
      const refusal = (reservation && refusalOf(reservation, now())) ?? UNAVAILABLE;
      metrics.countRefusal(spending.rule.name, refusal.code);
      return refusalFor(spending, refusal, {
        endsAt: reservation?.share.endsAt ?? 0,
        soft: reservation?.soft ?? 0,
        ...(reservation !== undefined && { needed: { least: reservation.least, most: reservation.hard } }),
      });
    },
  };
  const reportSender = createReportSender(accounts, reports, { monotonic: () => clock.monotonic(), log });
  const lender = createLender(accounts, () => clock.monotonic());

  const deliverDecisions = (): void => {
    // A callback may release units that other reservations wait for, so the loop continues until nothing is decided.
    while (ledger.decided.length > 0) {
      for (const reservation of takeDecided(ledger)) {
        const decided = waiting.get(reservation);
        waiting.delete(reservation);
        decided?.();
      }
    }
  };

  const onTick = (): void => {
    refreshClusterState();
    tick(ledger, now(), ledger.elapsed);
    deliverDecisions();
    lender.proceed();
    reportSender.tick();
    reportForgotten();
    metrics.updateTotals(ledger.counts);
    if (ledger.buckets.size > 0 || !reportSender.isIdle) return;
    stopTicking?.();
    stopTicking = undefined;
  };

  const reportForgotten = (): void => {
    if (ledger.forgotten.length === 0) return;
    options.onForgotten?.(ledger.forgotten.map(nameOfShare));
    ledger.forgotten = [];
  };

  const onIncarnation = (): void => {
    refreshClusterState();
    const incarnation = reports.incarnation();
    if (incarnation === 0 || incarnation === ledger.incarnation || isClosed) return;
    restart(ledger, incarnation, now());
    lender.onRestart();
    accounts.onLedgerChanged();
  };
  const unlisten = reports.onIncarnation(onIncarnation);

  /** Reserves units. `held` converts a held reservation to the caller's result. */
  function reserveUnits<Held>(
    spending: Spending,
    isSession: boolean,
    held: (reservation: Reservation) => Held,
  ): Held | Promise<Held> {
    const bucket = isClosed ? undefined : bucketOf(ledger, spending.bucket, spending.rule);
    if (bucket === undefined) throw accounts.refusal(spending, undefined);
    const demand = demandOf(spending, averages, metrics);
    const reservation = reserve(ledger, bucket, demand, now(), isSession ? SESSION : undefined);
    accounts.onLedgerChanged();
    if (reservation.state === "held") return held(reservation);
    if (reservation.state !== "waiting") throw accounts.refusal(spending, reservation);
    return new Promise((resolve, reject) => {
      accounts.whenDecided(reservation, () => {
        if (reservation.state === "held") resolve(held(reservation));
        else reject(accounts.refusal(spending, reservation));
      });
    });
  }

  return {
    reserve: (spending: Spending): Charge | Promise<Charge> =>
      reserveUnits(spending, false, (reservation) => new HeldCharge(accounts, spending, reservation)),
    reserveSession(spending, onExhausted): SessionCharge | Promise<SessionCharge> {
      return reserveUnits(spending, true, (reservation) =>
        createSessionCharge(accounts, spending, reservation, onExhausted),
      );
    },
    row: (question) => budgetRow(ledger, question, now()),
    buckets: () => ledger.buckets.keys(),
    now,
    lendTo: lender.open,
    giveBack(name) {
      const returned = returnSpare(ledger, name, now());
      accounts.onLedgerChanged();
      return returned;
    },
    async reportNow() {
      reportSoon(ledger);
      await reportSender.sendNow();
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      unlisten();
      for (const [reservation, decided] of waiting) {
        release(ledger, reservation, now());
        decided();
      }
      waiting.clear();
      let timer: NodeJS.Timeout | undefined;
      const limit = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, reports.hasLeader() ? CLOSE_LIMIT_MS : LEADERLESS_LIMIT_MS);
      });
      await Promise.race([reportSender.sendLast(() => returnAll(ledger, now())), limit]);
      clearTimeout(timer);
      reportSender.stop();
      stopTicking?.();
      metrics.updateTotals(ledger.counts);
    },
  };
}

const SESSION = { isSession: true } as const;

function repeat(ms: number, run: () => void): () => void {
  const timer = setInterval(run, ms);
  timer.unref();
  return () => clearInterval(timer);
}

/** Returns a clock in whole milliseconds since 1970: the later of the local clock and the cluster's log. */
function laterOf(clock: Clock, reports: UsageReports): () => number {
  let logNow = 0;
  /** Monotonic time of the last change of the log time; `undefined` if the log is not ahead of the clock. */
  let aheadSince: number | undefined;
  return () => {
    const local = clock.now();
    const reportedNow = reports.logNow();
    if (reportedNow !== logNow) {
      logNow = reportedNow;
      aheadSince = reportedNow > local ? clock.monotonic() : undefined;
    }
    return aheadSince === undefined ? local : Math.max(local, Math.trunc(logNow + clock.monotonic() - aheadSince));
  };
}

/**
 * Reconciliation of a node: every node has the ledger and its metrics, and the leader fetches and judges reports.
 * Source: specification document 3, `reconcile`; design decisions, section 14.
 *
 * The ledger shows when the next round is due, so a new leader continues where the old one stopped: no round is
 * repeated or skipped because of the change.
 */
import { anySignal, type Clock, type Instruments, type Log } from "../../base/index.ts";
import type { ReconciledProvider, ReconcileTargets } from "../snapshot/index.ts";
import { dayOf, lookbackWindow } from "./judge/days.ts";
import { createReconcileMetrics } from "./metrics.ts";
import type { ReconcilePorts } from "./ports.ts";
import { type Ledger, openLedger } from "./reconcile-ledger.ts";
import { recordBreaches } from "./record-breaches.ts";
import { runRound } from "./run-round.ts";

/** Maximum random addition to a delay, as a fraction of it. */
const JITTER = 0.1;
const PACE = {
  /** Delay after a start, a change of leader, or a change of the configuration, in milliseconds. */
  firstDelayMs: 2_000,
  /** Interval of checks, in milliseconds; needed because the clock may be set, and breaches of other nodes become due. */
  checkIntervalMs: 60_000,
};
/** Timeout of one provider's round, with all pages and retries, in milliseconds. */
const ROUND_LIMIT_MS = 600_000;
/** Minimum interval between two rounds, in milliseconds, whatever is configured. */
const MIN_INTERVAL_MS = 1_000;

interface ReconcilerOptions extends ReconcilePorts {
  readonly clock: Clock;
  readonly instruments: Instruments;
  readonly log: Log;
  /** Returns a random number from 0 to 1. */
  readonly random?: () => number;
  /** Delays in milliseconds; shorter in tests with a faster clock. */
  readonly pace?: { readonly firstDelayMs: number; readonly checkIntervalMs: number };
}

export interface Reconciler {
  readonly ledger: Ledger;
  /** Sets what is reconciled from now on; `undefined` stops fetching and keeps stored entries. */
  setTargets(audits: ReconcileTargets | undefined): void;
  /** Aborts a running round. */
  close(): Promise<void>;
}

export function openReconciler(options: ReconcilerOptions): Reconciler {
  const { rows, leadership, clock, instruments, log, random = Math.random, pace = PACE } = options;
  const ledger = openLedger(rows);
  const metrics = createReconcileMetrics(instruments);
  const ports = { ...options, ledger, now: clock.now };
  let audits: ReconcileTargets | undefined;
  /** Providers whose configuration changed since their last round. */
  const changed = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let round: { readonly end: AbortController; readonly finished: Promise<void> } | undefined;
  let isClosed = false;

  const scheduleCheck = (ms: number): void => {
    clearTimeout(timer);
    if (!isClosed) timer = setTimeout(check, ms).unref();
  };
  const scheduleFirstCheck = (): void => scheduleCheck(pace.firstDelayMs * (1 + random()));

  /** Returns the milliseconds until the provider's next round. */
  const dueIn = ({ provider }: ReconciledProvider, { intervalMs }: ReconcileTargets): number => {
    const last = ledger.round(provider)?.value.triedAt;
    if (last === undefined || changed.has(provider)) return 0;
    const interval = Math.max(intervalMs, MIN_INTERVAL_MS);
    const passed = clock.now() - last;
    // A time in the future comes from a clock that was wrong.
    return passed < 0 ? 0 : interval - passed;
  };

  function check(): void {
    updateMetrics();
    if (round !== undefined || isClosed) return;
    if (!leadership.isLeader() || audits === undefined) {
      scheduleCheck(pace.checkIntervalMs);
      return;
    }
    const end = new AbortController();
    const finished = runDueRounds(audits, end.signal)
      .catch((error: unknown) => {
        if (!end.signal.aborted) log.warn("a reconciliation run was not finished", { error });
      })
      .then(() => {
        round = undefined;
        const now = audits;
        const next = Math.min(
          pace.checkIntervalMs,
          ...(now?.providers ?? []).map((it) => dueIn(it, now as ReconcileTargets)),
        );
        scheduleCheck(Math.max(Math.min(MIN_INTERVAL_MS, pace.checkIntervalMs), next) * (1 + JITTER * random()));
      });
    round = { end, finished };
  }

  async function runDueRounds(now: ReconcileTargets, signal: AbortSignal): Promise<void> {
    await recordBreaches(ports, signal);
    for (const audited of now.providers) {
      const { provider } = audited;
      if (dueIn(audited, now) > 0) continue;
      changed.delete(provider);
      const limited = anySignal([signal, AbortSignal.timeout(ROUND_LIMIT_MS)]);
      try {
        const { isFetched, isStale } = await runRound(audited, now, ports, limited);
        metrics.countRound(provider, isFetched);
        if (isStale) changed.add(provider);
      } catch (error) {
        signal.throwIfAborted();
        metrics.countRound(provider, false);
        log.warn("a reconciliation run was not finished", { provider, error });
      }
      await recordBreaches(ports, signal);
    }
    await removeExpired(now, signal);
  }

  /** Removes expired entries, and rounds of providers that are no longer reconciled. */
  async function removeExpired({ retentionMs, providers }: ReconcileTargets, signal: AbortSignal): Promise<void> {
    const names = new Set(providers.map(({ provider }) => provider));
    for (const { value } of [...ledger.rounds()]) {
      if (!names.has(value.provider)) await rows.deleteRound(value.provider, signal);
    }
    if (retentionMs === undefined) return;
    const before = dayOf(Math.max(0, clock.now() - retentionMs));
    if (!Array.from(ledger.entries()).some(({ value }) => value.day < before)) return;
    while (await rows.deleteDaysBefore(before, signal)) signal.throwIfAborted();
  }

  function updateMetrics(): void {
    const names = new Set(audits?.providers.map(({ provider }) => provider));
    const first = dayOf(lookbackWindow(clock.now(), audits?.lookbackMs ?? 0).from);
    const recent = Array.from(ledger.entries(), ({ value }) => value);
    metrics.setBreaches(recent.filter(({ day, provider }) => day >= first && names.has(provider)));
  }

  const unwatch = ledger.onChange(updateMetrics);
  let isLeading = leadership.isLeader();
  const unlisten = leadership.onChange(() => {
    const leads = leadership.isLeader();
    if (leads === isLeading) return;
    isLeading = leads;
    if (!leads) round?.end.abort();
    else if (round === undefined) scheduleFirstCheck();
  });

  return {
    ledger,
    setTargets(next) {
      const before = new Map(audits?.providers.map((it) => [it.provider, it]));
      for (const audited of next?.providers ?? []) {
        const known = before.get(audited.provider);
        const rules = (of: ReconcileTargets | undefined) =>
          of && [of.lagMs, of.lookbackMs, of.driftRatio, of.driftFloor];
        const same = JSON.stringify([known, rules(audits)]) === JSON.stringify([audited, rules(next)]);
        // At a start nothing has changed; the ledger shows when the next round is due.
        if (audits !== undefined && !same) changed.add(audited.provider);
      }
      audits = next;
      if (next === undefined) round?.end.abort();
      updateMetrics();
      scheduleFirstCheck();
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      unwatch();
      unlisten();
      round?.end.abort();
      await round?.finished;
      ledger.close();
    },
  };
}

/**
 * Reports the usage of this node's callers to the cluster, once a minute and at shutdown. A report is repeated unchanged under
 * the same number until its outcome is known; only then does the next one follow. If the outcome can no longer be known, because
 * the process has a new incarnation number in the cluster, the report is dropped: the ledger may count too little, but never too
 * much.
 */
import { type Instruments, type Log, pause } from "../../base/index.ts";
import type { Use } from "../core/budgets/index.ts";
import { type Accumulator, createAccumulator, type TakenReport } from "./accumulator.ts";
import type { AddOutcome, LedgerReports } from "./types.ts";

const REPORT_EVERY_MS = 60_000;
const MIN_INTERVAL_MS = 100;
/** Delay after a report whose outcome is unknown, in milliseconds. */
const UNKNOWN_OUTCOME_RETRY_MS = 5_000;
const CLOSE_LIMIT_MS = 2_000;
const LEADERLESS_LIMIT_MS = 500;

interface LedgerOptions {
  readonly reports: LedgerReports;
  /** Returns the time in milliseconds since 1970. */
  readonly now: () => number;
  readonly instruments: Instruments;
  readonly log: Pick<Log, "info" | "warn" | "error" | "debug">;
  /** Interval of reports, in milliseconds; 60,000 by default. */
  readonly everyMs?: number | undefined;
}

interface OpenLedger {
  /** Adds usage in memory. Never throws. */
  add(use: Use): void;
  /** Reports the remaining usage within the limit of the shutdown. */
  close(): Promise<void>;
}

interface Pending extends TakenReport {
  /** Whether the report may have been added already: an attempt was made, and its outcome is unknown. */
  isUncertain: boolean;
}

const EMPTY: TakenReport = { report: { names: [], rows: "", metered: "" }, requests: 0 };

export function openLedger(options: LedgerOptions): OpenLedger {
  const { reports, now, instruments, log } = options;
  const everyMs = Math.max(MIN_INTERVAL_MS, options.everyMs ?? REPORT_EVERY_MS);
  const accumulator: Accumulator = createAccumulator(now);
  const stop = new AbortController();
  let incarnation = 0;
  /** Sequence number of the last report that was added. */
  let sequence = 0;
  let pending: Pending | undefined;
  let sending: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const outcomes = instruments.counter(
    "gateway_usage_reports_total",
    "Reports of this node to the usage ledger, by outcome. Reports with an unknown outcome are sent again.",
    ["outcome"],
  );
  const lost = instruments
    .counter(
      "gateway_usage_lost_requests_total",
      "Requests that may be missing in the usage ledger, because the outcome of their report is unknown.",
      [],
    )
    .with();
  instruments.observedGauge(
    "gateway_usage_unreported_requests",
    "Requests that this node has not reported to the usage ledger yet, and would lose if it were killed.",
    () => accumulator.requests + (pending?.requests ?? 0),
  );

  const giveUp = (report: Pending, reason: string): void => {
    lost.inc(report.requests);
    if (report.requests > 0) log.warn("usage is missing in the ledger", { requests: report.requests, why: reason });
    pending = undefined;
  };

  /**
   * Restarts the numbering if the process has a new incarnation number. The outcome of pending reports can no longer be known
   * then.
   */
  const followIncarnation = (): void => {
    const current = reports.incarnation();
    if (current === incarnation || current === 0) return;
    incarnation = current;
    sequence = 0;
    if (pending?.isUncertain === true) giveUp(pending, "the state was replaced, or the node was restarted");
  };
  const unlisten = reports.onIncarnation(followIncarnation);

  const takeNext = (): Pending | undefined => {
    const taken = accumulator.take() ?? (reports.mustRollUp() && !isClosed ? EMPTY : undefined);
    return taken && { ...taken, isUncertain: false };
  };

  /** Handles the outcome of a report. Returns true if there may be more to send at once. */
  const handleOutcome = (sent: Pending, wasUncertain: boolean, outcome: AddOutcome): boolean => {
    // The incarnation number has changed since the report was sent.
    if (pending !== sent) return false;
    switch (outcome.kind) {
      case "added":
        outcomes.with("added").inc();
        sequence += 1;
        pending = undefined;
        return sent.requests > 0 || !isClosed;
      case "known":
        sequence = Math.max(sequence + 1, outcome.last);
        if (wasUncertain) pending = undefined;
        else sent.isUncertain = false;
        return true;
      case "refused":
        outcomes.with("refused").inc();
        // A refusal of this attempt does not tell whether an earlier one was added.
        sent.isUncertain = wasUncertain;
        return handleRefusal(sent, outcome.code);
    }
  };
  const handleRefusal = (sent: Pending, code: string): boolean => {
    switch (code) {
      case "feature_level":
      case "not_a_member":
      case "stale_incarnation":
        log.debug("the cluster does not accept usage from this node yet", { code });
        return false;
      case "sequence_gap":
        sequence = 0;
        if (sent.isUncertain) giveUp(sent, code);
        return true;
      default:
        log.error("the cluster refused a usage report of this node", { code });
        giveUp(sent, code);
        return true;
    }
  };

  const send = async (): Promise<void> => {
    let hasMore = true;
    while (hasMore && !stop.signal.aborted) {
      followIncarnation();
      if (incarnation === 0 || !reports.takesReports()) return;
      pending ??= takeNext();
      if (pending === undefined) return;
      const sent = pending;
      const wasUncertain = sent.isUncertain;
      sent.isUncertain = true;
      try {
        hasMore = handleOutcome(
          sent,
          wasUncertain,
          await reports.add(incarnation, sequence + 1, sent.report, stop.signal),
        );
      } catch (error) {
        outcomes.with("unknown").inc();
        log.debug("it is not known whether a usage report was added; it will be sent again", { error });
        hasMore = false;
      }
    }
  };

  const flush = (): Promise<void> => {
    clearTimeout(timer);
    sending ??= send().finally(() => {
      sending = undefined;
      if (isClosed) return;
      clearTimeout(timer);
      timer = setTimeout(
        () => void flush(),
        pending === undefined ? everyMs : Math.min(everyMs, UNKNOWN_OUTCOME_RETRY_MS),
      ).unref();
    });
    return sending;
  };
  timer = setTimeout(() => void flush(), everyMs).unref();

  return {
    add: accumulator.add,
    async close() {
      if (isClosed) return;
      isClosed = true;
      clearTimeout(timer);
      const sendRest = async (): Promise<void> => {
        await sending;
        // While a member does not support the ledger, the shutdown does not wait.
        while ((pending !== undefined || accumulator.requests > 0) && reports.takesReports() && !stop.signal.aborted) {
          await flush();
          // Nothing can be sent before the cluster has recorded this start. The pause keeps this loop from spinning.
          if (pending !== undefined || incarnation === 0) await pause(LEADERLESS_LIMIT_MS / 5, stop.signal);
        }
      };
      const limit = setTimeout(() => stop.abort(), reports.hasLeader() ? CLOSE_LIMIT_MS : LEADERLESS_LIMIT_MS);
      await sendRest();
      clearTimeout(limit);
      unlisten();
      const left = accumulator.requests + (pending?.requests ?? 0);
      if (left > 0) log.warn("this node stopped before all usage was in the ledger", { requests: left });
    },
  };
}

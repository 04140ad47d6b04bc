/**
 * Reports of spending, requests for more units, and their answers.
 *
 * A report contains running totals of this incarnation, never differences, so lost, repeated or late reports do no harm. A share
 * is in at most one running report, and so has at most one outstanding request. A grant is reported as the total ever granted,
 * so the next answer repairs a lost one. Only `want` is not a total: the sender of a report must resend it under the same
 * command sequence until its outcome is known. Otherwise a grant may be made twice, which blocks units until they are returned
 * but never hands out too many. Source: cluster reference, 7.2.
 */

import { windowAt } from "./budget-windows.ts";
import { MAX_UNITS } from "./cost-units.ts";
import { hasPassed, type Ledger, type Share, spareOf } from "./ledger.ts";
import {
  decideQueue,
  heldByWaiting,
  markAnswered,
  markSent,
  markUnsent,
  needOf,
  pledgeOf,
  requestWhenLow,
  wantOf,
} from "./reserving.ts";

const MAX_ROWS = 500;
/** Maximum length of a report as JSON, in characters. `ROW_LENGTH` is the maximum of a row without its name. */
const MAX_LENGTH = 65_536;
const ROW_LENGTH = 200;
/** Maximum number of running reports, so that others get through while a lost one is waited for. */
const MAX_PENDING_REPORTS = 4;
/** Weights of a new answer time in the moving average, if it is longer or shorter than the average. */
const RISE_WEIGHT = 1 / 2;
const FALL_WEIGHT = 1 / 16;
/** Pause after an answer that granted nothing although units were left, since the clock here is behind the leader's. */
const QUIET_MS = 50;

/** Row of the command `usage.report`. */
export interface ReportRow {
  readonly b: string;
  readonly w: number;
  readonly window_ms: number;
  readonly limit: number;
  readonly limit_rev: number;
  readonly spent: number;
  readonly want: number;
  /** Part of `want` that waiting requests need; absent if none wait. */
  readonly need?: number;
  readonly ret: number;
  /** Maximum of `spent` before a later report is answered; absent if some members do not know this field. */
  readonly pledge?: number;
  /** Sequence number of this bucket's reports; sent with `pledge`. */
  readonly seq?: number;
  /** Facts for a lender; absent in reports to the cluster. */
  readonly loan?: LoanFacts;
}

/** Facts about a share that only a lender receives. */
interface LoanFacts {
  /** Units that no request of this process can need. */
  readonly spare: number;
  /** Units held by running requests, above their charges. */
  readonly reserved: number;
  /** Recent admission amount of requests. */
  readonly typical: number;
  /** Minimum pledge with which waiting requests can continue; 0 if none wait. */
  readonly floor: number;
}

/** Fields of the command `usage.report`, and what the ledger needs when the report is answered. */
export interface Report {
  readonly node: string;
  readonly inc: number;
  readonly rows: readonly ReportRow[];
  readonly id: number;
  /** Sending time, in elapsed time; leases that it renews begin then. */
  readonly sentAt: number;
  readonly shares: readonly Share[];
}

/** Answer to one row of a report. */
export interface ReportAnswer {
  readonly b: string;
  readonly w: number;
  readonly window_ms: number;
  readonly granted: number;
  readonly remaining: number;
  /** Units returned or taken back; present only if a pledge was reported. */
  readonly returned?: number;
  /** Pledge accepted by a lender, which may be less than requested. */
  readonly pledge?: number;
  /** Time since the lender's own lease began, in milliseconds; sent only by a lender. */
  readonly age?: number;
}

/** Makes all spending due for a report now. A ledger that borrows also reports changed reservations. */
export function reportSoon(ledger: Ledger): void {
  ledger.reportedAt = Number.NEGATIVE_INFINITY;
  if (!ledger.borrows) return;
  for (const { shares } of ledger.buckets.values()) {
    for (const share of shares.values()) {
      if (!share.isClosed && share.reserved !== share.reportedReserved) ledger.dirty.add(share);
    }
  }
}

/**
 * Returns the next report to send, or `undefined` if none is due. Call it until it returns `undefined`: at every tick, and as
 * soon as `hasUrgentReport`. Each report must be passed to `applyReportAnswer` or `giveUpReport`.
 */
export function takeReport(ledger: Ledger, now: number): Report | undefined {
  if (ledger.incarnation === 0 || ledger.pendingReports.size >= MAX_PENDING_REPORTS) return undefined;
  const isDue = ledger.dirty.size > 0 && hasPassed(ledger.reportedAt, ledger.reportMs, now);
  if (ledger.urgent.size === 0 && !isDue) return undefined;

  const shares: Share[] = [];
  let length = 0;
  const takeFrom = (from: Set<Share>): boolean => {
    for (const share of from) {
      if (share.reportId !== 0) continue;
      const rowLength = ROW_LENGTH + share.bucket.name.length;
      if (shares.length === MAX_ROWS || length + rowLength > MAX_LENGTH) return false;
      ledger.urgent.delete(share);
      ledger.dirty.delete(share);
      if (share.isClosed) continue;
      shares.push(share);
      share.reportId = ledger.lastReportId + 1;
      length += rowLength;
    }
    return true;
  };
  const isComplete = takeFrom(ledger.urgent) && isDue && takeFrom(ledger.dirty);
  if (shares.length === 0) return undefined;
  if (isComplete) ledger.reportedAt = now;
  ledger.lastReportId += 1;
  ledger.pendingReports.add(ledger.lastReportId);
  const rows = shares.map((share) => rowOf(ledger, share, now));
  const { node, incarnation: inc, lastReportId: id, elapsed } = ledger;
  return { node, inc, rows, id, sentAt: elapsed ?? now, shares };
}

/** Returns true if a request waits or units run low, so that `takeReport` has a report before the interval ends. */
export const hasUrgentReport = (ledger: Ledger): boolean =>
  ledger.urgent.size > 0 && ledger.incarnation !== 0 && ledger.pendingReports.size < MAX_PENDING_REPORTS;

function rowOf(ledger: Ledger, share: Share, now: number): ReportRow {
  const { name, windowMs, limit, limitRev } = share.bucket;
  const need = needOf(share, now);
  markSent(share);
  return {
    b: name,
    w: share.window,
    window_ms: windowMs,
    limit,
    limit_rev: limitRev,
    spent: Math.min(share.spent, MAX_UNITS),
    want: wantOf(ledger, share, now),
    ...(need > 0 && { need }),
    ret: share.returned,
    ...(ledger.pledges && takePledge(ledger, share, now)),
    ...(ledger.borrows && { loan: factsOf(share) }),
  };
}

function factsOf(share: Share): LoanFacts {
  const waiting = heldByWaiting(share);
  share.reportedReserved = share.reserved;
  return {
    spare: Math.max(0, spareOf(share)),
    reserved: share.reserved,
    typical: Math.ceil(share.bucket.typical),
    floor: share.queue.length === 0 ? 0 : share.spent + share.reserved + waiting,
  };
}

/**
 * Returns the pledge to report. A smaller pledge takes effect now, since the cluster may apply it before the answer arrives; a
 * larger one takes effect with its answer.
 */
function takePledge(ledger: Ledger, share: Share, now: number): Pick<ReportRow, "pledge" | "seq"> {
  const pledge = pledgeOf(ledger, share, now);
  share.pledged = Math.min(share.pledged, pledge);
  share.seq += 1;
  return { pledge, seq: share.seq };
}

/**
 * Takes the answer to a report. `logNow` is the last known log time, and distinguishes a clock that runs ahead from an exhausted
 * budget. A repeated answer, or one to an earlier incarnation, changes nothing. An answer without rows (a repeated command whose
 * answer was too long to be remembered) counts as `giveUpReport`.
 */
export function applyReportAnswer(
  ledger: Ledger,
  report: Report,
  answers: readonly ReportAnswer[],
  now: number,
  logNow: number = now,
): void {
  if (ledger.pendingReports.has(report.id)) {
    const tookMs = Math.max(0, (ledger.elapsed ?? now) - report.sentAt);
    ledger.answerMs += (tookMs - ledger.answerMs) * (tookMs > ledger.answerMs ? RISE_WEIGHT : FALL_WEIGHT);
  }
  report.shares.forEach((share, at) => {
    const row = report.rows[at];
    const answer = answers[at];
    if (row === undefined || answer === undefined || !answersRow(row, answer) || share.isClosed) return;
    const grew = answer.granted > share.granted;
    if (grew) share.granted = answer.granted;
    share.returned = Math.max(share.returned, answer.returned ?? 0);
    share.renewedAt = Math.max(share.renewedAt, report.sentAt - (answer.age ?? 0));
    if (share.reportId === report.id) applyRowAnswer(ledger, share, row, answer, { grew, now, logNow });
    else if (grew) decideQueue(ledger, share, now);
  });
  finishReport(ledger, report, now);
}

const answersRow = (row: ReportRow, answer: ReportAnswer): boolean =>
  row.b === answer.b && row.w === answer.w && row.window_ms === answer.window_ms;

function applyRowAnswer(
  ledger: Ledger,
  share: Share,
  row: ReportRow,
  answer: ReportAnswer,
  { grew: hasGrown, now, logNow }: { readonly grew: boolean; readonly now: number; readonly logNow: number },
): void {
  share.reportId = 0;
  share.pledged = answer.pledge ?? row.pledge ?? Number.POSITIVE_INFINITY;
  // A grant below the previous one means that the row was skipped, for example because its window is too far from the leader's.
  if (answer.granted >= share.granted) {
    share.ackedSpent = Math.max(share.ackedSpent, row.spent);
    share.ackedReturned = row.ret;
  }
  if (share.spent > row.spent || share.returned > row.ret) ledger.dirty.add(share);
  const isAhead = share.window > windowAt(logNow, share.bucket.windowMs) + 1;
  const isRefused = row.want > 0 && !hasGrown && (isAhead || answer.remaining > 0);
  const isOfThisLimit = row.limit_rev === share.bucket.limitRev;
  share.remaining = isRefused || !isOfThisLimit ? undefined : answer.remaining;
  share.answeredAt = now;
  markAnswered(share);
  share.quietUntil = isRefused ? now + QUIET_MS : Number.NEGATIVE_INFINITY;
  decideQueue(ledger, share, now);
  if (now < share.endsAt) requestWhenLow(ledger, share, now);
}

/**
 * Gives up a report that may or may not have been applied, and is not resent. The next report contains its totals; a later
 * answer is still used. A refused report counts as lost too; if it was refused for a stale incarnation or an unknown member, the
 * node starts again and calls `restart`.
 */
export function giveUpReport(ledger: Ledger, report: Report, now: number): void {
  finishReport(ledger, report, now);
}

function finishReport(ledger: Ledger, report: Report, now: number): void {
  if (!ledger.pendingReports.delete(report.id)) return;
  for (const share of report.shares) {
    if (share.reportId !== report.id) continue;
    share.reportId = 0;
    markUnsent(share);
    ledger.dirty.add(share);
    decideQueue(ledger, share, now);
  }
}

/**
 * Restarts with a new incarnation number: the process started, the state was replaced, or its reports are refused as stale.
 * Earlier pledges are charged by the cluster and not used any more, except for what is reserved from them. Waiting requests
 * continue to wait. Revisions of limits are forgotten, since those of a restored state are lower.
 */
export function restart(ledger: Ledger, incarnation: number, now: number): void {
  ledger.incarnation = incarnation;
  ledger.urgent.clear();
  ledger.dirty.clear();
  ledger.pendingReports.clear();
  ledger.unsettledSince = now;
  for (const bucket of ledger.buckets.values()) {
    const closed = [...bucket.shares.values()];
    bucket.shares.clear();
    bucket.latest = undefined;
    bucket.limitRev = 0;
    for (const share of closed) {
      share.isClosed = true;
      // At most the pledge is charged of the grant. Usage above the pledge, by requests that cost more than they had reserved,
      // is not charged to anyone.
      share.granted = Math.min(share.granted, share.returned + share.pledged);
      share.pledged = Number.POSITIVE_INFINITY;
      const paid = Math.max(share.ackedSpent, share.granted - share.returned);
      ledger.counts.unreported += Math.max(0, share.spent - paid);
      decideQueue(ledger, share, now);
    }
  }
}

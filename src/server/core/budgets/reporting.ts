/**
 * Reports of spending, requests for more units, and their answers.
 *
 * A report contains running totals of this incarnation, never differences, so lost, repeated or late ones do no harm. A share
 * is in at most one report under way, and so has at most one request outstanding. A grant is reported as the total ever
 * granted, so the next answer repairs a lost one. Only `want` is not a total: the sender of a report must resend it under the
 * same command sequence until its outcome is known. Otherwise a grant may be made twice, which blocks units until they are
 * returned but never hands out too many. Source: cluster reference, 7.2.
 */

import { windowAt } from "./budget-windows.ts";
import { MAX_UNITS } from "./cost-units.ts";
import { isPast, type Ledger, type Share, spareOf } from "./ledger.ts";
import {
  askWhenLow,
  decideQueue,
  heldByWaiting,
  needOf,
  noteAnswered,
  noteAsked,
  noteUnanswered,
  pledgeOf,
  wantOf,
} from "./reserving.ts";

const MAX_ROWS = 500;
/** Maximum length of a report as JSON, in characters; a row has at most `ROW_LENGTH` beside its name. */
const MAX_LENGTH = 65_536;
const ROW_LENGTH = 200;
/** While a lost one is waited for, others still get through. */
const MAX_REPORTS_UNDER_WAY = 4;
/** Answers that take longer are believed sooner than those that take less. */
const RISING = 1 / 2;
const FALLING = 1 / 16;
/** Pause after an answer that granted nothing although units were left: the clock here is behind the leader's. */
const QUIET_MS = 50;

/** A row of the command `usage.report`. */
export interface ReportRow {
  readonly b: string;
  readonly w: number;
  readonly window_ms: number;
  readonly limit: number;
  readonly limit_rev: number;
  readonly spent: number;
  readonly want: number;
  /** Part of `want` for which requests are waiting now; absent if there are none. */
  readonly need?: number;
  readonly ret: number;
  /** Total that `spent` will not exceed before a later report is answered; absent if some members do not know it. */
  readonly pledge?: number;
  /** Sequence number of this bucket's reports; sent with `pledge`. */
  readonly seq?: number;
  /** Sent only to a lender. */
  readonly loan?: LoanFacts;
}

/** Facts about a share that only a lender gets. */
export interface LoanFacts {
  /** Units that nothing here may come to need. */
  readonly spare: number;
  /** Held by requests under way, above their charges. */
  readonly reserved: number;
  /** Recent admission amount of requests. */
  readonly typical: number;
  /** Minimum pledge with which waiting requests can continue; 0 if none wait. */
  readonly floor: number;
}

/** Fields of the command `usage.report`, and what the ledger needs when it is answered. */
export interface Report {
  readonly node: string;
  readonly inc: number;
  readonly rows: readonly ReportRow[];
  readonly id: number;
  /** In elapsed time: the lease of what it renews begins here. */
  readonly sentAt: number;
  readonly shares: readonly Share[];
}

/** Answer to a row. */
export interface ReportAnswer {
  readonly b: string;
  readonly w: number;
  readonly window_ms: number;
  readonly granted: number;
  readonly remaining: number;
  /** Units returned or taken back; only if a pledge was reported. */
  readonly returned?: number;
  /** From a lender, which may pledge less than requested. */
  readonly pledge?: number;
  /** From a lender: time since its own lease began, in milliseconds. */
  readonly age?: number;
}

/** Makes spending due for a report at once, and also what requests hold if a lender needs to know. */
export function reportSoon(ledger: Ledger): void {
  ledger.reportedAt = Number.NEGATIVE_INFINITY;
  if (!ledger.borrows) return;
  for (const { shares } of ledger.buckets.values()) {
    for (const share of shares.values()) {
      if (!share.isClosed && share.reserved !== share.toldReserved) ledger.dirty.add(share);
    }
  }
}

/**
 * Returns the next report to send, or `undefined`. Call it until it returns `undefined`: at every tick, and as soon as
 * `isAsking`. Each report must be passed to `answered` or `lost`.
 */
export function takeReport(ledger: Ledger, now: number): Report | undefined {
  if (ledger.incarnation === 0 || ledger.underWay.size >= MAX_REPORTS_UNDER_WAY) return undefined;
  const isDue = ledger.dirty.size > 0 && isPast(ledger.reportedAt, ledger.reportMs, now);
  if (ledger.urgent.size === 0 && !isDue) return undefined;

  const shares: Share[] = [];
  let length = 0;
  const take = (from: Set<Share>): boolean => {
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
  const isWhole = take(ledger.urgent) && isDue && take(ledger.dirty);
  if (shares.length === 0) return undefined;
  if (isWhole) ledger.reportedAt = now;
  ledger.lastReportId += 1;
  ledger.underWay.add(ledger.lastReportId);
  const rows = shares.map((share) => rowOf(ledger, share, now));
  const { node, incarnation: inc, lastReportId: id, elapsed } = ledger;
  return { node, inc, rows, id, sentAt: elapsed ?? now, shares };
}

/** Returns whether something waits or runs low, so that `takeReport` has a report before its interval is over. */
export const isAsking = (ledger: Ledger): boolean =>
  ledger.urgent.size > 0 && ledger.incarnation !== 0 && ledger.underWay.size < MAX_REPORTS_UNDER_WAY;

function rowOf(ledger: Ledger, share: Share, now: number): ReportRow {
  const { name, windowMs, limit, limitRev } = share.bucket;
  const need = needOf(share, now);
  noteAsked(share);
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
    ...(ledger.pledges && pledged(ledger, share, now)),
    ...(ledger.borrows && { loan: factsOf(share) }),
  };
}

function factsOf(share: Share): LoanFacts {
  const waiting = heldByWaiting(share);
  share.toldReserved = share.reserved;
  return {
    spare: Math.max(0, spareOf(share)),
    reserved: share.reserved,
    typical: Math.ceil(share.bucket.typical),
    floor: share.queue.length === 0 ? 0 : share.spent + share.reserved + waiting,
  };
}

/** A smaller pledge is effective at once, since it may be known before its answer arrives; a larger one with its answer. */
function pledged(ledger: Ledger, share: Share, now: number): Pick<ReportRow, "pledge" | "seq"> {
  const pledge = pledgeOf(ledger, share, now);
  share.pledged = Math.min(share.pledged, pledge);
  share.seq += 1;
  return { pledge, seq: share.seq };
}

/**
 * Takes the answer to a report. `logNow`: log time as last seen here, which tells a clock that runs ahead from an exhausted
 * budget. A repeated answer, or one to an earlier incarnation, changes nothing; one without rows (a repeated command whose
 * answer was too long to be remembered) counts as `lost`.
 */
export function answered(
  ledger: Ledger,
  report: Report,
  answers: readonly ReportAnswer[],
  now: number,
  logNow: number = now,
): void {
  if (ledger.underWay.has(report.id)) {
    const tookMs = Math.max(0, (ledger.elapsed ?? now) - report.sentAt);
    ledger.answerMs += (tookMs - ledger.answerMs) * (tookMs > ledger.answerMs ? RISING : FALLING);
  }
  report.shares.forEach((share, at) => {
    const row = report.rows[at];
    const answer = answers[at];
    if (row === undefined || answer === undefined || !isFor(row, answer) || share.isClosed) return;
    const grew = answer.granted > share.granted;
    if (grew) share.granted = answer.granted;
    share.returned = Math.max(share.returned, answer.returned ?? 0);
    share.renewedAt = Math.max(share.renewedAt, report.sentAt - (answer.age ?? 0));
    if (share.reportId === report.id) settleRow(ledger, share, row, answer, { grew, now, logNow });
    else if (grew) decideQueue(ledger, share, now);
  });
  finish(ledger, report, now);
}

const isFor = (row: ReportRow, answer: ReportAnswer): boolean =>
  row.b === answer.b && row.w === answer.w && row.window_ms === answer.window_ms;

function settleRow(
  ledger: Ledger,
  share: Share,
  row: ReportRow,
  answer: ReportAnswer,
  { grew, now, logNow }: { readonly grew: boolean; readonly now: number; readonly logNow: number },
): void {
  share.reportId = 0;
  share.pledged = answer.pledge ?? row.pledge ?? Number.POSITIVE_INFINITY;
  // Less than was granted before: the row was passed over, as of a window too far from the leader's.
  if (answer.granted >= share.granted) {
    share.ackedSpent = Math.max(share.ackedSpent, row.spent);
    share.ackedReturned = row.ret;
  }
  if (share.spent > row.spent || share.returned > row.ret) ledger.dirty.add(share);
  const isAhead = share.window > windowAt(logNow, share.bucket.windowMs) + 1;
  const isRefused = row.want > 0 && !grew && (isAhead || answer.remaining > 0);
  const isOfThisLimit = row.limit_rev === share.bucket.limitRev;
  share.remaining = isRefused || !isOfThisLimit ? undefined : answer.remaining;
  share.answeredAt = now;
  noteAnswered(share);
  share.quietUntil = isRefused ? now + QUIET_MS : Number.NEGATIVE_INFINITY;
  decideQueue(ledger, share, now);
  if (now < share.endsAt) askWhenLow(ledger, share, now);
}

/**
 * Gives up a report: it is unknown whether it was applied, and it is not resent. Its totals are in the next one. A later answer
 * is still useful. A refused report is lost too; after a refusal for a stale incarnation or an unknown member, the node starts
 * again and calls `restart`.
 */
export function lost(ledger: Ledger, report: Report, now: number): void {
  finish(ledger, report, now);
}

function finish(ledger: Ledger, report: Report, now: number): void {
  if (!ledger.underWay.delete(report.id)) return;
  for (const share of report.shares) {
    if (share.reportId !== report.id) continue;
    share.reportId = 0;
    noteUnanswered(share);
    ledger.dirty.add(share);
    decideQueue(ledger, share, now);
  }
}

/**
 * Restarts with a new incarnation number: the process started, the state was replaced, or its reports are refused as stale.
 * What it had pledged is charged there and not used any more; it pays for what is reserved from it. Waiting requests keep
 * waiting. Revisions of limits are forgotten, since those of a restored state are lower.
 */
export function restart(ledger: Ledger, incarnation: number, now: number): void {
  ledger.incarnation = incarnation;
  ledger.urgent.clear();
  ledger.dirty.clear();
  ledger.underWay.clear();
  ledger.unsettledSince = now;
  for (const bucket of ledger.buckets.values()) {
    const closed = [...bucket.shares.values()];
    bucket.shares.clear();
    bucket.latest = undefined;
    bucket.limitRev = 0;
    for (const share of closed) {
      share.isClosed = true;
      // No more of the grant is charged than was pledged. Usage above that, of requests that cost more than they had reserved,
      // is charged to nobody.
      share.granted = Math.min(share.granted, share.returned + share.pledged);
      share.pledged = Number.POSITIVE_INFINITY;
      const paid = Math.max(share.ackedSpent, share.granted - share.returned);
      ledger.counts.unreported += Math.max(0, share.spent - paid);
      decideQueue(ledger, share, now);
    }
  }
}

/**
 * What goes to the cluster and comes back: reports of what was spent, asks for more, and their answers.
 *
 * A report holds running totals of this incarnation, never differences: lost, doubled or late ones do no harm. A share
 * is in at most one report under way, and so has at most one ask outstanding. A grant is told as the total ever
 * granted, so that the next answer mends a lost one. Only `want` is not a total: whoever carries a report must send
 * it again under the same command sequence until its outcome is known, else a grant may be made twice, which strands
 * units until they are given back and never hands out too many. Source: cluster reference, 7.2.
 */

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
import { MAX_UNITS } from "./units.ts";
import { windowAt } from "./windows.ts";

const MAX_ROWS = 500;
/** Of a report as JSON, in characters; a row has `ROW_LENGTH` at most beside its name. */
const MAX_LENGTH = 65_536;
const ROW_LENGTH = 200;
/** While a lost one is waited for, others still get through. */
const MAX_REPORTS_UNDER_WAY = 4;
/** Answers that take longer are believed sooner than those that take less. */
const RISING = 1 / 2;
const FALLING = 1 / 16;
/** After an answer that granted nothing although something was left: the clock here is behind the leader's. */
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
  /** Of `want`: requests wait for it now. Left out where none do. */
  readonly need?: number;
  readonly ret: number;
  /** What `spent` will not pass before a later report is answered; left out where not all members know of it. */
  readonly pledge?: number;
  /** With `pledge`: which of this bucket's reports it is. */
  readonly seq?: number;
  /** Told to a lender alone. */
  readonly loan?: LoanFacts;
}

/** What a lender is told of a share beside what the cluster is. */
export interface LoanFacts {
  /** Nothing here may come to need it. */
  readonly spare: number;
  /** Held by requests under way, above what they are charged. */
  readonly reserved: number;
  /** What a request is admitted with, lately. */
  readonly typical: number;
  /** Of the pledge: without so much, requests that wait go on waiting; 0: none wait. */
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

/** What a row is answered with. */
export interface ReportAnswer {
  readonly b: string;
  readonly w: number;
  readonly window_ms: number;
  readonly granted: number;
  readonly remaining: number;
  /** Given back or taken back; only where a pledge was reported. */
  readonly returned?: number;
  /** Of a lender, which may pledge less than it was asked for. */
  readonly pledge?: number;
  /** Of a lender: how long ago its own lease began, in milliseconds. */
  readonly age?: number;
}

/** What was spent is due at once, and so is what requests hold where a lender is to know it. */
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
 * The next report to send now; undefined when there is none. To be called until it is undefined: at every tick, and
 * as soon as `isAsking`. Each report must come to `answered` or `lost`.
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

/** Something waits, or runs low: `takeReport` has a report before its interval is over. */
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

/** A smaller pledge holds from here on, since it may be known before its answer is; a larger one with its answer. */
function pledged(ledger: Ledger, share: Share, now: number): Pick<ReportRow, "pledge" | "seq"> {
  const pledge = pledgeOf(ledger, share, now);
  share.pledged = Math.min(share.pledged, pledge);
  share.seq += 1;
  return { pledge, seq: share.seq };
}

/**
 * `logNow`: the time of the cluster's log as this node last saw it, by which a clock that runs ahead is told from a
 * budget that is spent. An answer that is handed in again, or to an earlier incarnation, changes nothing; one without
 * rows (a repeated command whose answer was too long to be remembered) counts as `lost`.
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
 * Whether the report was applied is not known, and it is not sent any more. What it said goes out with the next.
 * An answer that comes later is still of use. A report that was refused is lost too; refused as of a stale
 * incarnation, or of no member, it is to be followed by a new start of the node and `restart`.
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
 * The process has a new number in the cluster: it started, or the state was replaced, or its reports are refused as
 * of a stale incarnation. What it had pledged of what it held is charged there and is not used any more; what is reserved out of it
 * is paid for by that. Who waits goes on waiting. Revisions of limits are forgotten: those of a restored state are lower.
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
      // Of the grant no more is charged than was pledged; what was used above that, by requests that cost more than they
      // had reserved, nobody pays for.
      share.granted = Math.min(share.granted, share.returned + share.pledged);
      share.pledged = Number.POSITIVE_INFINITY;
      const paid = Math.max(share.ackedSpent, share.granted - share.returned);
      ledger.counts.unreported += Math.max(0, share.spent - paid);
      decideQueue(ledger, share, now);
    }
  }
}

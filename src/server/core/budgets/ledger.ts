/**
 * A node's ledger: what its process was granted of each bucket, and what it did with it. No other thread touches it.
 *
 * A bucket is one limit for one payer; a share is what this node holds of a bucket in one window. Of each share:
 *   granted, returned   only grow; `granted - returned` is what the node may spend in all
 *   spent               charged by requests, whether they go on or not
 *   reserved            held by requests under way, above what they are charged so far
 *   risk                what these may still cost above that, by their bounds
 *   pledged             what `spent + reserved` may come to before the next answer: what the cluster charges should this
 *                       process end, and so never more than is needed for the moment
 *   claim = granted - returned - spent - reserved, and free is as much of it as is pledged; a request is admitted when
 *   `free >= amount`, so that free is negative only where a request was charged more than it had reserved
 * Times are milliseconds since the epoch and come in as `now`; they may go back (a clock that is set), which moves no
 * unit, since a window is named by its number. A lease is counted in `elapsed`, which only goes on. Source: cluster
 * reference, 7.2; decisions, section 8 (leases).
 */

import type { Limit } from "./budget-rules.ts";
import { windowAt } from "./budget-windows.ts";

/** Fraction of a chunk at which the next request is sent, so that the answer arrives before the rest is spent. */
export const LOW_WATERMARK = 1 / 4;
/** A grant that could not be renewed for this long is not spent any more; see `SILENT_MS` of the command. */
export const LEASE_MS = 45_000;
/** Windows that the replicated usage keeps after the one they follow on. */
const KEPT_WINDOWS = 2;
/** A share is given up this long before the cluster drops its row: a report needs time to be committed. */
const LAST_REPORT_MS = 500;
/** About 150 MB. Keys are the operator's, subjects of tokens are not. */
export const MAX_BUCKETS = 200_000;

export type ReservationState = "waiting" | "held" | "exhausted" | "unavailable" | "closed";

/** Reservation of one request and its charges. Its fields belong to the ledger; others read `state` and `spent`. */
export interface Reservation {
  state: ReservationState;
  /** Charged so far, in all windows and attempts. */
  spent: number;
  share: Share;
  hard: number;
  soft: number;
  /** Amount with which it may run alone, if `hard` is more than is left. */
  least: number;
  /** Amount held at admission. */
  amount: number;
  /** Part of `amount` that is not charged yet. */
  left: number;
  /** Units that it may cost above `amount` by its bound, not charged yet. */
  risk: number;
  /** Charged by finished attempts. */
  before: number;
  /** Part of `spent` in the present share. */
  spentHere: number;
  /** A session's later usage is charged in the window in which it flows. */
  readonly isSession: boolean;
  /** Whether a report that includes this waiting request was sent, and whether that report was answered. */
  question: "unsent" | "sent" | "answered";
  /** Start of the wait, while it waits. */
  since: number;
}

export interface Share {
  readonly bucket: Bucket;
  readonly window: number;
  readonly startsAt: number;
  readonly endsAt: number;
  granted: number;
  returned: number;
  spent: number;
  reserved: number;
  risk: number;
  pledged: number;
  /** Sequence number of the newest report. */
  seq: number;
  /** Sending time of the newest answered report, in elapsed time: the lease begins there. */
  renewedAt: number;
  /** Reservations that are held. */
  open: number;
  /** Units of the limit left for others by the last answer; `undefined` before the first. */
  remaining: number | undefined;
  answeredAt: number;
  /** Value in the last answered report. */
  ackedSpent: number;
  ackedReturned: number;
  /** Reserved amount last reported to a lender. */
  toldReserved: number;
  /** Id of the report under way; 0 if there is none. */
  reportId: number;
  /** No request is sent before this time: the last one brought nothing although units were left. */
  quietUntil: number;
  /** Least of `spareOf` since `leastSince`. */
  least: number;
  leastSince: number;
  /** Waiting requests, first come first served. Entries that no longer wait are skipped. */
  queue: Reservation[];
  /** Whether it belongs to an earlier incarnation: its grant is charged in full, whatever happens. */
  isClosed: boolean;
  /** Loans to other processes of this node; see `lending.ts`. */
  readonly loans: Set<Loan>;
  /** Requests of borrowers that wait, first come first served. */
  asks: Ask[];
}

/** Part of a share that a borrower holds, with totals as it last reported them. */
export interface Loan {
  readonly borrower: object;
  readonly share: Share;
  granted: number;
  returned: number;
  spent: number;
  /** Units that it may have spent before its next report is answered. */
  pledge: number;
  seq: number;
  /** Units that nothing there may come to need. */
  spare: number;
  /** Units held by requests there. */
  reserved: number;
  /** Whether the borrower left the last recall unanswered, so that nobody knows how much of the loan it does not use. */
  isSilent: boolean;
}

/** Request of a borrower that waits. */
export interface Ask {
  readonly loan: Loan;
  /** Still to be lent, or its requests wait on. */
  need: number;
  /** To be lent beyond that. */
  wish: number;
  /** To be pledged. */
  held: number;
  /** The cluster was asked to take a larger pledge. */
  isPledging: boolean;
  /** Other borrowers were asked for what they do not use. */
  isRecalled: boolean;
  isDecided: boolean;
}

export interface Bucket {
  readonly name: string;
  readonly windowMs: number;
  limit: number;
  limitRev: number;
  /** The share that was used last. */
  latest: Share | undefined;
  readonly shares: Map<number, Share>;
  /** Reservations that are held, in all windows. */
  open: number;
  /** Units a millisecond that requests were admitted with, lately. */
  rate: number;
  rateAt: number;
  rateUnits: number;
  /** Recent admission amount; 0 if no request was admitted for a while. */
  typical: number;
  /** The risk of such a request. */
  typicalRisk: number;
  admittedAt: number;
}

/** Counters for metrics; they only grow. */
export interface LedgerCounts {
  /** Charged above what the request had reserved: the bound of what can be overspent (cluster reference, 7.3). */
  excess: number;
  /** Spent in a window whose rows were dropped before it could be reported. Anything but 0 calls for a look. */
  unreported: number;
  admitted: number;
  exhausted: number;
  unavailable: number;
  /** Charged for borrowers that are gone, beyond their reported spending. */
  untold: number;
}

/** Options of a ledger that has only a part of its node's allowance. */
export interface LedgerOptions {
  /** Whether it borrows from the node's ledger, which gets more facts with each report. */
  readonly borrows?: boolean;
  /** Between two reports of what is not urgent; half a second when left out. */
  readonly reportMs?: number;
}

export interface Ledger {
  readonly node: string;
  /** Number of this process, assigned by the cluster at its start; 0 before, when nothing can be requested. */
  incarnation: number;
  readonly buckets: Map<string, Bucket>;
  /** Shares to report at once. */
  readonly urgent: Set<Share>;
  /** Shares to report at the next interval. */
  readonly dirty: Set<Share>;
  readonly waiting: Set<Reservation>;
  /** Waited, and are decided now. */
  decided: Reservation[];
  reportedAt: number;
  lastReportId: number;
  /** Ids of reports without an outcome yet. */
  readonly underWay: Set<number>;
  sweeping: Iterator<Bucket> | undefined;
  /** Free in the buckets that the sweep has come by. */
  sweptFree: number;
  /** Allowance that nothing used, over all buckets, when they were last swept; for a gauge. */
  heldUnused: number;
  /** Since `restart`, while limits of a lower revision may be those of a restored state; undefined otherwise. */
  unsettledSince: number | undefined;
  readonly counts: LedgerCounts;
  /** Milliseconds of a monotonic clock, as of the last tick; `undefined` if there is only `now`. */
  elapsed: number | undefined;
  /** How long answers take, lately. */
  answerMs: number;
  /** The cluster takes pledges: every member knows them. */
  pledges: boolean;
  /** A leader is known: an answer that is under way is waited for. */
  hasLeader: boolean;
  readonly borrows: boolean;
  readonly reportMs: number;
  /** For a borrower: shares of which it has nothing left, to be reported to the lender. */
  forgotten: Share[];
  /** Shares that a borrower waits for. */
  readonly asked: Set<Share>;
  /** Number of borrowers. */
  borrowers: number;
}

export const REPORT_MS = 500;

export function createLedger(
  node: string,
  incarnation = 0,
  { borrows = false, reportMs = REPORT_MS }: LedgerOptions = {},
): Ledger {
  return {
    node,
    incarnation,
    buckets: new Map(),
    urgent: new Set(),
    dirty: new Set(),
    waiting: new Set(),
    decided: [],
    reportedAt: Number.NEGATIVE_INFINITY,
    lastReportId: 0,
    underWay: new Set(),
    sweeping: undefined,
    sweptFree: 0,
    heldUnused: 0,
    unsettledSince: undefined,
    counts: { excess: 0, unreported: 0, admitted: 0, exhausted: 0, unavailable: 0, untold: 0 },
    elapsed: undefined,
    answerMs: 0,
    pledges: false,
    hasLeader: false,
    borrows,
    reportMs,
    forgotten: [],
    asked: new Set(),
    borrowers: 0,
  };
}

/** Names that replicated rows accept: one invalid name would have whole reports refused. */
const NAME = /^[^\u0000-\u001f\u007f]{1,512}$/;

/**
 * The bucket of this name, with the newest limit that it was asked for with since `restart`; for a minute from there,
 * with the last one, since a restored state counts its revisions from before. Undefined when the ledger is full or the
 * name is none, and to be refused as `budget_unavailable` then. Not to be kept over requests: idle buckets are
 * dropped.
 */
export function bucketOf(ledger: Ledger, name: string, limit: Limit): Bucket | undefined {
  const known = ledger.buckets.get(name);
  if (known !== undefined && known.windowMs === limit.windowMs) {
    if (isNewer(ledger, known, limit)) changeLimit(known, limit);
    return known;
  }
  return known === undefined ? addBucket(ledger, name, limit) : swapBucket(ledger, known, limit);
}

function addBucket(ledger: Ledger, name: string, { windowMs, limit, limitRev }: Limit): Bucket | undefined {
  if (ledger.buckets.size >= MAX_BUCKETS || !NAME.test(name) || !name.isWellFormed()) return undefined;
  const made: Bucket = {
    name,
    windowMs,
    limit,
    limitRev,
    latest: undefined,
    shares: new Map(),
    open: 0,
    rate: 0,
    rateAt: Number.NEGATIVE_INFINITY,
    rateUnits: 0,
    typical: 0,
    typicalRisk: 0,
    admittedAt: Number.NEGATIVE_INFINITY,
  };
  ledger.buckets.set(name, made);
  return made;
}

/** The length of the window changed: the bucket of before is kept aside, until what it spent is reported. */
function swapBucket(ledger: Ledger, known: Bucket, limit: Limit): Bucket | undefined {
  const aside = (windowMs: number): string => `${known.name}\u0000${windowMs}`;
  const back = ledger.buckets.get(aside(limit.windowMs));
  ledger.buckets.delete(aside(limit.windowMs));
  ledger.buckets.set(aside(known.windowMs), known);
  ledger.buckets.delete(known.name);
  if (back === undefined) return addBucket(ledger, known.name, limit);
  ledger.buckets.set(known.name, back);
  if (isNewer(ledger, back, limit)) changeLimit(back, limit);
  return back;
}

const isNewer = ({ unsettledSince }: Ledger, { limitRev }: Bucket, limit: Limit): boolean =>
  unsettledSince === undefined ? limit.limitRev > limitRev : limit.limitRev !== limitRev;

/** Answers about the old limit are not valid for the new one. */
function changeLimit(bucket: Bucket, { limit, limitRev }: Limit): void {
  bucket.limit = limit;
  bucket.limitRev = limitRev;
  for (const share of bucket.shares.values()) share.remaining = undefined;
}

/** The share of the window that `now` is in. */
export function shareAt(bucket: Bucket, now: number): Share {
  const { latest } = bucket;
  if (latest !== undefined && now >= latest.startsAt && now < latest.endsAt) return latest;
  const share = shareOf(bucket, windowAt(now, bucket.windowMs), now);
  bucket.latest = share;
  return share;
}

/** Returns the share of a window; creates it if necessary. */
export const shareOf = (bucket: Bucket, window: number, now: number): Share =>
  bucket.shares.get(window) ?? addShare(bucket, window, now);

function addShare(bucket: Bucket, window: number, now: number): Share {
  const startsAt = window * bucket.windowMs;
  const share: Share = {
    bucket,
    window,
    startsAt,
    endsAt: startsAt + bucket.windowMs,
    granted: 0,
    returned: 0,
    spent: 0,
    reserved: 0,
    risk: 0,
    pledged: Number.POSITIVE_INFINITY,
    seq: 0,
    renewedAt: Number.NEGATIVE_INFINITY,
    open: 0,
    remaining: undefined,
    answeredAt: Number.NEGATIVE_INFINITY,
    ackedSpent: 0,
    ackedReturned: 0,
    toldReserved: 0,
    reportId: 0,
    quietUntil: Number.NEGATIVE_INFINITY,
    least: 0,
    leastSince: now,
    queue: [],
    isClosed: false,
    loans: new Set(),
    asks: [],
  };
  bucket.shares.set(window, share);
  return share;
}

/** Handed to this node and not used, whether it may be used at once or not. */
export const claimOf = (share: Share): number => share.granted - share.returned - share.spent - share.reserved;

export const freeOf = (share: Share): number =>
  Math.min(share.granted - share.returned, share.pledged) - share.spent - share.reserved;

export const isLeased = ({ elapsed }: Ledger, { renewedAt }: Share, now: number): boolean =>
  (elapsed ?? now) - renewedAt <= LEASE_MS;

/** Returns units that nothing under way may come to need. */
export const spareOf = (share: Share): number => claimOf(share) - share.risk;

/** Call after the spare amount has decreased. */
export function noteLeast(share: Share): void {
  const spare = spareOf(share);
  if (spare < share.least) share.least = spare;
}

/** Too late to report: what is charged now would be counted nowhere. */
export const isGone = (share: Share, now: number): boolean =>
  now >= share.endsAt + KEPT_WINDOWS * share.bucket.windowMs - LAST_REPORT_MS;

/** Past `then + ms`, also where the clock was set back by more than that in between. */
export const isPast = (then: number, ms: number, now: number): boolean => now >= then + ms || now < then - ms;

/** The bucket of this name and length of window, be it put aside or not; nothing of it changes. */
export function knownBucket(ledger: Ledger, name: string, windowMs: number): Bucket | undefined {
  const known = ledger.buckets.get(name);
  return known?.windowMs === windowMs ? known : ledger.buckets.get(`${name}\u0000${windowMs}`);
}

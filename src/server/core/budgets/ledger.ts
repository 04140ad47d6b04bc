/**
 * Ledger of a node: the units that its process was granted from each bucket, and their use. Only one thread uses it.
 *
 * A bucket is one limit for one payer; a share is this node's part of a bucket in one window. Fields of a share:
 *   granted, returned   only grow; `granted - returned` is what the node may spend in total
 *   spent               charged by requests, running or ended
 *   reserved            held by running requests, above what they are charged so far
 *   risk                what running requests may still cost above `reserved`, by their bounds
 *   pledged             maximum of `spent + reserved` before the next answer. If this process ends, the cluster charges
 *                       it, so it is kept as small as currently possible
 *   claim = granted - returned - spent - reserved; free is the pledged part of it. A request is admitted if
 *   `free >= amount`, so free is negative only if a request was charged more than it had reserved.
 * Times are milliseconds since the epoch, passed in as `now`. They may go back if the clock is set; no units are lost, since a
 * window is identified by its number. Leases use `elapsed`, which never goes back. Source: cluster reference, 7.2; decisions,
 * section 8 (leases).
 */

import type { Limit } from "./budget-rules.ts";
import { windowAt } from "./budget-windows.ts";

/** Fraction of a chunk at which more units are requested, so that the answer arrives before the rest is spent. */
export const LOW_WATERMARK = 1 / 4;
/** Time after which a grant that could not be renewed is no longer spent; see `SILENT_MS` of the command. */
const LEASE_MS = 45_000;
/** Number of windows for which the cluster keeps the rows of a window after its end. */
const KEPT_WINDOWS = 2;
/** How long before the cluster drops its row a share is given up, in milliseconds; a report takes time to be committed. */
const LAST_REPORT_MS = 500;
/** Maximum number of buckets, about 150 MB. Operators create keys, but not the subjects of tokens. */
export const MAX_BUCKETS = 200_000;

type ReservationState = "waiting" | "held" | "exhausted" | "unavailable" | "closed";

/** Reservation of one request and its charges. Only the ledger writes it; other code reads `state` and `spent`. */
export interface Reservation {
  state: ReservationState;
  /** Units charged so far, in all windows and attempts. */
  spent: number;
  share: Share;
  hard: number;
  soft: number;
  /** Minimum amount with which the request may run alone if less than `hard` is left. */
  least: number;
  /** Amount reserved at admission. */
  amount: number;
  /** Part of `amount` that is not yet charged. */
  unchargedAmount: number;
  /** Uncharged units that the request may cost above `amount`, by its upper bound. */
  risk: number;
  /** Units charged by finished attempts. */
  spentBefore: number;
  /** Part of `spent` in the current share. */
  spentInShare: number;
  /** True for a session: its later usage is charged in the window in which it occurs. */
  readonly isSession: boolean;
  /** State of the first report that includes this waiting request. */
  reportState: "unsent" | "sent" | "answered";
  /** Time at which the wait began. */
  waitingSince: number;
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
  /** Number of held reservations. */
  open: number;
  /** Units of the limit left for others according to the last answer; `undefined` before the first. */
  remaining: number | undefined;
  answeredAt: number;
  /** Value of `spent` in the last answered report. */
  ackedSpent: number;
  ackedReturned: number;
  /** Reserved amount that was last reported to a lender. */
  reportedReserved: number;
  /** Id of the running report; 0 if there is none. */
  reportId: number;
  /** Time before which no request is sent, since the last one granted nothing although units were left. */
  quietUntil: number;
  /** Minimum of `spareOf` since `leastSpareSince`. */
  leastSpare: number;
  leastSpareSince: number;
  /** Waiting requests in order of arrival. Entries that no longer wait are skipped. */
  queue: Reservation[];
  /** True if the share belongs to an earlier incarnation, so that its grant is charged in full. */
  isClosed: boolean;
  /** Loans to other processes of this node; see `lending.ts`. */
  readonly loans: Set<Loan>;
  /** Waiting requests of borrowers, in order of arrival. */
  loanRequests: BorrowRequest[];
}

/** Part of a share that is lent to a borrower, with the totals of its last report. */
export interface Loan {
  readonly borrower: object;
  readonly share: Share;
  granted: number;
  returned: number;
  spent: number;
  /** Maximum units that the borrower may have spent before its next report is answered. */
  pledge: number;
  seq: number;
  /** Units that no request of the borrower can need. */
  spare: number;
  /** Units held by the borrower's requests. */
  reserved: number;
  /** True if the borrower did not answer the last recall, so that the unused part of the loan is unknown. */
  isSilent: boolean;
}

/** Waiting request of a borrower. */
export interface BorrowRequest {
  readonly loan: Loan;
  /** Units still to be lent before its requests can continue. */
  need: number;
  /** Additional units that the borrower wishes to have. */
  wish: number;
  /** Units still to be pledged before its requests can continue. */
  held: number;
  /** True once the cluster was asked to accept a larger pledge. */
  isPledging: boolean;
  /** True once other borrowers were asked for their unused units. */
  isRecalled: boolean;
  isDecided: boolean;
}

export interface Bucket {
  readonly name: string;
  readonly windowMs: number;
  limit: number;
  limitRev: number;
  /** Share that was used last. */
  latest: Share | undefined;
  readonly shares: Map<number, Share>;
  /** Number of held reservations, in all windows. */
  open: number;
  /** Recent rate of admitted units, per millisecond. */
  rate: number;
  rateAt: number;
  rateUnits: number;
  /** Recent admission amount; 0 if no request was admitted for a while. */
  typical: number;
  /** Recent risk of an admitted request. */
  typicalRisk: number;
  admittedAt: number;
}

/** Counters for metrics; they only grow. */
export interface LedgerCounts {
  /** Units charged above what requests had reserved: the bound of overspending (cluster reference, 7.3). */
  excess: number;
  /** Units spent in a window whose rows were dropped before they were reported. Anything but 0 indicates a problem. */
  unreported: number;
  admitted: number;
  exhausted: number;
  unavailable: number;
  /** Units charged for ended borrowers, beyond their reported spending. */
  presumed: number;
}

/** Options of a ledger that has only a part of its node's allowance. */
export interface LedgerOptions {
  /** True if it borrows from the node's ledger; then its reports contain more facts. */
  readonly borrows?: boolean;
  /** Interval of non-urgent reports, in milliseconds; the default is 500. */
  readonly reportMs?: number;
}

export interface Ledger {
  readonly node: string;
  /** Number of this process, assigned by the cluster at its start; 0 before that, when nothing can be requested. */
  incarnation: number;
  readonly buckets: Map<string, Bucket>;
  /** Shares to report at once. */
  readonly urgent: Set<Share>;
  /** Shares to report at the next interval. */
  readonly dirty: Set<Share>;
  readonly waiting: Set<Reservation>;
  /** Reservations that waited and are now decided. */
  decided: Reservation[];
  reportedAt: number;
  lastReportId: number;
  /** Ids of reports without a result yet. */
  readonly pendingReports: Set<number>;
  sweeping: Iterator<Bucket> | undefined;
  /** Free units in the buckets that the current sweep has visited. */
  sweptFree: number;
  /** Unused allowance over all buckets at the last sweep, for a gauge. */
  unusedUnits: number;
  /** Time of `restart`, while limits of a lower revision may be those of a restored state; `undefined` otherwise. */
  unsettledSince: number | undefined;
  readonly counts: LedgerCounts;
  /** Monotonic clock at the last tick, in milliseconds; `undefined` if there is only `now`. */
  elapsed: number | undefined;
  /** Recent time until an answer, in milliseconds. */
  answerMs: number;
  /** True if every member of the cluster supports pledges, so that reports may contain them. */
  pledges: boolean;
  /** True if a leader is known, so that waiting requests wait for its answer. */
  hasLeader: boolean;
  readonly borrows: boolean;
  readonly reportMs: number;
  /** Shares in which this borrower has nothing left; they are reported to the lender. */
  forgotten: Share[];
  /** Shares that borrowers wait for. */
  readonly sharesWithLoanRequests: Set<Share>;
  /** Number of borrowers. */
  borrowers: number;
}

const REPORT_MS = 500;

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
    pendingReports: new Set(),
    sweeping: undefined,
    sweptFree: 0,
    unusedUnits: 0,
    unsettledSince: undefined,
    counts: { excess: 0, unreported: 0, admitted: 0, exhausted: 0, unavailable: 0, presumed: 0 },
    elapsed: undefined,
    answerMs: 0,
    pledges: false,
    hasLeader: false,
    borrows,
    reportMs,
    forgotten: [],
    sharesWithLoanRequests: new Set(),
    borrowers: 0,
  };
}

/** Matches names that replicated rows accept; one invalid name would cause the whole report to be refused. */
const NAME = /^[^\u0000-\u001f\u007f]{1,512}$/;

/**
 * Returns the bucket of this name, with the newest limit since `restart`. For a minute after a restart the limit of the last
 * call counts instead, since a restored state has lower revisions. Returns `undefined` if the ledger is full or the name is
 * invalid; refuse with `budget_unavailable` then. Do not keep the result over requests: idle buckets are dropped.
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

/** Replaces a bucket whose window length has changed. The old one is kept aside until its spending is reported. */
function swapBucket(ledger: Ledger, known: Bucket, limit: Limit): Bucket | undefined {
  const asideName = (windowMs: number): string => `${known.name}\u0000${windowMs}`;
  const previous = ledger.buckets.get(asideName(limit.windowMs));
  ledger.buckets.delete(asideName(limit.windowMs));
  ledger.buckets.set(asideName(known.windowMs), known);
  ledger.buckets.delete(known.name);
  if (previous === undefined) return addBucket(ledger, known.name, limit);
  ledger.buckets.set(known.name, previous);
  if (isNewer(ledger, previous, limit)) changeLimit(previous, limit);
  return previous;
}

const isNewer = ({ unsettledSince }: Ledger, { limitRev }: Bucket, limit: Limit): boolean =>
  unsettledSince === undefined ? limit.limitRev > limitRev : limit.limitRev !== limitRev;

/** Sets a new limit. Answers about the old limit are not valid for it. */
function changeLimit(bucket: Bucket, { limit, limitRev }: Limit): void {
  bucket.limit = limit;
  bucket.limitRev = limitRev;
  for (const share of bucket.shares.values()) share.remaining = undefined;
}

/** Returns the share of the window that contains `now`. */
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
    reportedReserved: 0,
    reportId: 0,
    quietUntil: Number.NEGATIVE_INFINITY,
    leastSpare: 0,
    leastSpareSince: now,
    queue: [],
    isClosed: false,
    loans: new Set(),
    loanRequests: [],
  };
  bucket.shares.set(window, share);
  return share;
}

/** Returns units that were granted to this node and are not used, whether or not they may be used now. */
export const claimOf = (share: Share): number => share.granted - share.returned - share.spent - share.reserved;

export const freeOf = (share: Share): number =>
  Math.min(share.granted - share.returned, share.pledged) - share.spent - share.reserved;

export const isLeased = ({ elapsed }: Ledger, { renewedAt }: Share, now: number): boolean =>
  (elapsed ?? now) - renewedAt <= LEASE_MS;

/** Returns units that no running request can need. */
export const spareOf = (share: Share): number => claimOf(share) - share.risk;

/** Updates the minimum. Call it after the spare amount has decreased. */
export function updateLeastSpare(share: Share): void {
  const spare = spareOf(share);
  if (spare < share.leastSpare) share.leastSpare = spare;
}

/** Returns true if it is too late to report the share, so that later charges to it would not be counted. */
export const isTooLateToReport = (share: Share, now: number): boolean =>
  now >= share.endsAt + KEPT_WINDOWS * share.bucket.windowMs - LAST_REPORT_MS;

/** Returns true after `then + ms`, and also if the clock was set back by more than `ms` since `then`. */
export const hasPassed = (then: number, ms: number, now: number): boolean => now >= then + ms || now < then - ms;

/** Returns the bucket of this name and window length, which may be one that is kept aside. Changes nothing. */
export function findBucket(ledger: Ledger, name: string, windowMs: number): Bucket | undefined {
  const known = ledger.buckets.get(name);
  return known?.windowMs === windowMs ? known : ledger.buckets.get(`${name}\u0000${windowMs}`);
}

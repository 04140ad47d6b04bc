/**
 * Lends a node's ledger to the node's other processes. A borrower is to its node what a node is to the cluster, except that the
 * node can also recall what a borrower does not use.
 *
 * Each share that a borrower reports has a loan, with the running totals of its reports. In the node's share, loans count like
 * requests: their spending as spent, what is pledged above it as reserved, what is lent above that as risk. So the rules for
 * requests on one node apply to loans: all of them fit into the node's grant, what they may have spent is in the node's own
 * pledge before they may spend it, and the lease of a loan begins when the node's begins.
 *
 * A borrower that needs more than is available waits: first for the cluster, while that may grant more, then for what other
 * borrowers return when the owner of the ledger recalls it. Only then does it learn that nothing is left. The pledge of an ended
 * borrower is charged, like that of a lost node. Source: cluster reference, 7.2.
 */

import { recordRate } from "./bucket-rates.ts";
import { windowAt } from "./budget-windows.ts";
import { wholeUnits } from "./cost-units.ts";
import {
  type BorrowRequest,
  bucketOf,
  findBucket,
  freeOf,
  isLeased,
  type Ledger,
  type Loan,
  type Share,
  shareAt,
  shareOf,
  spareOf,
  updateLeastSpare,
} from "./ledger.ts";
import type { ReturnedShare, ShareName } from "./ledger-timeouts.ts";
import type { ReportAnswer, ReportRow } from "./reporting.ts";
import { isRemainingKnown, requestSoon, requestWhenLow } from "./reserving.ts";

/** Process that borrows from this ledger. It reports its rows in order. */
export interface Borrower {
  readonly loans: Map<Share, Loan>;
}

/** Row of a report that waits for its answer. */
export interface LoanRequest extends BorrowRequest {
  readonly row: ReportRow;
}

/** Number of past windows that are still reported; spending in earlier ones is not counted. */
const LATE_WINDOWS = 2;
/** Age that is longer than any lease. */
const NOT_LEASED = 1_000_000_000;

export function openBorrower(ledger: Ledger): Borrower {
  ledger.borrowers += 1;
  return { loans: new Map() };
}

/** Returns the lent units, which count as charged. */
const lentOf = ({ granted, returned, spent }: Loan): number => Math.max(granted - returned, spent);
const pledgedOf = (loan: Loan): number => Math.min(lentOf(loan), Math.max(loan.pledge, loan.spent));

/** Changes a loan, and the totals of its share accordingly. */
function changeLoan(loan: Loan, to: Partial<Pick<Loan, "granted" | "returned" | "spent" | "pledge">>): void {
  const { share } = loan;
  const [spent, pledged, lent] = [loan.spent, pledgedOf(loan), lentOf(loan)];
  Object.assign(loan, to);
  const pledgedNow = pledgedOf(loan);
  share.spent += loan.spent - spent;
  share.reserved += pledgedNow - loan.spent - (pledged - spent);
  share.risk += lentOf(loan) - pledgedNow - (lent - pledged);
  updateLeastSpare(share);
}

/** Takes a row of a borrower's report. Returns its answer, or an ask, which `loanAnswer` answers once `decideLoanRequests` has decided it. */
export function borrow(ledger: Ledger, borrower: Borrower, row: ReportRow, now: number): ReportAnswer | LoanRequest {
  const loan = loanOf(ledger, borrower, row, now);
  if (loan === undefined) {
    return { b: row.b, w: row.w, window_ms: row.window_ms, granted: 0, remaining: 0, returned: 0, pledge: 0, age: 0 };
  }
  const { share } = loan;
  copyTotals(ledger, loan, row, now);
  const { want, need = 0 } = row;
  const request: LoanRequest = {
    ...{ loan, row, need, wish: want - need, held: 0 },
    ...{ isPledging: false, isRecalled: false, isDecided: false },
  };
  // Asks that are already waiting go first.
  if (share.loanRequests.length === 0 || !isNeeded(request)) lend(ledger, request, now);
  if (request.isDecided) return loanAnswer(ledger, request, now);
  share.loanRequests.push(request);
  ledger.sharesWithLoanRequests.add(share);
  if (!(isRemainingKnown(share, now) && share.remaining === 0)) requestSoon(ledger, share, now);
  return request;
}

function loanOf(ledger: Ledger, borrower: Borrower, row: ReportRow, now: number): Loan | undefined {
  const current = windowAt(now, row.window_ms);
  if (row.w > current + 1 || row.w < current - LATE_WINDOWS) return undefined;
  const { b, window_ms: windowMs, limit, limit_rev: limitRev, want } = row;
  // A row that only reports must not replace the current window length.
  const bucket =
    (want > 0 ? undefined : findBucket(ledger, b, windowMs)) ?? bucketOf(ledger, b, { windowMs, limit, limitRev });
  if (bucket === undefined) return undefined;
  shareAt(bucket, now);
  const share = shareOf(bucket, row.w, now);
  const known = borrower.loans.get(share);
  if (known !== undefined) return known;
  const made: Loan = {
    ...{
      borrower,
      share,
      granted: 0,
      returned: 0,
      spent: 0,
      pledge: 0,
      seq: 0,
      spare: 0,
      reserved: 0,
      isSilent: false,
    },
  };
  borrower.loans.set(share, made);
  share.loans.add(made);
  share.open += 1;
  bucket.open += 1;
  return made;
}

/** Copies the totals of a borrower's row to its loan. */
function copyTotals(ledger: Ledger, loan: Loan, row: ReportRow, now: number): void {
  const { share } = loan;
  const { bucket } = share;
  const spent = Math.max(loan.spent, row.spent);
  const more = spent - loan.spent;
  const returned = Math.max(loan.returned, Math.min(row.ret, loan.granted - spent));
  const { pledge = Number.MAX_SAFE_INTEGER, seq = loan.seq + 1, loan: facts } = row;
  // Only `lend` raises the pledge.
  loan.isSilent = false;
  changeLoan(loan, { spent, returned, ...(seq > loan.seq && { pledge: Math.min(loan.pledge, pledge) }) });
  loan.seq = Math.max(loan.seq, seq);
  if (facts !== undefined) {
    loan.spare = facts.spare;
    loan.reserved = facts.reserved;
    if (facts.typical > 0) {
      bucket.typical = Math.max(facts.typical, bucket.typical - bucket.typical / 4);
      bucket.admittedAt = now;
    }
  }
  if (more > 0) recordRate(bucket, more, now);
  ledger.dirty.add(share);
}

/** Returns true if requests of the borrower wait for this ask. */
const isNeeded = ({ row, loan }: LoanRequest): boolean => (row.need ?? 0) > 0 || floorOf(row) > pledgedOf(loan);
const floorOf = ({ loan }: ReportRow): number => loan?.floor ?? 0;

/** Lends units that are available. The ask is decided once no request of the borrower waits for more. */
function lend(ledger: Ledger, request: LoanRequest, now: number): void {
  const { loan, row } = request;
  const { share } = loan;
  const isOver = now >= share.endsAt;
  if (!isOver && isLeased(ledger, share, now)) {
    grant(ledger, request);
    pledge(request);
    requestWhenLow(ledger, share, now);
  }
  request.held = Math.max(0, floorOf(row) - pledgedOf(loan));
  const isBegun = share.renewedAt > Number.NEGATIVE_INFINITY || row.want === 0;
  request.isDecided = isOver || (isBegun && request.need === 0 && request.held === 0);
}

/**
 * Grants units to a borrower: what its requests need, but only a part of the rest, so that other borrowers get some too.
 * Missing units are recalled from other borrowers.
 */
function grant(ledger: Ledger, request: LoanRequest): void {
  const { loan } = request;
  const { granted, returned, spent } = loan;
  // Spending above the loan is already charged to the node.
  const catchUp = Math.min(request.need + request.wish, Math.max(0, spent - (granted - returned)));
  const spare = Math.max(0, spareOf(loan.share));
  const needed = Math.max(0, request.need - catchUp);
  const wished = Math.max(0, request.wish - Math.max(0, catchUp - request.need));
  const need = Math.min(needed, spare);
  const wish = need < needed ? 0 : Math.min(wished, fairPart(spare - need, ledger.borrowers));
  request.need = needed - need;
  request.wish = wished - wish;
  // Units that cover only a part of the need count as spare until the borrower reports that it uses them, so that other
  // borrowers can still get them.
  if (request.need > 0) loan.spare += need;
  if (catchUp + need + wish > 0) changeLoan(loan, { granted: granted + catchUp + need + wish });
}

const fairPart = (rest: number, borrowers: number): number =>
  borrowers <= 1 ? rest : Math.ceil(rest / (2 * borrowers));

function pledge({ loan, row }: LoanRequest): void {
  const wished = Math.min(row.pledge ?? Number.MAX_SAFE_INTEGER, lentOf(loan));
  const pledged = pledgedOf(loan);
  const more = Math.min(wished - pledged, Math.max(0, freeOf(loan.share)));
  if (more > 0) changeLoan(loan, { pledge: pledged + more });
}

/**
 * Continues all waiting asks. Call it when the ledger or the borrowers' holdings have changed. Returns the shares to recall from
 * other borrowers; call `markRecalled` after that.
 */
export function decideLoanRequests(ledger: Ledger, now: number): ReadonlySet<Share> {
  const toRecall = new Set<Share>();
  for (const share of ledger.sharesWithLoanRequests) {
    let isFree = true;
    for (const request of share.loanRequests as LoanRequest[]) {
      if (share.isClosed) request.isDecided = true;
      else if (isFree && !request.isDecided) lend(ledger, request, now);
      if (!request.isDecided && !isAnswerPending(ledger, share) && isLeased(ledger, share, now))
        escalate(ledger, request, now, toRecall);
      isFree &&= request.isDecided;
    }
    share.loanRequests = share.loanRequests.filter(({ isDecided }) => !isDecided);
    if (share.loanRequests.length === 0) ledger.sharesWithLoanRequests.delete(share);
  }
  return toRecall;
}

/** Returns true if an answer of the cluster is on its way or will be requested. */
const isAnswerPending = ({ hasLeader, urgent }: Ledger, share: Share): boolean =>
  hasLeader && (share.reportId !== 0 || urgent.has(share));

/** Takes the next step for a loan request when the cluster does not grant more for now. */
function escalate(ledger: Ledger, request: LoanRequest, now: number, toRecall: Set<Share>): void {
  const { share } = request.loan;
  if (request.need === 0 && !request.isPledging) {
    request.isPledging = true;
    requestSoon(ledger, share, now);
  } else if (request.isRecalled || request.need === 0) request.isDecided = true;
  else toRecall.add(share);
}

/** Returns the borrowers to recall units from. */
export function borrowersToRecall(share: Share): ReadonlySet<Borrower> {
  const found = new Set<Borrower>();
  for (const loan of share.loans) if (lentOf(loan) > loan.spent) found.add(loan.borrower as Borrower);
  return found;
}

export const nameOfShare = ({ bucket, window }: Share): ShareName => ({
  b: bucket.name,
  w: window,
  window_ms: bucket.windowMs,
});

/**
 * Takes a borrower's answer to a recall: what it returns, `undefined` if it has nothing, "silent" if it did not answer in time.
 */
export function applyRecallAnswer(
  borrower: Borrower,
  share: Share,
  returned: ReturnedShare | "silent" | undefined,
): void {
  const loan = borrower.loans.get(share);
  if (loan === undefined) return;
  loan.spare = 0;
  loan.isSilent = returned === "silent";
  if (returned === undefined || returned === "silent") return;
  const spent = Math.max(loan.spent, wholeUnits(returned.spent));
  changeLoan(loan, {
    spent,
    returned: Math.max(loan.returned, Math.min(wholeUnits(returned.ret), loan.granted - spent)),
  });
}

/** Marks asks whose shares were recalled from the other borrowers; `decideLoanRequests` then decides them. */
export function markRecalled(requests: Iterable<BorrowRequest>): void {
  for (const ask of requests) ask.isRecalled = true;
}

export function loanAnswer(ledger: Ledger, request: LoanRequest, now: number): ReportAnswer {
  const { loan, row, need } = request;
  const { share } = loan;
  const others = [...share.loans].reduce(
    (sum, { borrower, spare }) => sum + (borrower === loan.borrower ? 0 : spare),
    0,
  );
  const left = Math.max(0, spareOf(share)) + (share.remaining ?? share.bucket.limit) + others;
  // A silent borrower may still return part of its loan, so the budget cannot be reported as exhausted until the window ends.
  const isSure =
    request.isRecalled &&
    isRemainingKnown(share, now) &&
    isLeased(ledger, share, now) &&
    !isReturnPossible(share, loan.borrower);
  return {
    ...{ b: row.b, w: row.w, window_ms: row.window_ms, granted: loan.granted, returned: loan.returned },
    // Reporting 0 would make the borrower refuse its waiting requests.
    remaining: need === 0 || isSure ? left : Math.max(1, left),
    pledge: pledgedOf(loan),
    age: Math.min(NOT_LEASED, Math.max(0, (ledger.elapsed ?? now) - share.renewedAt)),
  };
}

const isReturnPossible = (share: Share, borrower: object): boolean =>
  [...share.loans].some((loan) => loan.borrower !== borrower && loan.isSilent && lentOf(loan) > loan.spent);

/** Ends a loan whose window has ended and which is not reported any more. */
export function endLoan(ledger: Ledger, borrower: Borrower, { b, w, window_ms }: ShareName): void {
  const share = findBucket(ledger, b, window_ms)?.shares.get(w);
  const loan = share && borrower.loans.get(share);
  if (loan === undefined) return;
  changeLoan(loan, { returned: Math.max(loan.returned, loan.granted - loan.spent), pledge: loan.spent });
  removeLoan(ledger, borrower, loan);
}

/** Ends the loans of a borrower that is gone, and charges what it may have spent at most. */
export function endBorrower(ledger: Ledger, borrower: Borrower): void {
  ledger.borrowers -= 1;
  for (const loan of borrower.loans.values()) {
    const charge = pledgedOf(loan);
    if (!loan.share.isClosed) ledger.counts.presumed += charge - loan.spent;
    changeLoan(loan, { spent: charge, returned: Math.max(loan.returned, loan.granted - charge) });
    removeLoan(ledger, borrower, loan);
  }
}

/** Drops the loans of a borrower. Call it after `restart`: borrowers start again too, with the same incarnation number. */
export function forgetLoans(ledger: Ledger, borrower: Borrower): void {
  for (const loan of borrower.loans.values()) removeLoan(ledger, borrower, loan);
}

function removeLoan(ledger: Ledger, borrower: Borrower, loan: Loan): void {
  const { share } = loan;
  for (const ask of share.loanRequests) if (ask.loan === loan) ask.isDecided = true;
  borrower.loans.delete(share);
  share.loans.delete(loan);
  share.open -= 1;
  share.bucket.open -= 1;
  if (!share.isClosed) ledger.dirty.add(share);
}

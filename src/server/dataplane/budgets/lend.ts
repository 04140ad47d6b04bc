/**
 * Lends this node's budget shares to its worker processes. Their reports arrive here like this node's own reports at the
 * cluster, and are answered locally if possible. The rules are in `core/budgets/lending.ts`.
 */
import {
  applyRecallAnswer,
  type Borrower,
  borrow,
  borrowersToRecall,
  decideLoanRequests,
  endBorrower,
  endLoan,
  forgetLoans,
  type LoanRequest,
  loanAnswer,
  markRecalled,
  nameOfShare,
  openBorrower,
  type ReportAnswer,
  type Share,
} from "../../core/budgets/index.ts";
import type { Accounts } from "./accounts.ts";
import type { BorrowingProcess, Recall, ReportOutcome } from "./types.ts";

/** Timeout of a borrower's request, in milliseconds. It is shorter than the timeout of the report that contains the request. */
const ASK_LIMIT_MS = 1_000;
/**
 * Timeout of a recall, in milliseconds: long enough for a busy worker process, and short enough that a stopped one does not
 * delay the others.
 */
const RECALL_LIMIT_MS = 300;

interface Lender {
  open(recall: Recall): BorrowingProcess;
  /** Must be called when the ledger has changed, and at every tick. */
  proceed(): void;
  /** Must be called after `restart` of the ledger. */
  onRestart(): void;
}

interface WaitingReport {
  readonly requests: readonly LoanRequest[];
  readonly since: number;
  readonly onDecided: () => void;
}

export function createLender(accounts: Accounts, monotonic: () => number): Lender {
  const { ledger } = accounts;
  const processes = new Map<Borrower, Recall>();
  const waiting = new Set<WaitingReport>();
  const recalling = new Set<Share>();

  const proceedAll = (): void => {
    if (waiting.size === 0) return;
    const latest = monotonic() - ASK_LIMIT_MS;
    for (const { requests, since } of waiting) if (since <= latest) giveUp(requests);
    for (const share of decideLoanRequests(ledger, accounts.now())) if (!recalling.has(share)) void recallFor(share);
    for (const report of waiting) {
      if (report.requests.some(({ isDecided }) => !isDecided)) continue;
      waiting.delete(report);
      report.onDecided();
    }
  };

  const recallFor = async (share: Share): Promise<void> => {
    recalling.add(share);
    const requests = [...share.loanRequests];
    const name = nameOfShare(share);
    const recalls = Array.from(borrowersToRecall(share), async (borrower) => {
      if (requests.every(({ loan }) => loan.borrower === borrower)) return;
      const recallAnswer = await processes
        .get(borrower)?.(name, AbortSignal.timeout(RECALL_LIMIT_MS))
        .catch(() => "silent" as const);
      applyRecallAnswer(borrower, share, recallAnswer);
    });
    await Promise.all(recalls);
    recalling.delete(share);
    markRecalled(requests);
    accounts.onLedgerChanged();
  };

  const giveUp = (requests: readonly LoanRequest[]): void => {
    for (const ask of requests) ask.isDecided = true;
  };

  const untilDecided = (requests: readonly LoanRequest[], signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      waiting.add({ requests, since: monotonic(), onDecided: resolve });
      signal.addEventListener("abort", () => giveUp(requests), { once: true });
    });

  return {
    open(recall) {
      const borrower = openBorrower(ledger);
      processes.set(borrower, recall);
      const isStale = (inc: number): boolean =>
        ledger.incarnation === 0 || inc !== ledger.incarnation || !processes.has(borrower);
      return {
        async report({ inc, rows }, signal) {
          if (isStale(inc)) return STALE;
          const taken = rows.map((row) => borrow(ledger, borrower, row, accounts.now()));
          const requests = taken.filter(isAsk);
          const decided = requests.length === 0 ? undefined : untilDecided(requests, signal);
          accounts.onLedgerChanged();
          await decided;
          if (isStale(inc)) return STALE;
          const answers: readonly ReportAnswer[] = taken.map((one) =>
            isAsk(one) ? loanAnswer(ledger, one, accounts.now()) : one,
          );
          return { kind: "answered", rows: answers };
        },
        forget(names) {
          for (const name of names) endLoan(ledger, borrower, name);
          accounts.onLedgerChanged();
        },
        end() {
          if (!processes.delete(borrower)) return;
          endBorrower(ledger, borrower);
          accounts.onLedgerChanged();
        },
      };
    },
    proceed: proceedAll,
    onRestart() {
      for (const borrower of processes.keys()) forgetLoans(ledger, borrower);
    },
  };
}

const STALE: ReportOutcome = { kind: "refused", code: "stale_incarnation" };

const isAsk = (one: ReportAnswer | LoanRequest): one is LoanRequest => "loan" in one;

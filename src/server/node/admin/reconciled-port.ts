/** Rows of `reconcile` and `reconcile_verdicts`, from the replicated ledger. Source: design decisions, section 14. */
import type { RowArrayOf } from "../../admin/index.ts";
import { type Ledger, type LedgerEntry, verdictsOf } from "../../reconcile/index.ts";

export interface ReconciledRows {
  readonly reconcile: RowArrayOf<"reconcile">;
  readonly reconcile_verdicts: RowArrayOf<"reconcile_verdicts">;
}

export function reconciledRows(ledger: Ledger): ReconciledRows {
  const judged = (provider: string | undefined): readonly LedgerEntry[] =>
    Array.from(ledger.entries(), ({ value }) => value).filter(
      (entry) => entry.judged !== undefined && (provider === undefined || entry.provider === provider),
    );
  const onChange = (listener: () => void): (() => void) => ledger.onChange(listener);
  const providers: RowArrayOf<"reconcile">["list"] = () =>
    Array.from(ledger.rounds(), ({ value }) => value)
      .toSorted((a, b) => compare(a.provider, b.provider))
      .map(({ provider, type, scope, fetchedAt, error }) => {
        const days = judged(provider);
        return {
          provider,
          type,
          scope,
          fetched_at: fetchedAt === undefined ? null : new Date(fetchedAt).toISOString(),
          judged_to: days.reduce<string | null>((last, { day }) => (last === null || day > last ? day : last), null),
          days: days.length,
          breaches: days.reduce((sum, it) => sum + (it.judged?.classes.filter(({ breach }) => breach).length ?? 0), 0),
          unmeasured_streams: days.reduce((sum, it) => sum + (it.judged?.unmeasured ?? 0), 0),
          error: error ?? null,
        };
      });
  const verdicts: RowArrayOf<"reconcile_verdicts">["list"] = () =>
    judged(undefined)
      .toSorted((a, b) => compare(b.day, a.day) || compare(a.provider, b.provider))
      .flatMap((entry) =>
        verdictsOf(entry).map(({ breach, hard, ...verdict }) => ({
          day: entry.day,
          provider: entry.provider,
          ...verdict,
          breach: breach ? 1 : 0,
          hard: hard ? 1 : 0,
          judged_at: new Date(entry.judged?.at ?? 0).toISOString(),
        })),
      );
  return { reconcile: { list: providers, onChange }, reconcile_verdicts: { list: verdicts, onChange } };
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

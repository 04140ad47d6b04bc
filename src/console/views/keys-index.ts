/**
 * Lists joined to keys, each indexed once per answer, however many rows need it. A key's bucket belongs to the budget of its
 * profile: its own bucket if there is one, otherwise the shared one.
 */

import type { BudgetRecord, KeyRecord } from "../../admin-api/index.ts";
import { profileNamed } from "../actions/keys-by-name.ts";
import { type Data, rowsOf } from "../model/data.ts";
import { remember } from "../model/remember.ts";
import { isShared } from "./budgets-bucket.ts";

type ByName<T> = ReadonlyMap<string, T>;

interface Buckets {
  readonly shared: ByName<BudgetRecord>;
  /** Own buckets by the id of a key. */
  readonly own: ByName<readonly BudgetRecord[]>;
}

const bucketsOf = remember((rows: readonly BudgetRecord[]): Buckets => {
  const shared = new Map<string, BudgetRecord>();
  const own = new Map<string, BudgetRecord[]>();
  for (const row of rows) {
    if (isShared(row)) {
      shared.set(row.budget, row);
      continue;
    }
    const others = own.get(row.bucket);
    if (others === undefined) own.set(row.bucket, [row]);
    else others.push(row);
  }
  return { shared, own };
});

interface Spending {
  /** Budget of the key; `undefined` if the key has no profile, the profile no budget, or the profiles are not known. */
  readonly budget: string | undefined;
  /** Bucket that the key uses; `undefined` if nothing was spent in this window, or the budgets are not known. */
  readonly bucket: BudgetRecord | undefined;
}

export type SpendingOf = (key: KeyRecord) => Spending;

/** Returns a function from a key to the budget and bucket that it uses. */
export function spendingIn(data: Data): SpendingOf {
  const { shared, own } = bucketsOf(rowsOf(data, "budgets"));
  return ({ id, profile }) => {
    const found = profile === null ? undefined : profileNamed(data, profile);
    const owned = own.get(id);
    // Without the profiles, a key's own bucket still identifies its budget.
    const budget = (found === undefined && profile !== null ? owned?.[0]?.budget : found?.budget) ?? undefined;
    if (budget === undefined) return { budget, bucket: undefined };
    return { budget, bucket: owned?.find((it) => it.budget === budget) ?? shared.get(budget) };
  };
}

/** Returns every bucket of the key: that of its budget first, then those of former budgets. */
export function allBucketsOf(data: Data, key: KeyRecord): readonly BudgetRecord[] {
  const { bucket } = spendingIn(data)(key);
  const own = bucketsOf(rowsOf(data, "budgets")).own.get(key.id) ?? [];
  return bucket === undefined ? own : [bucket, ...own.filter((it) => it !== bucket)];
}

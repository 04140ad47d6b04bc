/**
 * Lists that are joined to keys, each indexed once an answer, however many rows ask. A key's bucket is that of the budget
 * of its profile: its own where there is one, else the shared one.
 */

import type { BudgetRecord, KeyRecord } from "../../admin-api/index.ts";
import { profileNamed } from "../actions/keys-by-name.ts";
import { type Data, rowsOf } from "../model/data.ts";
import { remember } from "../model/remember.ts";
import { isShared } from "./budgets-bucket.ts";

type ByName<T> = ReadonlyMap<string, T>;

interface Buckets {
  readonly shared: ByName<BudgetRecord>;
  /** By the id of a key. */
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

export interface Spending {
  /** Undefined: the key has no profile, the profile no budget, or the profiles are not known. */
  readonly budget: string | undefined;
  /** Undefined: nothing was spent in this window, or the budgets are not known. */
  readonly bucket: BudgetRecord | undefined;
}

export type SpendingOf = (key: KeyRecord) => Spending;

/** What the keys spend from. */
export function spendingIn(data: Data): SpendingOf {
  const { shared, own } = bucketsOf(rowsOf(data, "budgets"));
  return ({ id, profile }) => {
    const found = profile === null ? undefined : profileNamed(data, profile);
    const owned = own.get(id);
    // Without the profiles, a bucket that the key has for itself still tells its budget.
    const budget = (found === undefined && profile !== null ? owned?.[0]?.budget : found?.budget) ?? undefined;
    if (budget === undefined) return { budget, bucket: undefined };
    return { budget, bucket: owned?.find((it) => it.budget === budget) ?? shared.get(budget) };
  };
}

/** Every bucket that tells of the key: that of its budget first, then those of budgets that it has left. */
export function allBucketsOf(data: Data, key: KeyRecord): readonly BudgetRecord[] {
  const { bucket } = spendingIn(data)(key);
  const own = bucketsOf(rowsOf(data, "budgets")).own.get(key.id) ?? [];
  return bucket === undefined ? own : [bucket, ...own.filter((it) => it !== bucket)];
}

/**
 * Days of a provider before this gateway metered it. Usage that the provider reports for them did not pass through the gateway,
 * so it is not drift. Only verdicts are known here: if the first day is no longer kept, the earliest kept one counts.
 */

import type { ReconcileVerdictRecord } from "../../admin-api/index.ts";
import { remember } from "../model/remember.ts";

export type IsEarly = (verdict: ReconcileVerdictRecord) => boolean;

/**
 * Returns a function that decides whether a verdict is for a day before its provider's first metered day; false if no day was
 * metered.
 */
export const earlyDays = remember((verdicts: readonly ReconcileVerdictRecord[]): IsEarly => {
  const first = new Map<string, string>();
  for (const { provider, day, metered } of verdicts) {
    const known = first.get(provider);
    if (metered > 0 && (known === undefined || day < known)) first.set(provider, day);
  }
  return ({ provider, day }) => day < (first.get(provider) ?? "");
});

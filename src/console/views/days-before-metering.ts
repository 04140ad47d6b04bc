/**
 * Days of a provider before this gateway metered it. Usage that the provider reports for them did not pass through the gateway,
 * so it is not drift. Only verdicts are known here: if the first day is no longer kept, the earliest kept one counts.
 */

import type { ReconcileVerdictRecord } from "../../admin-api/index.ts";
import { remember } from "../model/remember.ts";

export type IsEarly = (verdict: ReconcileVerdictRecord) => boolean;

/** Returns whether a verdict is of a day before the first metered one of its provider; `false` if none was metered yet. */
export const earlyDays = remember((verdicts: readonly ReconcileVerdictRecord[]): IsEarly => {
  const first = new Map<string, string>();
  for (const { provider, day, metered } of verdicts) {
    const known = first.get(provider);
    if (metered > 0 && (known === undefined || day < known)) first.set(provider, day);
  }
  return ({ provider, day }) => day < (first.get(provider) ?? "");
});

/** Reconciliation: the reconciled providers, and the verdicts on their days. */

import type { ReconcileRecord, ReconcileVerdictRecord } from "../../../admin-api/index.ts";
import { counted, fixed, type ListSource } from "../lists.ts";
import type { Ports } from "../ports.ts";

export const reconcileList = ({ reconciled }: Ports): ListSource<ReconcileRecord> => ({
  ...counted((listener) => reconciled.onChange(listener)),
  take: () => fixed(reconciled.providers()),
});

export const verdictList = ({ reconciled }: Ports): ListSource<ReconcileVerdictRecord> => ({
  ...counted((listener) => reconciled.onChange(listener)),
  take: () => fixed(reconciled.verdicts()),
});

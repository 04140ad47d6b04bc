/** All alerts, worst first. A new kind is one entry in `ATTENTION`. */

import type { Need } from "../model/data.ts";
import { keyOf } from "../model/data.ts";
import { createMemo } from "../model/remember.ts";
import { CERTIFICATES } from "./attention-certificates.ts";
import {
  AUDIT_CONFLICTS,
  CONFIGURATION_REFUSED,
  DISK_LOW,
  FILE_STATUS,
  FORGETFUL_MEMBERS,
  LOG_AHEAD,
  NO_LEADER,
  NODE_NOT_READY,
  NODE_REMOVED,
  SILENT_MEMBERS,
  SOURCES,
  WORKERS_MISSING,
  WRONG_CLOCKS,
} from "./attention-cluster.ts";
import { type AttentionItem, type AttentionSource, SEVERITIES, type Seen } from "./attention-item.ts";
import { DRIFT, MISSING_REPORTS } from "./attention-reconcile.ts";
import { REFUSED_CALLERS } from "./attention-refused.ts";
import { FAILING_CALLS, FAILING_PROVIDERS, SPENT_BUDGETS, SUSPENSIONS, UNSERVED_MODELS } from "./attention-traffic.ts";

/** Sources; of alerts with the same weight, those of an earlier source come first. */
export const ATTENTION: readonly AttentionSource[] = [
  FAILING_PROVIDERS,
  FAILING_CALLS,
  UNSERVED_MODELS,
  NO_LEADER,
  FORGETFUL_MEMBERS,
  SILENT_MEMBERS,
  NODE_REMOVED,
  NODE_NOT_READY,
  DISK_LOW,
  WORKERS_MISSING,
  WRONG_CLOCKS,
  LOG_AHEAD,
  CONFIGURATION_REFUSED,
  FILE_STATUS,
  CERTIFICATES,
  SOURCES,
  AUDIT_CONFLICTS,
  SPENT_BUDGETS,
  REFUSED_CALLERS,
  DRIFT,
  MISSING_REPORTS,
  SUSPENSIONS,
];

const ITEMS = createMemo<readonly AttentionItem[]>();

/** Returns the alerts, recomputed only when a needed reading has a new value or failure. */
export function attentionOf(context: Seen): readonly AttentionItem[] {
  const readings = attentionNeeds().map((need) => context.data.get(need));
  const madeOf = readings.flatMap((reading) => [reading?.value, reading?.failure]);
  return ITEMS(madeOf, () =>
    ATTENTION.flatMap((source) => source.items(context)).sort((a, b) => urgencyOf(a) - urgencyOf(b)),
  );
}

/** Returns the sort key; smaller is more urgent. */
export const urgencyOf = ({ severity, weight }: AttentionItem): number => SEVERITIES[severity].rank - weight / 2;

/** Returns the needs of all sources, without duplicates. */
export const attentionNeeds = (): readonly Need[] => NEEDS;

const NEEDS: readonly Need[] = [
  ...new Map(ATTENTION.flatMap(({ needs }) => needs).map((need) => [keyOf(need), need])).values(),
];

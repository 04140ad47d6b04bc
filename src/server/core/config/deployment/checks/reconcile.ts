/**
 * Checks of `reconcile`: its providers, and the relations of its periods. Spec: document 3, `reconcile`. A period out of range
 * is corrected where it is used, and reported here.
 */

import { formatDuration, parseDuration } from "../../../../../base/index.ts";
import type { Problem } from "../../problem.ts";
import { providerName } from "../providers.ts";
import { LONGEST_LOOKBACK_MS, reconcilePeriods } from "../reconcile.ts";
import { type Check, unknownName } from "./check.ts";

const DAY_MS = 86_400_000;

/**
 * Minimum polling interval without a warning, in milliseconds, as one of the two providers requests. Source: usage report APIs
 * reference, 1.
 */
const POLITE_INTERVAL_MS = 60_000;

export const checkReconcile: Check = ({ reconcile, providers }, problem) => {
  if (reconcile === undefined) return [];
  const byName = new Map(providers.map((provider) => [providerName(provider), provider]));
  const names = new Set([...byName.keys()].filter((name) => name !== undefined));
  const found: Problem[] = reconcile.providers.flatMap(({ provider: name, admin_key: adminKey }, at) => {
    const provider = byName.get(name);
    if (provider === undefined) {
      return [problem(["reconcile", "providers", at, "provider"], unknownName("provider", name, names))];
    }
    if (adminKey !== provider.api_key) return [];
    const message = "this is the key that requests are sent with; reports need the key of an administrator";
    return [problem(["reconcile", "providers", at, "admin_key"], message, "warning")];
  });
  if (reconcile.providers.length === 0) {
    found.push(problem(["reconcile"], "no provider is reconciled: `providers` is empty", "warning"));
  }

  const { intervalMs, lagMs, lookbackMs, retentionMs } = reconcilePeriods(reconcile);
  const lookback = parseDuration(reconcile.lookback) ?? 0;
  const shortest = lagMs + DAY_MS;
  if (shortest > LONGEST_LOOKBACK_MS) {
    const message = `longer than ${formatDuration(LONGEST_LOOKBACK_MS - DAY_MS)}: no day within the longest lookback would be judged`;
    found.push(problem(["reconcile", "maturity_lag"], message));
  } else if (lookback < shortest) {
    const message = `shorter than \`maturity_lag\` and a day: widened to ${formatDuration(lookbackMs)}`;
    found.push(problem(["reconcile", "lookback"], message, "warning"));
  }
  if (lookback > LONGEST_LOOKBACK_MS) {
    const message = `longer than 248 days: narrowed to ${formatDuration(lookbackMs)}`;
    found.push(problem(["reconcile", "lookback"], message, "warning"));
  }
  if (retentionMs !== undefined && retentionMs !== parseDuration(reconcile.retention)) {
    const message = `does not exceed \`lookback\`: widened to ${formatDuration(retentionMs)}`;
    found.push(problem(["reconcile", "retention"], message, "warning"));
  }
  if (intervalMs < POLITE_INTERVAL_MS) {
    const message = "shorter than a minute: providers may answer such frequent polling with 429";
    found.push(problem(["reconcile", "interval"], message, "warning"));
  }
  return found;
};

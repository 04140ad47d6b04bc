/**
 * `reconcile`: its providers, and how its periods relate. Spec: document 3, `reconcile`.
 * A period out of range is corrected where it is used; here it is told.
 */

import { formatDuration, parseDuration } from "../../../../../base/index.ts";
import type { Problem } from "../../problem.ts";
import { providerName } from "../providers.ts";
import { type Check, unknownName } from "./check.ts";

const DAY_MS = 86_400_000;

const LONGEST_LOOKBACK_MS = 248 * DAY_MS;

export const checkReconcile: Check = ({ reconcile, providers }, problem) => {
  if (reconcile === undefined) return [];
  const names = new Set(providers.flatMap((provider) => providerName(provider) ?? []));
  const found: Problem[] = reconcile.providers.flatMap(({ provider }, at) =>
    names.has(provider)
      ? []
      : [problem(["reconcile", "providers", at, "provider"], unknownName("provider", provider, names))],
  );

  const lag = parseDuration(reconcile.maturity_lag) ?? 0;
  const lookback = parseDuration(reconcile.lookback) ?? 0;
  const retention = parseDuration(reconcile.retention) ?? 0;
  const shortest = lag + DAY_MS;
  if (lookback < shortest) {
    const message = `shorter than \`maturity_lag\` and a day: widened to ${formatDuration(shortest)}`;
    found.push(problem(["reconcile", "lookback"], message, "warning"));
  }
  if (lookback > LONGEST_LOOKBACK_MS) {
    const message = `longer than 248 days: narrowed to ${formatDuration(LONGEST_LOOKBACK_MS)}`;
    found.push(problem(["reconcile", "lookback"], message, "warning"));
  }
  if (retention >= 0 && retention <= Math.min(lookback, LONGEST_LOOKBACK_MS)) {
    found.push(problem(["reconcile", "retention"], "does not exceed `lookback`: widened until it does", "warning"));
  }
  return found;
};

/** Sums the counters of one bucket of a report, as the settings show them. */

import type { Dialect } from "../dialect-errors.ts";
import { COUNTERS, type Counters, DAY_MS, type Kind, type LedgerLine, type UsageLedger } from "./report-ledger.ts";
import type { ReportSettings } from "./report-settings.ts";

export interface UsageQuery {
  readonly dialect: Dialect;
  readonly kind: Kind;
  /** Selected key ids; empty for all. */
  readonly keyIds: readonly string[];
  readonly models: readonly string[];
  /** Selects usage of batches or other usage; `undefined` for both. */
  readonly batch: boolean | undefined;
  /** Members of a line by which results are grouped. */
  readonly groups: readonly ("model" | "keyId" | "isBatch")[];
}

export interface UsageSums {
  readonly group: Partial<Pick<LedgerLine, "model" | "keyId" | "isBatch">>;
  readonly counters: Readonly<Counters>;
  readonly requests: number;
}

/** Sums a day. `from`: its first moment, in milliseconds since 1970. */
export function sumsOfDay(
  ledger: UsageLedger,
  settings: ReportSettings,
  query: UsageQuery,
  from: number,
  now: number,
): readonly UsageSums[] {
  const fromMs = from + settings.dayOffsetHours * 3_600_000;
  const reportedUntilMs = now - settings.delayHours * 3_600_000;
  const sums = new Map<string, { group: UsageSums["group"]; counters: Counters; requests: number }>();
  const sumOf = (group: UsageSums["group"]) => {
    const key = JSON.stringify(group);
    const known = sums.get(key) ?? { group, counters: { input: 0, cached: 0, written: 0, output: 0 }, requests: 0 };
    sums.set(key, known);
    return known;
  };
  for (const line of ledger.lines()) {
    if (line.at < fromMs || line.at >= fromMs + DAY_MS || line.at > reportedUntilMs || !isSelected(line, query))
      continue;
    const sum = sumOf(Object.fromEntries(query.groups.map((name) => [name, line[name]])));
    for (const counter of COUNTERS) sum.counters[counter] += line.counters[counter];
    sum.requests += 1;
  }
  const day = new Date(from).toISOString().slice(0, 10);
  const adjustments = settings.adjustments.filter(
    (adjustment) =>
      adjustment.dialect === query.dialect &&
      (adjustment.day === undefined || adjustment.day === day) &&
      query.kind === "completions",
  );
  // An amount that the settings add belongs to no line, so the first result gets it.
  if (sums.size === 0 && adjustments.some(({ add }) => add > 0)) sumOf({});
  for (const { counter: adjustedCounter, factor, add } of adjustments) {
    for (const [at, { counters }] of [...sums.values()].entries()) {
      for (const counter of COUNTERS) {
        if (adjustedCounter !== undefined && adjustedCounter !== counter) continue;
        counters[counter] = Math.max(0, Math.round(counters[counter] * factor) + (at === 0 ? add : 0));
      }
    }
  }
  return [...sums.values()];
}

function isSelected(line: LedgerLine, { dialect, kind, keyIds, models, batch }: UsageQuery): boolean {
  return (
    line.dialect === dialect &&
    line.kind === kind &&
    (keyIds.length === 0 || keyIds.includes(line.keyId)) &&
    (models.length === 0 || models.includes(line.model)) &&
    (batch === undefined || line.isBatch === batch)
  );
}

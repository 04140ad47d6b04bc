/** Sums the counters of one bucket of a report, as the settings show them. */

import type { Dialect } from "../errors.ts";
import { COUNTERS, type Counters, DAY_MS, type Kind, type Line, type UsageLedger } from "./book.ts";
import type { Knobs } from "./knobs.ts";

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
  readonly group: Partial<Pick<Line, "model" | "keyId" | "isBatch">>;
  readonly counters: Readonly<Counters>;
  readonly requests: number;
}

/** Sums a day. `from`: its first moment, in milliseconds since 1970. */
export function sumsOfDay(
  ledger: UsageLedger,
  knobs: Knobs,
  asked: UsageQuery,
  from: number,
  now: number,
): readonly UsageSums[] {
  const begins = from + knobs.edgeHours * 3_600_000;
  const seenUntil = now - knobs.delayHours * 3_600_000;
  const sums = new Map<string, { group: UsageSums["group"]; counters: Counters; requests: number }>();
  const sumOf = (group: UsageSums["group"]) => {
    const key = JSON.stringify(group);
    const known = sums.get(key) ?? { group, counters: { input: 0, cached: 0, written: 0, output: 0 }, requests: 0 };
    sums.set(key, known);
    return known;
  };
  for (const line of ledger.lines()) {
    if (line.at < begins || line.at >= begins + DAY_MS || line.at > seenUntil || !isAsked(line, asked)) continue;
    const sum = sumOf(Object.fromEntries(asked.groups.map((name) => [name, line[name]])));
    for (const counter of COUNTERS) sum.counters[counter] += line.counters[counter];
    sum.requests += 1;
  }
  const day = new Date(from).toISOString().slice(0, 10);
  const adjustments = knobs.adjustments.filter(
    (it) => it.dialect === asked.dialect && (it.day === undefined || it.day === day) && asked.kind === "completions",
  );
  // An amount that the settings add belongs to no line, so the first result gets it.
  if (sums.size === 0 && adjustments.some(({ add }) => add > 0)) sumOf({});
  for (const { counter: only, factor, add } of adjustments) {
    for (const [at, { counters }] of [...sums.values()].entries()) {
      for (const counter of COUNTERS) {
        if (only !== undefined && only !== counter) continue;
        counters[counter] = Math.max(0, Math.round(counters[counter] * factor) + (at === 0 ? add : 0));
      }
    }
  }
  return [...sums.values()];
}

function isAsked(line: Line, { dialect, kind, keyIds, models, batch }: UsageQuery): boolean {
  return (
    line.dialect === dialect &&
    line.kind === kind &&
    (keyIds.length === 0 || keyIds.includes(line.keyId)) &&
    (models.length === 0 || models.includes(line.model)) &&
    (batch === undefined || line.isBatch === batch)
  );
}

/** The ledger of usage: rows are unpacked a period at a time as they are wanted, since there may be a million. */

import type { UsageRecord } from "../../../admin-api/index.ts";
import {
  COUNTS,
  dayText,
  FIXED_NAMES,
  HOPS,
  HOURS_A_DAY,
  NAMED_FIELDS,
  readUsedChunk,
  readUsedNames,
  type Span,
  scanPacked,
  USED_WIDTH,
} from "../../core/state/index.ts";
import { type ListSource, stored, tables } from "../lists.ts";
import type { Ports } from "../ports.ts";
import { TABLE_PREFIX } from "../tables.ts";

export function usageList({ cluster: { view } }: Pick<Ports, "cluster">): ListSource<UsageRecord> {
  return {
    ...tables(view, TABLE_PREFIX.usage),
    async take() {
      const rows = await stored(view, TABLE_PREFIX.usage, (key, value) => [key, value] as const);
      const periods = periodsOf(rows);
      return () => usageRows(periods);
    },
  };
}

interface StoredPeriod {
  /** `used/<span>/<at>/`. */
  readonly prefix: string;
  readonly chunks: string[];
  names: string | undefined;
}

/** The newest first: hours, then days. Values stay packed. */
function periodsOf(rows: readonly (readonly [key: string, value: string])[]): readonly StoredPeriod[] {
  const periods: StoredPeriod[] = [];
  for (const [key, value] of rows) {
    const prefix = key.slice(0, key.lastIndexOf("/") + 1);
    let period = periods.at(-1);
    if (period?.prefix !== prefix) {
      period = { prefix, chunks: [], names: undefined };
      periods.push(period);
    }
    if (key.endsWith("/names")) period.names = value;
    else period.chunks.push(value);
  }
  return periods.toReversed();
}

function* usageRows(periods: readonly StoredPeriod[]): Generator<UsageRecord> {
  for (const { prefix, chunks, names: stored } of periods) {
    const [, span, at] = prefix.split("/") as [string, Span, string];
    const hour = span === "d" ? dayText(Number(at)) : hourText(Number(at));
    const names = [...FIXED_NAMES, ...(stored === undefined ? [] : readUsedNames(stored).names)];
    for (const chunk of chunks) {
      const records: UsageRecord[] = [];
      scanPacked(readUsedChunk(chunk).rows, USED_WIDTH, (row) => void records.push(recordOf(row, hour, names)));
      yield* records;
    }
  }
}

const hourText = (hour: number): string =>
  `${dayText(Math.floor(hour / HOURS_A_DAY))}T${String(hour % HOURS_A_DAY).padStart(2, "0")}:00:00Z`;

const REQUESTS = NAMED_FIELDS + COUNTS.indexOf("requests");

function recordOf(row: readonly number[], hour: string, names: readonly string[]): UsageRecord {
  const orNull = (number = 0): string | null => (number === 0 ? null : (names[number] ?? null));
  const count = (at: number): number => row[REQUESTS + at] ?? 0;
  return {
    hour,
    hop: HOPS[row[0] ?? 0] ?? "llm",
    caller: orNull(row[1]),
    profile: orNull(row[2]),
    provider: names[row[3] ?? 0] ?? "",
    model: orNull(row[4]),
    requests: count(0),
    failed: count(1),
    input_tokens: count(2),
    cached_input_tokens: count(3),
    cache_creation_input_tokens: count(4),
    output_tokens: count(5),
    reasoning_tokens: count(6),
    units: count(7),
  };
}

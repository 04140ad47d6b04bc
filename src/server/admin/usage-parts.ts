/** Storage format of the rows of `usage`, for its list and for `query`: in parts, each of an hour or a day, and packed. */

import type { UsageRecord } from "../../admin-api/index.ts";
import {
  COUNTS,
  dayText,
  FIXED_NAMES,
  HOPS,
  HOURS_A_DAY,
  NAMED_FIELDS,
  packedIn,
  readUsedNames,
  scanPacked,
  USED_WIDTH,
} from "../core/state/index.ts";
import type { StoredPart } from "./lists.ts";

/** Returns the parts, newest first: hours, then days. Values stay packed. `rows` are keys and values in the order of the keys. */
export function usageParts(rows: readonly (readonly [key: string, value: string])[]): readonly StoredPart[] {
  const parts: { readonly label: string; readonly texts: string[] }[] = [];
  let last = "";
  for (const [key, value] of rows) {
    const prefix = key.slice(0, key.lastIndexOf("/") + 1);
    if (prefix !== last) parts.push({ label: labelOf(prefix), texts: [] });
    last = prefix;
    const texts = parts.at(-1)?.texts;
    // In the order of keys, the names come last in their part, but a reader needs them first.
    if (key.endsWith("/names")) texts?.unshift(`${NAMES}${value}`);
    else texts?.push(value);
  }
  return parts.toReversed();
}

/** Prefix of names among the texts of a part. */
const NAMES = "n";

function labelOf(prefix: string): string {
  const [, span, at] = prefix.split("/");
  return span === "d" ? dayText(Number(at)) : hourText(Number(at));
}

const hourText = (hour: number): string =>
  `${dayText(Math.floor(hour / HOURS_A_DAY))}T${String(hour % HOURS_A_DAY).padStart(2, "0")}:00:00Z`;

/** Returns the names of a part, indexed by number. */
export function partNames([first]: readonly string[]): readonly string[] {
  const own = first?.startsWith(NAMES) === true ? readUsedNames(first.slice(NAMES.length)).names : [];
  return [...FIXED_NAMES, ...own];
}

/**
 * Calls `visit` for each row of a text, with an array that it must not keep. A text of names has no rows. `fields`: indexes of
 * the fields to read; all by default.
 */
export function scanText(text: string, visit: (row: readonly number[]) => void, fields?: ReadonlySet<number>): void {
  if (text.startsWith(NAMES)) return;
  const wanted = fields && Array.from({ length: USED_WIDTH }, (_, field) => fields.has(field));
  scanPacked(packedIn(text), USED_WIDTH, visit, wanted);
}

/** Index of a column in a packed row; `hour` is not part of it. */
export const FIELD: Readonly<Record<Exclude<keyof UsageRecord, "hour">, number>> = {
  hop: 0,
  caller: 1,
  profile: 2,
  provider: 3,
  model: 4,
  requests: fieldOf("requests"),
  failed: fieldOf("failed"),
  input_tokens: fieldOf("input_tokens"),
  cached_input_tokens: fieldOf("cached_input_tokens"),
  cache_creation_input_tokens: fieldOf("cache_creation_input_tokens"),
  output_tokens: fieldOf("output_tokens"),
  reasoning_tokens: fieldOf("reasoning_tokens"),
  units: fieldOf("units"),
};

function fieldOf(name: (typeof COUNTS)[number]): number {
  return NAMED_FIELDS + COUNTS.indexOf(name);
}

/** Returns the value that the list shows for a number in a packed row. */
export function cellValue(field: number, value: number, names: readonly string[]): string | number | null {
  if (field >= NAMED_FIELDS) return value;
  if (field === FIELD.hop) return HOPS[value] ?? "llm";
  if (field === FIELD.provider) return names[value] ?? "";
  return value === 0 ? null : (names[value] ?? null);
}

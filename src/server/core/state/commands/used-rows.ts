/**
 * Rows of the usage ledger.
 *
 *   used/h/<hour>/<chunk>    usage of an hour, counted from 1970: up to 100 rows, packed
 *   used/h/<hour>/names      names that those rows refer to by number
 *   used/d/<day>/…           the same for a day, from hours older than a week
 *   met/<day>/<provider>/<kind>   tokens metered for a provider on a UTC day, to compare with its own report
 *   reported/<node>             last report of a node that was added
 *
 * Source: design decisions, section 14.
 */

import { choice, integer, label, listOf, Malformed, object, prose, text } from "../fields.ts";
import { digits, keyPart, rowFormat } from "../row-format.ts";

export const HOUR_MS = 3_600_000;
export const HOURS_A_DAY = 24;
/** Number of hours that are kept separately, including the current one. */
export const KEPT_HOURS = 7 * HOURS_A_DAY;
/** Number of days that are kept, including the current one. */
export const KEPT_DAYS = 400;

/** Maximum UTF-16 units of a name; the reporting node shortens longer ones. */
export const MAX_NAME_LENGTH = 128;
export const usedName = prose(MAX_NAME_LENGTH);

export const HOPS = ["llm", "mcp", "a2a"] as const;
export type Hop = (typeof HOPS)[number];

/** Number of leading fields of a packed row: the traffic type and the numbers of four names. The counts follow. */
export const NAMED_FIELDS = 5;
export const COUNTS = [
  "requests",
  "failed",
  "input_tokens",
  "cached_input_tokens",
  "cache_creation_input_tokens",
  "output_tokens",
  "reasoning_tokens",
  "units",
] as const;
export const USED_WIDTH = NAMED_FIELDS + COUNTS.length;

/** Names with fixed numbers: the empty name, and the caller that sums the rest of a full period. */
export const FIXED_NAMES = ["", "other"] as const;

export const CHUNK_ROWS = 100;
const MAX_CHUNKS = 100;
const MAX_PERIOD_NAMES = 16_384;

export const SPANS = ["h", "d"] as const;
/** Length of a period: an hour or a day. */
export type Span = (typeof SPANS)[number];

const span = choice(SPANS);
const packed = (max: number) => text(/^[0-9a-z,;]*$/, max);

const chunkRow = object({ span, at: integer(), chunk: integer(0, MAX_CHUNKS), rows: packed(64 * 1_024) });
const namesRow = object({ span, at: integer(), names: listOf(usedName, MAX_PERIOD_NAMES) });
export const usedChunkRows = rowFormat(chunkRow);
export const usedNamesRows = rowFormat(namesRow);

const ROWS_BEFORE = '"rows":"';
const ROWS_AFTER = '"}';

/**
 * Returns the packed rows of a chunk that `usedChunkRows` wrote, without parsing the rest, since a query over a year reads
 * 10,000 chunks. Invalid rows are found by the scan. Throws `Malformed`.
 */
export function packedIn(chunk: string): string {
  const before = chunk.indexOf(ROWS_BEFORE);
  if (before < 0 || !chunk.endsWith(ROWS_AFTER)) throw new Malformed("a chunk of rows is malformed");
  return chunk.slice(before + ROWS_BEFORE.length, -ROWS_AFTER.length);
}

/** Returns the prefix of all keys of a period. Hours and days have 7 digits, which is enough up to the year 3110. */
export const periodKey = (of: Span, at: number): string => `used/${of}/${digits(at, 7)}/`;
export const usedChunkRowKey = (row: { readonly span: Span; readonly at: number; readonly chunk: number }): string =>
  periodKey(row.span, row.at) + digits(row.chunk, 3);
export const usedNamesRowKey = (row: { readonly span: Span; readonly at: number }): string =>
  `${periodKey(row.span, row.at)}names`;

/** Kinds of metered usage. `media`: images, audio and video, which providers report in other counters than tokens. */
export const METERED_KINDS = ["tokens", "media"] as const;

/** Classes of tokens. They do not overlap, except that `reasoning` is a part of `output`. */
const TOKEN_CLASSES = ["input", "cached_input", "cache_creation_input", "output", "reasoning"] as const;

const meteredRow = object({
  /** UTC day, such as `2026-11-20`. */
  day: text(/^[0-9]{4,}-[0-9]{2}-[0-9]{2}$/, 12),
  provider: label(),
  kind: choice(METERED_KINDS),
  /** Number of answers that reported usage. */
  answers: integer(),
  input: integer(),
  cached_input: integer(),
  cache_creation_input: integer(),
  output: integer(),
  reasoning: integer(),
  /** Number of streams that ended before they had reported all usage; the provider bills more than was metered. */
  unmeasured_streams: integer(),
});
export type MeteredRow = ReturnType<typeof meteredRow>;
export const meteredRows = rowFormat(meteredRow);
export const meteredOf = (day: string): string => `met/${day}/`;
export const meteredRowKey = (of: Pick<MeteredRow, "day" | "provider" | "kind">): string =>
  `${meteredOf(of.day)}${keyPart(of.provider)}/${of.kind}`;

/** Counts of a packed row of a report. They follow the hour, the number of the provider's name and the number of the kind. */
export const METERED_COUNTS = ["answers", ...TOKEN_CLASSES, "unmeasured_streams"] as const;
export const METERED_WIDTH = 3 + METERED_COUNTS.length;

const sequenceRow = object({ node: label(), inc: integer(1), seq: integer(1), at: integer() });
export const sequenceRows = rowFormat(sequenceRow);
export const sequenceRowKey = (node: string): string => `reported/${keyPart(node)}`;

/**
 * Formats a day counted from 1970, such as `2026-11-20`. Uses only integer arithmetic. Source: H. Hinnant, "chrono-Compatible
 * Low-Level Date Algorithms".
 */
export function dayText(day: number): string {
  const shifted = day + 719_468;
  const era = Math.floor(shifted / 146_097);
  const ofEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (ofEra - Math.floor(ofEra / 1_460) + Math.floor(ofEra / 36_524) - Math.floor(ofEra / 146_096)) / 365,
  );
  const ofYear = ofEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * ofYear + 2) / 153);
  const date = ofYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1;
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  return `${digits(year, 4)}-${digits(month, 2)}-${digits(date, 2)}`;
}

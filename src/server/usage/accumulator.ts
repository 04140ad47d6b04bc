/**
 * Accumulates the usage of this node's callers since its last report in memory. Adding takes a few lookups and never waits.
 *
 * Memory is bounded: beyond 8,192 rows, new ones are summed under the caller `other` by traffic type, hour and provider. A caller
 * that invents model names gets at most 100 rows per provider, and the rest is summed as the model `other`.
 */
import type { Use } from "../core/budgets/index.ts";
import {
  addCounts,
  COUNTS,
  FIXED_NAMES,
  HOPS,
  HOUR_MS,
  type Hop,
  MAX_NAME_LENGTH,
  METERED_KINDS,
  packRows,
} from "../core/state/index.ts";
import type { Report } from "./types.ts";

export const MAX_UNREPORTED_ROWS = 8_192;
/** Maximum number of models of one caller at one provider. */
const MAX_MODELS = 100;
/** Maximum number of rows of one report. */
const MAX_ROWS = 2_048;
/** Maximum length of all names in one report, in UTF-16 units. Each unit may take three bytes. */
const MAX_NAMES_LENGTH = 65_536;

const REQUESTS = COUNTS.indexOf("requests");
/** Indexes into `metered`: answers, then the token classes, then answers that reported no usage. */
const ANSWERS = 0;
const FIRST_CLASS = 1;
const UNMEASURED = 6;
const METERED_LENGTH = 7;

const OTHER = FIXED_NAMES[1];
/** Caller name for a key whose name equals the one under which the rest is summed. */
const KEY_NAMED_OTHER = `key:${OTHER}`;

interface Row {
  readonly hop: Hop;
  readonly caller: string;
  readonly profile: string;
  readonly provider: string;
  readonly model: string;
  /** Counts in the order of `COUNTS`. */
  readonly counts: number[];
}

/** Nested maps by provider, caller, model and profile. Each level is small. */
type ByProfile = Map<string, Row>;
type ByModel = Map<string, ByProfile>;
type ByCaller = Map<string, ByModel>;
type ByProvider = Map<string, ByCaller>;

interface HourOfUse {
  readonly hour: number;
  readonly hops: Readonly<Record<Hop, ByProvider>>;
  readonly rows: Row[];
  /** Metered amounts by provider; see `ANSWERS` and the following indexes. */
  readonly metered: Map<string, readonly number[][]>;
}

/** Report that was taken, and the number of requests in it. */
export interface TakenReport {
  readonly report: Report;
  /** Number of requests in the report. */
  readonly requests: number;
}

export interface Accumulator {
  /** Adds usage. Never throws. */
  add(use: Use): void;
  /** Returns and removes the next report, or `undefined` if there is nothing to report. */
  take(): TakenReport | undefined;
  /** Number of requests that are in no report yet. */
  readonly requests: number;
}

/** Creates the accumulator. `now` returns milliseconds since 1970. */
export function createAccumulator(now: () => number): Accumulator {
  /** Hours in the order of their first use. All but the last are kept only because they could not be reported yet. */
  let hours: HourOfUse[] = [];
  let size = 0;
  let requests = 0;

  const hourNow = (): HourOfUse => {
    const hour = Math.floor(now() / HOUR_MS);
    const last = hours.at(-1);
    if (last?.hour === hour) return last;
    // If the clock was set back, the hour may have been opened before.
    const known = last === undefined || last.hour < hour ? undefined : hours.find((it) => it.hour === hour);
    if (known !== undefined) return known;
    const opened: HourOfUse = {
      hour,
      hops: { llm: new Map(), mcp: new Map(), a2a: new Map() },
      rows: [],
      metered: new Map(),
    };
    hours.push(opened);
    return opened;
  };

  const openRow = (hour: HourOfUse, { hop, caller, profile, provider, model }: Names): Row => {
    const byCaller = getOrCreateMap<ByCaller>(hour.hops[hop], provider);
    const byProfile = getOrCreateMap<ByProfile>(getOrCreateMap<ByModel>(byCaller, caller), model);
    const known = byProfile.get(profile);
    if (known !== undefined) return known;
    const row: Row = { hop, caller, profile, provider, model, counts: COUNTS.map(() => 0) };
    byProfile.set(profile, row);
    hour.rows.push(row);
    size += 1;
    return row;
  };
  const rowOf = (hour: HourOfUse, use: Use): Row => {
    const { hop, profile, provider } = use;
    const caller = use.caller === OTHER ? KEY_NAMED_OTHER : use.caller;
    const models = hour.hops[hop].get(provider)?.get(caller);
    const known = models?.get(use.model)?.get(profile);
    if (known !== undefined) return known;
    if (size >= MAX_UNREPORTED_ROWS) {
      return openRow(hour, { hop: use.hop, caller: OTHER, profile: "", provider: use.provider, model: OTHER });
    }
    const isFull = models !== undefined && models.size >= MAX_MODELS && !models.has(use.model);
    return openRow(hour, { hop, caller, profile, provider, model: isFull ? OTHER : detachedCopy(use.model) });
  };
  const meteredOf = (hour: HourOfUse, { provider, kind }: Use): number[] => {
    let kinds = hour.metered.get(provider);
    if (kinds === undefined) {
      kinds = METERED_KINDS.map(() => new Array<number>(METERED_LENGTH).fill(0));
      hour.metered.set(provider, kinds);
    }
    return kinds[METERED_KINDS.indexOf(kind)] as number[];
  };

  return {
    add(use) {
      const hour = hourNow();
      const { counts } = rowOf(hour, use);
      const { tokens } = use;
      requests += use.requests;
      counts[REQUESTS]! += use.requests;
      counts[1]! += use.failed;
      counts[7] = addCounts(counts[7]!, use.units);
      if (tokens !== undefined) {
        const { cachedInputTokens: cached, cacheCreationInputTokens: created, outputTokens, reasoningTokens } = tokens;
        const input = Math.max(0, tokens.inputTokens - cached - created);
        counts[2] = addCounts(counts[2]!, input);
        counts[3] = addCounts(counts[3]!, cached);
        counts[4] = addCounts(counts[4]!, created);
        counts[5] = addCounts(counts[5]!, outputTokens);
        counts[6] = addCounts(counts[6]!, reasoningTokens);
        const metered = meteredOf(hour, use);
        metered[ANSWERS]! += use.answers ?? 1;
        metered[FIRST_CLASS] = addCounts(metered[FIRST_CLASS]!, input);
        metered[FIRST_CLASS + 1] = addCounts(metered[FIRST_CLASS + 1]!, cached);
        metered[FIRST_CLASS + 2] = addCounts(metered[FIRST_CLASS + 2]!, created);
        metered[FIRST_CLASS + 3] = addCounts(metered[FIRST_CLASS + 3]!, outputTokens);
        metered[FIRST_CLASS + 4] = addCounts(metered[FIRST_CLASS + 4]!, reasoningTokens);
      }
      if (use.unmeasured > 0) meteredOf(hour, use)[UNMEASURED]! += use.unmeasured;
    },
    take() {
      const names = createNames();
      const packed: number[][] = [];
      const metered: number[][] = [];
      let requestCount = 0;
      for (const { hour, rows, metered: byProvider } of hours) {
        for (const [provider, kinds] of byProvider) {
          if (metered.length + METERED_KINDS.length > MAX_ROWS || names.length > MAX_NAMES_LENGTH) break;
          byProvider.delete(provider);
          for (const [kind, counts] of kinds.entries()) {
            if (counts.some((count) => count > 0)) metered.push([hour, names.number(provider), kind, ...counts]);
          }
        }
        let taken = 0;
        for (const { hop, caller, profile, provider, model, counts } of rows) {
          if (packed.length === MAX_ROWS || names.length > MAX_NAMES_LENGTH) break;
          const numbers = [caller, profile, provider, model].map(names.number);
          packed.push([hour, HOPS.indexOf(hop), ...numbers, ...counts]);
          requestCount += counts[REQUESTS]!;
          taken += 1;
        }
        removeReported(hours, hour, taken);
        size -= taken;
      }
      hours = hours.filter(({ rows, metered: left }) => rows.length > 0 || left.size > 0);
      if (packed.length === 0 && metered.length === 0) return undefined;
      requests -= requestCount;
      return {
        report: { names: names.all, rows: packRows(packed), metered: packRows(metered) },
        requests: requestCount,
      };
    },
    get requests() {
      return requests;
    },
  };
}

type Names = Pick<Row, "hop" | "caller" | "profile" | "provider" | "model">;

function getOrCreateMap<V extends Map<string, unknown>>(map: Map<string, V>, key: string): V {
  let found = map.get(key);
  if (found === undefined) {
    found = new Map() as V;
    map.set(key, found);
  }
  return found;
}

/** Removes the first `count` rows of the hour, which were taken. Later usage opens new rows. */
function removeReported(hours: readonly HourOfUse[], hour: number, count: number): void {
  const hourOfUse = hours.find((it) => it.hour === hour);
  if (hourOfUse === undefined || count === 0) return;
  for (const { hop, caller, profile, provider, model } of hourOfUse.rows.splice(0, count)) {
    const byCaller = hourOfUse.hops[hop].get(provider);
    const byModel = byCaller?.get(caller);
    const byProfile = byModel?.get(model);
    byProfile?.delete(profile);
    if (byProfile?.size === 0) byModel?.delete(model);
    if (byModel?.size === 0) byCaller?.delete(caller);
    if (byCaller?.size === 0) hourOfUse.hops[hop].delete(provider);
  }
}

/** Returns a copy, because a substring of a body keeps the whole body in memory. */
const detachedCopy = (text: string): string => JSON.parse(JSON.stringify(text)) as string;

interface NameList {
  readonly all: readonly string[];
  /** Total length of the names, in UTF-16 units. */
  readonly length: number;
  number(name: string): number;
}

function createNames(): NameList {
  const all: string[] = [];
  const numbers = new Map<string, number>(FIXED_NAMES.map((name, number) => [name, number]));
  let length = 0;
  return {
    all,
    get length() {
      return length;
    },
    number(raw) {
      const name = ledgerName(raw);
      const known = numbers.get(name);
      if (known !== undefined) return known;
      const number = FIXED_NAMES.length + all.length;
      numbers.set(name, number);
      all.push(name);
      length += name.length;
      return number;
    },
  };
}

/** Returns the name as the ledger stores it: bounded, well formed, and without control characters. */
function ledgerName(raw: string): string {
  const name = raw.slice(0, MAX_NAME_LENGTH).toWellFormed().replace(CONTROLS, "\ufffd");
  return raw.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH - 1)}…` : name;
}
/** Control characters, line and paragraph separators, and marks that reorder the text that a terminal shows. */
const CONTROLS = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

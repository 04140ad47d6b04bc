/**
 * Usage ledger: increments of each node, added exactly once, to hours that become days and finally expire.
 *
 * Reports are numbered within the incarnation of their node, and only the next number is added, so repeated or late reports add
 * nothing. A node resends the same report until it knows its outcome. Hours come from the node's clock, within limits of log
 * time. Source: design decisions, section 14; cluster reference, 6.2.
 */

import { define } from "../command.ts";
import { ok, refused } from "../command-refusals.ts";
import { integer, label, listOf, Malformed, object, type Parser, shaped } from "../fields.ts";
import type { Draft } from "../mutation-draft.ts";
import { LEDGER_LEVEL } from "./feature.ts";
import { memberRowKey, memberRows } from "./member-rows.ts";
import { addCounts, unpackRows } from "./used-packing.ts";
import { openPeriod, type Period, type UsedNames } from "./used-period.ts";
import {
  dayText,
  FIXED_NAMES,
  HOPS,
  HOUR_MS,
  HOURS_A_DAY,
  KEPT_DAYS,
  KEPT_HOURS,
  METERED_COUNTS,
  METERED_KINDS,
  METERED_WIDTH,
  type MeteredRow,
  meteredOf,
  meteredRowKey,
  meteredRows,
  periodKey,
  sequenceRowKey,
  sequenceRows,
  USED_WIDTH,
  usedName,
} from "./used-rows.ts";

/** Maximum number of rows of one report, and of its provider rows. */
const MAX_REPORT_ROWS = 4_096;
const MAX_REPORT_NAMES = 4_096;
const MAX_PACKED_LENGTH = 512 * 1_024;

/**
 * Maximum number of periods that one entry merges or drops, so that a node that was away for long does not delay the replicas.
 */
const MAX_ROLLED = 2;
/** Time for which the number of a node's last report is kept once the node is no longer a member. */
const SEQUENCE_KEPT_MS = 7 * HOURS_A_DAY * HOUR_MS;

const packedRows = (width: number): Parser<string> =>
  shaped(
    (value) => {
      if (typeof value !== "string" || value.length > MAX_PACKED_LENGTH)
        throw new Malformed("packed rows are malformed");
      unpackRows(value, width, MAX_REPORT_ROWS);
      return value;
    },
    () => `text of ${MAX_PACKED_LENGTH}: up to ${MAX_REPORT_ROWS} packed rows of ${width}`,
  );

/** Width of a packed row of a report: the hour, then the fields of a ledger row. */
const REPORT_WIDTH = 1 + USED_WIDTH;

export const usedAdd = define(
  "used.add",
  object({
    node: label(),
    inc: integer(1),
    /** Number of the report; 1 for the first report of the incarnation. */
    seq: integer(1),
    /** Names of the report, numbered from 2 on, after the fixed names. */
    names: listOf(usedName, MAX_REPORT_NAMES),
    rows: packedRows(REPORT_WIDTH),
    metered: packedRows(METERED_WIDTH),
  }),
  ({ node, inc, seq, names, rows, metered }, { draft, now }) => {
    const member = draft.get(memberRowKey(node));
    if (member === undefined) return refused("not_a_member");
    if (memberRows.read(member).incarnation !== inc) return refused("stale_incarnation");
    const last = lastOf(draft, node, inc);
    if (seq <= last) return ok({ added: false, last });
    if (seq !== last + 1) return refused("sequence_gap");
    const nowHour = Math.floor(now / HOUR_MS);
    const nameOf = namesIn(names);
    addRows(draft, unpackRows(rows, REPORT_WIDTH, MAX_REPORT_ROWS), nameOf, nowHour);
    addMetered(draft, unpackRows(metered, METERED_WIDTH, MAX_REPORT_ROWS), nameOf, nowHour);
    draft.put(sequenceRowKey(node), sequenceRows.write({ node, inc, seq, at: now }));
    roll(draft, nowHour);
    forgetNodes(draft, now);
    return ok({ added: true, last: seq });
  },
  { level: LEDGER_LEVEL },
);

function lastOf(draft: Draft, node: string, inc: number): number {
  const value = draft.get(sequenceRowKey(node));
  const row = value === undefined ? undefined : sequenceRows.read(value);
  return row?.inc === inc ? row.seq : 0;
}

type NameOf = (number: number | undefined) => string;

const namesIn = (own: readonly string[]): NameOf => {
  const names = [...FIXED_NAMES, ...own];
  return (number = -1) => {
    const name = names[number];
    if (name === undefined) throw new Malformed("a report numbers a name that it does not have");
    return name;
  };
};

/**
 * Limits an hour to the range from the oldest separate hour to the present, so that usage reported with a wrong clock is not
 * lost.
 */
const heldTo = (hour: number, nowHour: number): number => Math.max(nowHour - KEPT_HOURS + 1, Math.min(hour, nowHour));

function addRows(draft: Draft, rows: readonly (readonly number[])[], nameOf: NameOf, nowHour: number): void {
  const periods = new Map<number, Period>();
  for (const [hour = 0, hop = 0, caller, profile, provider, model, ...counts] of rows) {
    if (hop >= HOPS.length) throw new Malformed("a report has an unknown hop");
    const at = heldTo(hour, nowHour);
    let period = periods.get(at);
    if (period === undefined) {
      period = openPeriod(draft, "h", at);
      periods.set(at, period);
    }
    const names: UsedNames = [nameOf(caller), nameOf(profile), nameOf(provider), nameOf(model)];
    period.add(hop, names, counts);
  }
  for (const period of periods.values()) period.write();
}

function addMetered(draft: Draft, rows: readonly (readonly number[])[], nameOf: NameOf, nowHour: number): void {
  for (const [hour = 0, provider, kindNumber = 0, ...counts] of rows) {
    const kind = METERED_KINDS[kindNumber];
    if (kind === undefined) throw new Malformed("a report has an unknown kind");
    const of = { day: dayText(Math.floor(heldTo(hour, nowHour) / HOURS_A_DAY)), provider: nameOf(provider), kind };
    const value = draft.get(meteredRowKey(of));
    const before = value === undefined ? undefined : meteredRows.read(value);
    const sums = METERED_COUNTS.map((name, at) => [name, addCounts(before?.[name] ?? 0, counts[at] ?? 0)] as const);
    const summed = Object.fromEntries(sums) as Pick<MeteredRow, (typeof METERED_COUNTS)[number]>;
    draft.put(meteredRowKey(of), meteredRows.write({ ...of, ...summed }));
  }
}

/** Merges hours older than a week into their days, and removes days that are too old, oldest first. */
function roll(draft: Draft, nowHour: number): void {
  for (let rolled = 0; rolled < MAX_ROLLED; rolled += 1) {
    const hour = firstBefore(draft, "used/h/", nowHour - KEPT_HOURS + 1);
    if (hour === undefined) break;
    const day = openPeriod(draft, "d", Math.floor(hour / HOURS_A_DAY));
    openPeriod(draft, "h", hour).each((hop, names, counts) => day.add(hop, names, counts));
    day.write();
    dropAll(draft, periodKey("h", hour));
  }
  const firstDay = Math.floor(nowHour / HOURS_A_DAY) - KEPT_DAYS + 1;
  for (let rolled = 0; rolled < MAX_ROLLED; rolled += 1) {
    const day = firstBefore(draft, "used/d/", firstDay);
    if (day === undefined) break;
    dropAll(draft, periodKey("d", day));
  }
  const firstMetered = meteredOf(dayText(firstDay));
  for (let rolled = 0; rolled < MAX_ROLLED; rolled += 1) {
    const [key] = first(draft, "met/") ?? [];
    if (key === undefined || key >= firstMetered) break;
    dropAll(draft, key.slice(0, key.indexOf("/", 4) + 1));
  }
}

function first(draft: Draft, prefix: string): readonly [key: string, value: string] | undefined {
  for (const row of draft.scan(prefix)) return row;
  return undefined;
}

/** Returns the earliest of these periods, if it is before `least`. */
function firstBefore(draft: Draft, prefix: string, least: number): number | undefined {
  const [key] = first(draft, prefix) ?? [];
  const at = key === undefined ? least : Number(key.slice(prefix.length, key.indexOf("/", prefix.length)));
  return at < least ? at : undefined;
}

function dropAll(draft: Draft, prefix: string): void {
  for (const [key] of [...draft.scan(prefix)]) draft.delete(key);
}

function forgetNodes(draft: Draft, now: number): void {
  for (const [key, value] of [...draft.scan("reported/")]) {
    const { node, at } = sequenceRows.read(value);
    if (now - at > SEQUENCE_KEPT_MS && draft.get(memberRowKey(node)) === undefined) draft.delete(key);
  }
}

/** Returns true if a report would merge or remove something; the leader then sends one even without usage. */
export function isRollDue(rows: Pick<Draft, "scan">, now: number): boolean {
  const nowHour = Math.floor(now / HOUR_MS);
  for (const [key] of rows.scan("used/h/")) {
    if (Number(key.slice(7, 14)) < nowHour - KEPT_HOURS + 1) return true;
    break;
  }
  for (const [key] of rows.scan("used/d/"))
    return Number(key.slice(7, 14)) < Math.floor(nowHour / HOURS_A_DAY) - KEPT_DAYS + 1;
  return false;
}

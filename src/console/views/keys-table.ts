/** Table of the keys: cells are made only for rows on the screen, and joined lists are indexed once per answer. */

import type { KeyRecord } from "../../admin-api/index.ts";
import { textColumn } from "../format/column-kinds.ts";
import { shown } from "../format/labeled-lines.ts";
import { ago, day, humanDuration } from "../format/times.ts";
import { withUnknownWords } from "../format/word-table.ts";
import type { Context } from "../model/context.ts";
import { rowsOf } from "../model/data.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import { type Span, span as spanOf, type Tone } from "../model/text.ts";
import { BUDGET_STATES, usedFraction, usedPercent } from "./budgets-bucket.ts";
import { budgetFilter, profileFilter } from "./keys-filters.ts";
import { type SpendingOf, spendingIn } from "./keys-index.ts";

/** Remaining lifetime, in milliseconds, below which a key needs attention. */
const SOON_MS = 7 * 86_400_000;

export const KEY_STATES: Readonly<Record<KeyRecord["status"], { readonly word: string; readonly tone: Tone }>> =
  withUnknownWords(
    {
      active: { word: "active", tone: "plain" },
      suspended: { word: "SUSPENDED", tone: "off" },
      expired: { word: "EXPIRED", tone: "warn" },
    },
    (word) => ({ word, tone: "warn" }),
  );

export const expiryOf = ({ expires_at }: KeyRecord): number | null =>
  expires_at === null ? null : Date.parse(expires_at);

export const endsSoon = (key: KeyRecord, now: number): boolean => {
  const end = expiryOf(key);
  return end !== null && end - now < SOON_MS;
};

function endCell(key: KeyRecord, now: number): Span {
  const end = expiryOf(key);
  if (end === null) return { text: "never" };
  if (!endsSoon(key, now)) return { text: day(end) };
  return { text: end > now ? `in ${humanDuration(end - now)}` : `${humanDuration(now - end)} ago`, tone: "warn" };
}

function columnsOf(spendingOf: SpendingOf): readonly Column<KeyRecord>[] {
  return [
    textColumn(
      { head: "NAME", letter: "n", width: { least: 14, flex: 3 }, priority: 1, cut: "middle" },
      ({ name }) => name,
    ),
    textColumn(
      { head: "PROFILE", letter: "p", width: { least: 10, flex: 1 }, priority: 5, cut: "middle" },
      ({ profile }) => profile,
    ),
    {
      id: "state",
      head: "STATE",
      letter: "s",
      width: 9,
      align: "left",
      priority: 2,
      cell: ({ status }) => spanOf(KEY_STATES[status].word, KEY_STATES[status].tone),
      sortKey: ({ status }) => status,
    },
    {
      id: "created",
      head: "CREATED",
      letter: "c",
      width: 10,
      align: "left",
      priority: 8,
      cell: ({ created_at }) => spanOf(day(Date.parse(created_at))),
      sortKey: ({ created_at }) => Date.parse(created_at),
    },
    {
      id: "last used",
      head: "LAST USED",
      letter: "l",
      width: 9,
      align: "left",
      priority: 4,
      cell: ({ last_used_at }, now) => spanOf(ago(last_used_at, now), last_used_at === null ? "dim" : "plain"),
      sortKey: ({ last_used_at }) => (last_used_at === null ? null : Date.parse(last_used_at)),
    },
    {
      id: "budget",
      head: "BUDGET",
      letter: "b",
      width: { least: 10, flex: 1 },
      align: "left",
      priority: 6,
      cut: "middle",
      cell(key) {
        const { budget } = spendingOf(key);
        return budget === undefined ? spanOf("-", "dim") : shown(budget);
      },
      sortKey: (key) => spendingOf(key).budget ?? null,
    },
    {
      id: "used %",
      head: "USED %",
      letter: "u",
      width: 6,
      align: "right",
      priority: 3,
      cell(key) {
        const { bucket } = spendingOf(key);
        if (bucket === undefined) return spanOf("-", "dim");
        const { mark, tone } = BUDGET_STATES[bucket.status];
        return spanOf(`${mark}${usedPercent(bucket)}`, tone);
      },
      sortKey(key) {
        const { bucket } = spendingOf(key);
        return bucket === undefined ? null : usedFraction(bucket);
      },
    },
    {
      id: "expires",
      head: "EXPIRES",
      letter: "e",
      width: 10,
      align: "left",
      priority: 7,
      cell: endCell,
      sortKey: expiryOf,
    },
    {
      id: "id",
      head: "ID",
      letter: "i",
      width: 8,
      align: "left",
      priority: 9,
      cell: ({ id }) => shown(id, "dim"),
      sortKey: ({ id }) => id,
    },
  ];
}

/** Returns tokens with a trailing comma, so that a filter of another view finds exactly one name. */
function haystackOf(key: KeyRecord, spendingOf: SpendingOf): string {
  const { name, id, profile, status, metadata } = key;
  const { budget } = spendingOf(key);
  const texts = Object.entries(metadata).map(([text, value]) => `${text}=${value}`);
  return [
    `name=${name},`,
    profile === null ? "" : profileFilter(profile),
    budget === undefined ? "" : budgetFilter(budget),
    status,
    id,
    ...texts,
  ].join(" ");
}

/** Returns the table of all keys, or, if the view has a subject, of the key with that id. */
export function keysTable({ data, subject }: Pick<Context, "data" | "subject">): Table {
  const spendingOf = spendingIn(data);
  // Rows do not change with the clock; the time of the answer is precise enough for an expiry within days.
  const readAt = data.get({ id: "list_keys" })?.freshAt ?? 0;
  return tableOf<KeyRecord>(
    {
      columns: columnsOf(spendingOf),
      idOf: ({ name }) => name,
      nameOf: ({ name }) => name,
      haystack: (key) => haystackOf(key, spendingOf),
      isBad(key) {
        if (key.status !== "active" || endsSoon(key, readAt)) return true;
        const { bucket } = spendingOf(key);
        return bucket !== undefined && bucket.status !== "ok";
      },
      jsonOf: (key) => key,
    },
    rowsOf(data, "keys").filter(({ id }) => subject === undefined || id === subject),
  );
}

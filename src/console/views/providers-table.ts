/** The providers as rows: what this node measured in the last 60 seconds, and who switched one off until when. */

import { escapeControls } from "../../base/index.ts";
import { liftsWords } from "../actions/suspension-words.ts";
import { textColumn } from "../format/columns.ts";
import { shown } from "../format/lines.ts";
import { count, milliseconds, percent } from "../format/numbers.ts";
import { span as duration } from "../format/times.ts";
import type { Context } from "../model/context.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import { span, type Tone } from "../model/text.ts";
import { type ProviderRow, providerRows, STATES } from "./providers-facts.ts";

type Measured = (row: ProviderRow) => number | null;

interface NumberColumn {
  readonly head: string;
  readonly letter: string;
  readonly width: number;
  readonly priority: number;
}

const numbers = (
  { head, letter, width, priority }: NumberColumn,
  of: Measured,
  words: (value: number) => string,
): Column<ProviderRow> => ({
  id: head.toLowerCase(),
  head,
  letter,
  width,
  align: "right",
  priority,
  cell(row) {
    const value = of(row);
    return value === null ? span("-", "dim") : span(words(value), value === 0 ? "dim" : "plain");
  },
  sortKey: of,
});

/** What is measured is of no use while nothing is sent. */
/** Of attempts; callers notice it though the provider is not called failing yet. */
const NOTABLE_RATIO = 0.05;

function toneOfRatio(ratio: number | null): Tone {
  if (ratio === null) return "dim";
  return ratio >= NOTABLE_RATIO ? "warn" : "plain";
}

const errorRatio: Measured = ({ backend }) => backend.error_ratio;

const COLUMNS: readonly Column<ProviderRow>[] = [
  textColumn(
    { head: "NAME", letter: "n", width: { least: 12, flex: 2 }, priority: 1, cut: "middle" },
    ({ backend }) => backend.name,
  ),
  textColumn({ head: "DIALECT", letter: "d", width: 10, priority: 6 }, ({ backend }) => backend.dialect),
  {
    id: "state",
    head: "STATE",
    letter: "s",
    width: 11,
    align: "left",
    priority: 1,
    cell({ state }) {
      const { mark, word, tone } = STATES[state];
      return span(`${mark}${word}`, tone);
    },
    // Within a state by the share that fails, which is at most 1.
    sortKey: (row) => STATES[row.state].rank - (errorRatio(row) ?? 0) / 2,
  },
  numbers(
    { head: "REQ/s", letter: "r", width: 7, priority: 1 },
    ({ backend }) => backend.rate,
    (it) => count(it, 1),
  ),
  {
    ...numbers({ head: "ERR %", letter: "e", width: 6, priority: 1 }, errorRatio, (it) => percent(it)),
    cell(row) {
      const ratio = errorRatio(row);
      return span(percent(ratio), row.state === "failing" ? "fail" : toneOfRatio(ratio));
    },
  },
  numbers({ head: "TTFB p50", letter: "t", width: 8, priority: 4 }, ({ backend }) => backend.ttfb_p50_ms, milliseconds),
  numbers({ head: "p95", letter: "p", width: 6, priority: 1 }, ({ backend }) => backend.ttfb_p95_ms, milliseconds),
  numbers(
    { head: "RETRY", letter: "y", width: 6, priority: 4 },
    ({ backend }) => backend.retries,
    (it) => count(it),
  ),
  {
    id: "failover",
    head: "FAILOVER",
    letter: "f",
    width: 15,
    align: "left",
    priority: 3,
    cell: ({ backend }) => {
      const words = failoverWords(backend.failovers_in, backend.failovers_out);
      return span(words, words === "0" ? "dim" : "plain");
    },
    sortKey: ({ backend }) => backend.failovers_in + backend.failovers_out,
  },
  numbers(
    { head: "IN-FL", letter: "i", width: 6, priority: 3 },
    ({ backend }) => backend.in_flight,
    (it) => count(it),
  ),
  numbers(
    { head: "UNITS/min", letter: "u", width: 11, priority: 5 },
    ({ backend }) => backend.units_per_minute,
    (it) => count(it),
  ),
  {
    id: "lifts in",
    head: "LIFTS IN",
    letter: "l",
    width: 12,
    align: "left",
    priority: 2,
    cell: ({ suspension }, now) =>
      suspension === undefined
        ? span("-", "dim")
        : span(suspension.until === null ? liftsWords(suspension, now) : duration(Date.parse(suspension.until) - now)),
    sortKey: ({ suspension }) =>
      suspension === undefined
        ? null
        : suspension.until === null
          ? Number.MAX_SAFE_INTEGER
          : Date.parse(suspension.until),
  },
  {
    id: "subsets",
    head: "SUBSETS",
    letter: "b",
    width: { least: 7, flex: 1 },
    align: "left",
    priority: 7,
    cell: ({ backend }) => (backend.subsets.length === 0 ? span("-", "dim") : shown(backend.subsets.join(","))),
    sortKey: ({ backend }) => (backend.subsets.length === 0 ? null : backend.subsets.join(",")),
  },
];

/** `398 out`, `3 in 398 out`, `0`. */
export function failoverWords(came: number, left: number): string {
  const parts = [...(came > 0 ? [`${count(came)} in`] : []), ...(left > 0 ? [`${count(left)} out`] : [])];
  return parts.length === 0 ? "0" : parts.join(" ");
}

export const providersTable = ({ data }: Omit<Context, "now">): Table =>
  tableOf<ProviderRow>(
    {
      columns: COLUMNS,
      idOf: ({ backend }) => backend.name,
      nameOf: ({ backend }) => backend.name,
      haystack: ({ backend, state, suspension }) =>
        escapeControls(
          [backend.name, backend.dialect, STATES[state].word, suspension?.reason ?? "", suspension?.by ?? ""].join(" "),
        ),
      isBad: ({ state }) => state === "failing" || state === "suspended",
      jsonOf: ({ backend }) => backend,
    },
    providerRows(data),
  );

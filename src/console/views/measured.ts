/** What providers, MCP servers and agents have in common: how this node met them in the last minute, and who suspended one. */

import type { BackendRecord, RowOf, SuspensionRecord } from "../../admin-api/index.ts";
import { activeSuspensions } from "../actions/suspension-routes.ts";
import { suspensionWords } from "../actions/suspension-words.ts";
import { labelled } from "../format/lines.ts";
import { count, percent } from "../format/numbers.ts";
import { wordTable } from "../format/words.ts";
import { type Data, rowsOf } from "../model/data.ts";
import { type Line, span, type Tone } from "../model/text.ts";

export type State = BackendRecord["state"];

/** Worst first. */
export const STATES: Readonly<Record<State, { rank: number; mark: string; word: string; tone: Tone }>> = wordTable(
  {
    failing: { rank: 0, mark: "!", word: "FAILING", tone: "fail" },
    suspended: { rank: 1, mark: "~", word: "SUSPENDED", tone: "off" },
    ok: { rank: 2, mark: " ", word: "ok", tone: "plain" },
    idle: { rank: 3, mark: " ", word: "idle", tone: "dim" },
  },
  (word) => ({ rank: 1, mark: "~", word, tone: "off" }),
);

/** Columns that all of them have. */
export type Measured = Pick<
  BackendRecord,
  "name" | "state" | "rate" | "error_ratio" | "ttfb_p50_ms" | "ttfb_p95_ms" | "in_flight" | "units_per_minute"
>;

export interface Met<Row extends Measured = Measured> {
  readonly record: Row;
  /** As the suspensions say, which are told of sooner than the measurements. */
  readonly state: State;
  readonly suspension: SuspensionRecord | undefined;
}

/** Kind of the suspensions of each list's rows. */
export const KINDS = { backends: "provider", mcp_servers: "mcp", a2a_agents: "a2a" } as const;
export type MeasuredTable = keyof typeof KINDS;

export function metRows<T extends MeasuredTable>(data: Data, table: T): readonly Met<RowOf<T>>[] {
  const suspensions = new Map(
    activeSuspensions(data).flatMap((it) => (it.kind === KINDS[table] ? [[it.name, it] as const] : [])),
  );
  return rowsOf(data, table).map((record) => {
    const suspension = suspensions.get(record.name);
    return { record, suspension, state: suspension === undefined ? record.state : "suspended" };
  });
}

/** For a pane. `what`: what is counted, such as `attempts`. */
export function standingLines({ record, state, suspension }: Met, what: string, now: number): readonly Line[] {
  const { word, tone } = STATES[state];
  const fails = record.error_ratio === null ? "" : `, ${percent(record.error_ratio)} % fail`;
  return [
    labelled(
      "state",
      span(word, tone),
      span(`  ${count(record.rate, 1)} ${what}/s${fails}; ${record.in_flight} in flight`),
    ),
    ...(suspension === undefined ? [] : [labelled("suspended", span(suspensionWords(suspension, now), "off"))]),
  ];
}

/** Common parts of providers, MCP servers and agents: the measurements of the last minute, and suspensions. */

import type { BackendRecord, RowOf, SuspensionRecord } from "../../admin-api/index.ts";
import { activeSuspensions } from "../actions/suspension-routes.ts";
import { suspensionText } from "../actions/suspension-text.ts";
import { labeledLine, shown } from "../format/labeled-lines.ts";
import { count, percent } from "../format/numbers.ts";
import { withUnknownWords } from "../format/word-table.ts";
import type { Data } from "../model/data.ts";
import { mergedRows } from "../model/nodes.ts";
import { type Line, span, type Tone } from "../model/text.ts";

export type State = BackendRecord["state"];

/** States, worst first. */
export const STATES: Readonly<Record<State, { rank: number; mark: string; word: string; tone: Tone }>> =
  withUnknownWords(
    {
      failing: { rank: 0, mark: "!", word: "FAILING", tone: "fail" },
      suspended: { rank: 1, mark: "~", word: "SUSPENDED", tone: "off" },
      ok: { rank: 2, mark: " ", word: "ok", tone: "plain" },
      idle: { rank: 3, mark: " ", word: "idle", tone: "dim" },
    },
    (word) => ({ rank: 1, mark: "~", word, tone: "off" }),
  );

/** Columns that providers, MCP servers and agents have. */
export type Measured = Pick<
  BackendRecord,
  | "name"
  | "state"
  | "rate"
  | "error_ratio"
  | "last_failure"
  | "ttfb_p50_ms"
  | "ttfb_p95_ms"
  | "in_flight"
  | "units_per_minute"
  | "node"
>;

export interface MeasuredRow<Row extends Measured = Measured> {
  /** Row merged over all nodes that answered. */
  readonly record: Row;
  /** Rows of the single nodes. */
  readonly parts: readonly Row[];
  /** State, with `suspended` taken from the suspensions, which are newer than the measurements. */
  readonly state: State;
  readonly suspension: SuspensionRecord | undefined;
}

/** Suspension kind of each list's rows. */
export const KINDS = { backends: "provider", mcp_servers: "mcp", a2a_agents: "a2a" } as const;
export type MeasuredTable = keyof typeof KINDS;

export function measuredRows<T extends MeasuredTable>(data: Data, table: T): readonly MeasuredRow<RowOf<T>>[] {
  const suspensions = new Map(
    activeSuspensions(data).flatMap((it) => (it.kind === KINDS[table] ? [[it.name, it] as const] : [])),
  );
  return mergedRows(data, table).map(({ record, parts }) => {
    const suspension = suspensions.get(record.name);
    return { record, parts, suspension, state: suspension === undefined ? record.state : "suspended" };
  });
}

/** Returns the rows as the admin API returned them: a single row, or the list of each node's row. */
export const jsonOfMeasured = ({ record, parts }: MeasuredRow): unknown => (parts.length > 1 ? parts : record);

/** Returns the lines of a pane about the state. `what` is the counted noun, such as `attempts`. */
export function stateLines(
  { record, parts, state, suspension }: MeasuredRow,
  what: string,
  now: number,
): readonly Line[] {
  const { word, tone } = STATES[state];
  const fails = record.error_ratio === null ? "" : `, ${percent(record.error_ratio)} % fail`;
  return [
    labeledLine(
      "state",
      span(word, tone),
      span(`  ${count(record.rate, 1)} ${what}/s${fails}; ${record.in_flight} in flight`),
    ),
    ...(suspension === undefined ? [] : [labeledLine("suspended", span(suspensionText(suspension, now), "off"))]),
    ...(parts.length < 2
      ? []
      : [labeledLine("nodes", ...parts.slice(0, MAX_NODES).flatMap(nodeSpans), ...moreNodes(parts))]),
  ];
}

/** Maximum number of nodes in a line. */
const MAX_NODES = 5;

const moreNodes = ({ length }: readonly Measured[]): Line =>
  length > MAX_NODES ? [span(`and ${length - MAX_NODES} more`, "dim")] : [];

/** Describes one node's part: `n2 FAILING 4.1/s 61.0 %`. */
function nodeSpans({ node, state, rate, error_ratio: ratio }: Measured): Line {
  const { word, tone } = STATES[state];
  const fails = ratio === null ? "" : ` ${percent(ratio)} %`;
  return [shown(`${node} `), span(word, tone), span(` ${count(rate, 1)}/s${fails}   `)];
}

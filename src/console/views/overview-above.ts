/**
 * Panels above the alerts, depending on the available room: the members; beside them the traffic, and the last admin changes;
 * on a large screen four panels, including the budgets.
 */

import { cellsOf } from "../../base/index.ts";
import { isReachable, quorumOf, quorumText } from "../actions/cluster-quorum.ts";
import { cutMiddle, padTo } from "../format/cut-text.ts";
import { fitLine } from "../format/fit-line.ts";
import { shown } from "../format/labeled-lines.ts";
import { clock, humanDuration } from "../format/times.ts";
import type { Context } from "../model/context.ts";
import { rowsOf } from "../model/data.ts";
import { BLANK, type Line, line, span } from "../model/text.ts";
import { BUDGET_STATES, ownerOf, usedBar, usedFraction, usedPercent } from "./budgets-bucket.ts";
import { actionText, changesOf, RESULTS, resultText } from "./changes-record.ts";
import { contactText } from "./cluster-members.ts";
import { trafficLines } from "./overview-traffic.ts";

interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** Maximum number of lines of recent changes, including their head. */
const MAX_CHANGES = 3;
/** Minimum number of lines for the members: heading, column heads and three members. */
const MIN_MEMBERS = 5;

/** Minimum terminal size for four panels, and minimum rows for charts that are higher than a line. */
const FOUR_PANELS: Size = { columns: 170, rows: 50 };
const CHARTS_ROWS = 34;
const SMALL_COLUMNS = 72;
const SMALL_ROWS = 22;

/** Returns the number of lines above the alerts for a terminal size. The alerts keep at least half of the body. */
export function overviewRows({ columns, rows }: Size): number {
  if (columns >= FOUR_PANELS.columns && rows >= FOUR_PANELS.rows) return 24;
  if (columns >= ROOMY.columns && rows >= ROOMY.rows) return rows >= CHARTS_ROWS ? 12 : 7;
  return columns >= SMALL_COLUMNS && rows >= SMALL_ROWS ? MIN_MEMBERS + 1 : 0;
}

/** Returns the number of lines of the pane with the text and the advice of the alert under the cursor. */
export function overviewPaneRows({ columns, rows }: Size): number {
  if (columns >= ROOMY.columns && rows >= ROOMY.rows) return rows >= CHARTS_ROWS ? 7 : 6;
  return columns >= SMALL_COLUMNS && rows >= SMALL_PANE_ROWS ? 4 : 0;
}

/** Minimum height of a small terminal for the pane: a lower one needs its lines for the alerts. */
const SMALL_PANE_ROWS = 24;

const ROOMY: Size = { columns: 100, rows: 30 };

export function overviewAbove(context: Context, { columns, rows: lines }: Size): readonly Line[] {
  // One line is the blank separator before the table.
  const rows = Math.max(0, lines - 1);
  // `columns` excludes the borders and blanks at the sides.
  if (columns < ROOMY.columns - 4) return clusterLines(context, rows).slice(0, rows);
  if (columns >= FOUR_PANELS.columns - 4 && rows >= 2 * MIN_MEMBERS + 1) return fourPanels(context, columns, rows);
  const fitting = recentChanges(context, MAX_CHANGES).slice(0, Math.max(0, rows - MIN_MEMBERS));
  // A heading alone is not shown.
  const changes = fitting.length < 2 ? [] : fitting;
  const room = Math.max(0, rows - changes.length);
  const left = Math.min(LEFT_CELLS, Math.max(columns - RIGHT_CELLS, Math.floor(columns / 2)));
  const beside = sideBySide(clusterLines(context, room), trafficLines(context, columns - left, room), left, room);
  return [...beside, ...changes].slice(0, rows);
}

/** Draws members and traffic above, budgets and changes below. */
function fourPanels(context: Context, columns: number, rows: number): readonly Line[] {
  const left = Math.floor(columns / 2);
  const below = Math.floor((rows - 1) / 2);
  const above = rows - 1 - below;
  return [
    ...sideBySide(clusterLines(context, above), trafficLines(context, columns - left, above), left, above),
    BLANK,
    ...sideBySide(budgetPanel(context, below), recentChanges(context, below - 1), left, below),
  ];
}

function sideBySide(
  leftLines: readonly Line[],
  rightLines: readonly Line[],
  left: number,
  most: number,
): readonly Line[] {
  const length = Math.min(most, Math.max(leftLines.length, rightLines.length));
  return Array.from({ length }, (_, at) => [
    ...fitLine(leftLines[at] ?? BLANK, left - 2),
    { text: "  " },
    ...(rightLines[at] ?? BLANK),
  ]);
}

/** Width of the members, including trailing blanks. */
const LEFT_CELLS = 58;
/** Width of the traffic if there is not enough room for both. */
const RIGHT_CELLS = 38;

const MEMBER_CELLS = { node: 15, role: 9, state: 11, last: 6, applied: 9, lag: 5 } as const;

function clusterLines({ data }: Context, rows: number): readonly Line[] {
  const members = rowsOf(data, "cluster_members");
  if (members.length === 0) return [line("CLUSTER  members not known", "dim")];
  const self = data.get({ id: "get_status" })?.value?.node;
  const quorum = quorumOf(members);
  const room = Math.max(1, rows - 2);
  // Silent members come first, so that they are not the ones left out.
  const ordered = [...members].sort((a, b) => Number(isReachable(a)) - Number(isReachable(b)));
  const listed = members.length > room ? ordered.slice(0, room - 1) : members;
  const { node, role, state, last, applied, lag } = MEMBER_CELLS;
  const head = [
    ["NODE", node],
    ["ROLE", role],
    ["STATE", state],
  ] as const;
  return [
    [
      span("CLUSTER", "strong"),
      span(
        `  ${quorumText(quorum)}${quorum.isMet ? "" : `, ${quorum.reachable} reachable: NO QUORUM`}`,
        quorum.isMet ? "plain" : "fail",
      ),
    ],
    line(
      [
        ...head.map(([text, cells]) => padTo(text, cells)),
        padTo("LAST", last, "right"),
        padTo("APPLIED", applied, "right"),
        padTo("LAG", lag, "right"),
      ].join(""),
      "dim",
    ),
    ...listed.map((member) => [
      { text: padTo(nameOf(member.id, member.id === self, node - 1), node) },
      span(padTo(member.role, role), member.role === "leader" ? "strong" : "plain"),
      !isReachable(member) ? span(padTo(`! ${member.state}`, state), "fail") : span(padTo(member.state, state)),
      {
        text: [
          padTo(contactText(member.last_contact_ms), last, "right"),
          padTo(member.applied === null ? "-" : String(member.applied), applied, "right"),
          padTo(member.lag === null ? "-" : String(member.lag), lag, "right"),
        ].join(""),
      },
    ]),
    ...(listed.length < members.length ? [line(`and ${members.length - listed.length} more in :cluster`, "dim")] : []),
  ];
}

/** Shortens names in the middle, since the names of a cluster often differ only at the end; `*` marks this node. */
const nameOf = (id: string, isSelf: boolean, cells: number): string =>
  isSelf ? `${cutMiddle(shown(id).text, cells - 2)} *` : cutMiddle(shown(id).text, cells);

/** Lists budgets, the most used first. */
function budgetPanel({ data, now, isAscii }: Context, rows: number): readonly Line[] {
  const all = [...rowsOf(data, "budgets")].sort((a, b) => usedFraction(b) - usedFraction(a));
  if (all.length === 0) return [];
  const listed = all.slice(0, Math.max(1, rows - (all.length > rows - 1 ? 2 : 1)));
  const left = all.length - listed.length;
  return [
    [span("BUDGETS", "strong"), span("  most used first", "dim")],
    ...listed.map((row): Line => {
      const { mark, tone } = BUDGET_STATES[row.status];
      const name = shown(`${row.budget} (${ownerOf(row)})`).text;
      return [
        { text: `${padTo(cutMiddle(name, BUDGET_CELLS), BUDGET_CELLS)}  ` },
        { text: usedBar(row, isAscii), tone },
        { text: padTo(`${mark}${usedPercent(row)} %`, 10, "right"), tone },
        span(`  resets in ${humanDuration(Date.parse(row.resets_at) - now)}`, "dim"),
      ];
    }),
    ...(left > 0 ? [line(`and ${left} more in :budgets`, "dim")] : []),
  ];
}

const BUDGET_CELLS = 34;

/** Widths of author and action; longer texts are shortened in the middle. */
const WHO_CELLS = 30;
const ACTION_CELLS = 44;

function recentChanges({ data, now }: Context, most: number): readonly Line[] {
  // Dry runs changed nothing, and a console makes many of them for previews.
  const changes = changesOf(data)
    .filter(({ result }) => result !== "tried")
    .slice(0, most);
  if (changes.length === 0) return [];
  const rows = changes.map((change) => ({
    at: clock(change.at, now),
    who: cutMiddle(shown(change.who).text, WHO_CELLS),
    action: cutMiddle(shown(actionText(change)).text, ACTION_CELLS),
    change,
  }));
  const widest = (of: "at" | "who" | "action"): number => Math.max(...rows.map((row) => cellsOf(row[of])));
  const [at, who, action] = [widest("at"), widest("who"), widest("action")];
  return [
    [span("RECENT ADMIN CHANGES", "strong"), span("  through any node; :changes has more", "dim")],
    ...rows.map((row) => [
      { text: `${padTo(row.at, at)}  ${padTo(row.who, who)}  ` },
      span(`${padTo(row.action, action)}  `, "strong"),
      shown(resultText(row.change), RESULTS[row.change.result].tone),
    ]),
  ];
}

/** The controls that rules carry, and how often decisions served each: what is shown to whoever asks for evidence. */

import type { ControlRecord } from "../../admin-api/index.ts";
import { countColumn, textColumn } from "../format/columns.ts";
import { describedAs, labelled, shown } from "../format/lines.ts";
import { plural } from "../format/numbers.ts";
import type { Context } from "../model/context.ts";
import { type Data, rowsOf } from "../model/data.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import type { Line } from "../model/text.ts";
import type { View } from "../model/view.ts";

const COLUMNS: readonly Column<ControlRecord>[] = [
  textColumn(
    { head: "CONTROL", letter: "c", width: { least: 20, flex: 2 }, priority: 1, cut: "middle" },
    (it) => it.control,
  ),
  countColumn({ head: "DECISIONS", letter: "d", width: 9, priority: 1 }, (it) => it.decisions),
  textColumn({ head: "RULES", letter: "r", width: { least: 16, flex: 3 }, priority: 1 }, (it) => rulesOf(it)),
  textColumn({ head: "PACKS", letter: "p", width: { least: 12, flex: 2 }, priority: 2 }, (it) => it.pack),
];

/** One that no rule carries any more was served within the last day. */
const rulesOf = ({ rules }: ControlRecord): string => (rules.length === 0 ? "none now" : rules.join(", "));

const named = (data: Data, id: string): ControlRecord | undefined =>
  rowsOf(data, "controls").find(({ control }) => control === id);

const table = ({ data }: Pick<Context, "data">): Table =>
  tableOf<ControlRecord>(
    {
      columns: COLUMNS,
      idOf: ({ control }) => control,
      nameOf: ({ control }) => control,
      haystack: (it) => [it.control, it.pack, ...it.rules].join(" "),
      isBad: () => false,
      jsonOf: (it) => it,
    },
    rowsOf(data, "controls"),
  );

function pane(id: string, { data }: Context): readonly Line[] {
  const record = named(data, id);
  if (record === undefined) return [];
  const { decisions, node, pack } = record;
  return [
    labelled("rules", shown(rulesOf(record))),
    labelled("served", shown(plural(decisions, "decision")), shown(`  on ${node}, in the last 24 hours`, "dim")),
    labelled("packs", shown(pack === "" ? "cited by none of the program's" : pack.replaceAll(",", ", "))),
  ];
}

export const controlsView: View = {
  id: "controls",
  aliases: ["evidence"],
  title: "Controls",
  about: "controls that rules carry, and the decisions that served them on this node in the last 24 hours",
  needs: () => [{ id: "list_controls" }],
  body: {
    kind: "table",
    table,
    sort: { column: "control", isDescending: false },
    pane,
    describe: (id, context) => describedAs(pane(id, context), named(context.data, id)),
    empty: () => ({
      sentence: "No rule carries a control.",
      next: "`gateway pack list` lists packs of rules that do; a rule of your own names them under `controls:`",
    }),
    sql: () => "SELECT control, rules, decisions FROM controls",
  },
  offers: [],
};

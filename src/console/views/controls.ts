/** View of the controls that rules implement, with the number of decisions for each: evidence for auditors. */

import type { ControlRecord } from "../../admin-api/index.ts";
import { countColumn, textColumn } from "../format/column-kinds.ts";
import { cutMiddle, padTo } from "../format/cut-text.ts";
import { describedAs, labeledLine, shown } from "../format/labeled-lines.ts";
import { count, plural } from "../format/numbers.ts";
import { bar } from "../format/sparkline.ts";
import type { Context } from "../model/context.ts";
import { type Data, rowsOf } from "../model/data.ts";
import { smallest, summed } from "../model/rows-query.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import { BLANK, type Line, span } from "../model/text.ts";
import type { Selection, View } from "../model/view.ts";
import { guardrailId } from "./guardrails-row.ts";

const COLUMNS: readonly Column<ControlRecord>[] = [
  textColumn(
    { head: "CONTROL", letter: "c", width: { least: 20, flex: 2 }, priority: 1, cut: "middle" },
    (it) => it.control,
  ),
  countColumn({ head: "DECISIONS", letter: "d", width: 9, priority: 1 }, (it) => it.decisions),
  textColumn({ head: "RULES", letter: "r", width: { least: 16, flex: 3 }, priority: 1 }, (it) => rulesOf(it)),
  textColumn({ head: "PACKS", letter: "p", width: { least: 12, flex: 2 }, priority: 2 }, (it) => it.pack),
];

/** Returns the current rules of a control. A control without one had decisions within the last day. */
const rulesOf = ({ rules }: ControlRecord): string => (rules.length === 0 ? "none now" : rules.join(", "));

const rowById = (data: Data, id: string): ControlRecord | undefined =>
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

const BAR_CELLS = 48;
const NAME_CELLS = 28;

/** Draws the controls with the most decisions, relative to the first. */
function above({ data, isAscii }: Context, { rows }: { readonly rows: number }): readonly Line[] {
  const served = rowsOf(data, "controls")
    .filter(({ decisions }) => decisions > 0)
    .sort((a, b) => b.decisions - a.decisions || (a.control < b.control ? -1 : 1));
  const [first] = served;
  if (first === undefined) return [];
  return [
    ...served
      .slice(0, rows - 1)
      .map(
        ({ control, decisions }): Line => [
          shown(padTo(cutMiddle(shown(control).text, NAME_CELLS - 1), NAME_CELLS), "dim"),
          span(bar(decisions / first.decisions, BAR_CELLS, isAscii)),
          span(`  ${count(decisions)}`),
        ],
      ),
    BLANK,
  ];
}

/** Describes the evidence: a rule without a decision provides none. */
function evidenceLine({ decisions, rules }: ControlRecord): Line {
  if (rules.length === 0)
    return labeledLine(
      "evidence",
      span("no rule cites it any longer; earlier decisions are in the audit trail", "warn"),
    );
  return decisions === 0
    ? labeledLine("evidence", span("no decision yet: its rules are in force and have not matched", "dim"))
    : labeledLine(
        "evidence",
        span("`gateway audit verify -controls FILE` counts the decisions in an exported trail", "dim"),
      );
}

function pane(id: string, { data }: Context): readonly Line[] {
  const record = rowById(data, id);
  if (record === undefined) return [];
  const { decisions, node, pack } = record;
  return [
    labeledLine("rules", shown(rulesOf(record))),
    labeledLine("served", shown(plural(decisions, "decision")), shown(`  on ${node}, in the last 24 hours`, "dim")),
    evidenceLine(record),
    labeledLine("packs", shown(pack === "" ? "not in a built-in pack" : pack.replaceAll(",", ", "))),
  ];
}

const ruleOf = ({ ids: [id = ""] }: Selection, { data }: Pick<Context, "data">): string | undefined =>
  rowById(data, id)?.rules[0];

export const controlsView: View = {
  id: "controls",
  aliases: ["evidence"],
  title: "Controls",
  about: "compliance controls of rules, and the decisions recorded for them on this node in the last 24 hours",
  needs: () => [{ id: "list_controls" }],
  body: {
    kind: "table",
    table,
    sort: { column: "control", isDescending: false },
    above,
    aboveRows: 6,
    pane,
    describe: (id, context) => describedAs(pane(id, context), rowById(context.data, id)),
    empty: () => ({
      sentence: "No rule cites a control.",
      next: "`gateway pack list` lists packs whose rules cite controls; your own rules name them under `controls:`",
    }),
    query: {
      table: "controls",
      columns: ["control", smallest("rules"), summed("decisions")],
      key: ["control"],
      group: ["control"],
      order: "control",
    },
  },
  offers: [
    {
      verb: "follow",
      label: "rule",
      needsRow: true,
      disabledReason: (of, context) => (ruleOf(of, context) === undefined ? "no rule cites it now" : undefined),
      start(of, context) {
        const rule = ruleOf(of, context);
        return rule === undefined
          ? { kind: "flash", message: "no rule cites it now", tone: "warn" }
          : { kind: "go", place: { view: "guardrails" }, row: guardrailId({ kind: "rule", name: rule }) };
      },
    },
    {
      verb: "requests",
      needsRow: true,
      disabledReason: (of, context) => (ruleOf(of, context) === undefined ? "no rule cites it now" : undefined),
      start: (of, context) => ({ kind: "go", place: { view: "requests" }, filter: ruleOf(of, context) ?? "" }),
    },
  ],
};

/** View of recent changes through the admin API of any node, with author and result. */

import { textColumn } from "../format/column-kinds.ts";
import { labeledLine, shown } from "../format/labeled-lines.ts";
import { clock } from "../format/times.ts";
import type { Context } from "../model/context.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import { BLANK, type Line, line, span } from "../model/text.ts";
import type { View } from "../model/view.ts";
import { actionName, CHANGE_RECORDS, type Change, changesOf, RECORDS, RESULTS, resultText } from "./changes-record.ts";

const COLUMNS: readonly Column<Change>[] = [
  {
    id: "time",
    head: "TIME",
    letter: "t",
    width: 17,
    align: "left",
    priority: 1,
    cell: ({ at }, now) => span(clock(at, now)),
    sortKey: ({ at }) => at,
  },
  textColumn({ head: "WHO", letter: "w", width: { least: 12, flex: 1 }, priority: 1, cut: "middle" }, ({ who }) => who),
  textColumn({ head: "ACTION", letter: "a", width: { least: 12, flex: 2 }, priority: 1 }, (change) =>
    actionName(change),
  ),
  textColumn(
    { head: "RESOURCE", letter: "e", width: { least: 14, flex: 2 }, priority: 2, cut: "middle" },
    ({ resource }) => resource,
  ),
  {
    id: "result",
    head: "RESULT",
    letter: "r",
    width: { least: 8, flex: 3 },
    align: "left",
    priority: 1,
    cell: (change) => shown(resultText(change), RESULTS[change.result].tone),
    sortKey: (change) => resultText(change),
  },
];

const table = ({ data }: Omit<Context, "now">): Table =>
  tableOf<Change>(
    {
      columns: COLUMNS,
      idOf: ({ id }) => id,
      nameOf: ({ resource }) => resource,
      haystack: (change) =>
        `${change.who} ${change.action} ${actionName(change)} ${change.resource} ${resultText(change)}`,
      isBad: ({ result }) => RESULTS[result].isBad,
      jsonOf: ({ record }) => record,
    },
    changesOf(data),
  );

const LABEL_CELLS = 18;

function factLines({ record }: Change): readonly Line[] {
  const data = typeof record.data === "object" && record.data !== null ? record.data : {};
  return Object.entries(data).map(([name, value]) => [
    span(name.padEnd(LABEL_CELLS), "dim"),
    shown(typeof value === "string" ? value : (JSON.stringify(value) ?? "")),
  ]);
}

function pane(id: string, { data, now }: Context): readonly Line[] {
  const change = changesOf(data).find((it) => it.id === id);
  if (change === undefined) return [];
  const { record, who, action, resource, result } = change;
  return [
    labeledLine(
      "who",
      shown(who),
      span(`  ${clock(change.at, now)}`, "dim"),
      shown(`  record ${record.seq} of ${record.node}`, "dim"),
    ),
    labeledLine("what", shown(`${action} on ${resource}`)),
    labeledLine("result", shown(resultText(change), RESULTS[result].tone)),
  ];
}

function describe(id: string, { data }: Context): readonly Line[] {
  const change = changesOf(data).find((it) => it.id === id);
  if (change === undefined) return [line("The node no longer has the record.", "warn")];
  const { node, seq, ts, event, kid, prev, hash, sig, controls } = change.record;
  const own: readonly (readonly [string, string])[] = [
    ["time", ts],
    ["event", event],
    ["node", node],
    ["seq", String(seq)],
    ["controls", controls.join(", ")],
    ["kid", kid],
    ["prev", prev],
    ["hash", hash],
    ["sig", sig],
  ];
  return [
    ...factLines(change),
    BLANK,
    ...own.map(([name, value]) => [span(name.padEnd(LABEL_CELLS), "dim"), shown(value)]),
  ];
}

export const changesView: View = {
  id: "changes",
  aliases: ["admin", "audit-changes"],
  title: "Admin changes",
  about: "recent changes through the admin API of any node, and refused ones",
  needs: () => [CHANGE_RECORDS, RECORDS],
  body: {
    kind: "table",
    table,
    sort: { column: "time", isDescending: true },
    pane,
    describe,
    empty: () => ({
      sentence: "No changes through the admin API in the audit records that the nodes keep.",
      next: "Each node keeps its last thousand records; the whole trail is in the exported files, which `:audit-verify` checks.",
    }),
  },
  offers: [],
};

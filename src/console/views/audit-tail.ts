/**
 * View of the newest audit records: those of the connected node, or of the file that `-audit` names. They are shown as written;
 * only `V` checks whether they are complete and signed.
 */

import type { AuditRecord } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";
import { labeledLine, shown } from "../format/labeled-lines.ts";
import { count } from "../format/numbers.ts";
import { clock } from "../format/times.ts";
import type { Context } from "../model/context.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import { BLANK, type Line, type Span, span } from "../model/text.ts";
import type { View } from "../model/view.ts";
import { recordText } from "./audit-record-text.ts";
import { rowsOfLines, rowsOfRecords, type TailRow } from "./audit-tail-rows.ts";
import { verifyOffer } from "./audit-verify.ts";

const rowsIn = ({ data, tail }: Pick<Context, "data" | "tail">): readonly TailRow[] =>
  tail === undefined ? rowsOfRecords(data.get({ id: "list_audit_records" })?.value ?? []) : rowsOfLines(tail);

/** Returns a cell of a record; a line that is not a record has its text under WHAT. */
const of =
  (cell: (record: AuditRecord, now: number) => Span) =>
  (row: TailRow, now: number): Span => {
    const record = row.record();
    return record === undefined ? span("-", "dim") : cell(record, now);
  };

/** Year at the start of a time, which the table leaves out; `d` shows the whole time. */
const YEAR = /^\d{4}-/;

/** Maximum length of a line that is not a record. */
const MAX_SHOWN_LENGTH = 500;

const COLUMNS: readonly Column<TailRow>[] = [
  {
    id: "time",
    head: "TIME",
    letter: "t",
    width: 12,
    align: "left",
    priority: 2,
    cell: of(({ ts }, now) => span(clock(Date.parse(ts), now).replace(YEAR, ""))),
    // Sorts by position, because a stream may have several records in a millisecond, and lines without a time.
    sortKey: ({ position }) => position,
  },
  {
    id: "seq",
    head: "SEQ",
    letter: "s",
    width: 6,
    align: "right",
    priority: 4,
    cell: of(({ seq }) => span(count(seq))),
    sortKey: (row) => row.record()?.seq ?? null,
  },
  {
    id: "node",
    head: "NODE",
    letter: "n",
    width: 8,
    align: "left",
    priority: 5,
    cut: "middle",
    cell: of(({ node }) => shown(node)),
    sortKey: (row) => row.record()?.node ?? null,
  },
  {
    id: "event",
    head: "EVENT",
    letter: "e",
    width: 18,
    align: "left",
    priority: 3,
    cell: of(({ event }) => shown(event)),
    sortKey: (row) => row.record()?.event ?? null,
  },
  {
    id: "what",
    head: "WHAT",
    letter: "w",
    width: { least: 20, flex: 1 },
    align: "left",
    priority: 1,
    cell(row) {
      const record = row.record();
      if (record === undefined) return shown(row.text.slice(0, MAX_SHOWN_LENGTH), "dim");
      const { text, tone } = recordText(record);
      return { text, tone };
    },
    sortKey(row) {
      const record = row.record();
      return record === undefined ? null : recordText(record).text;
    },
  },
];

const table = (context: Pick<Context, "data" | "tail">): Table =>
  tableOf<TailRow>(
    {
      columns: COLUMNS,
      idOf: ({ id }) => id,
      nameOf(row) {
        const record = row.record();
        return record === undefined ? row.text : `${record.node} ${record.kid} ${record.seq}`;
      },
      haystack: ({ text }) => text,
      isBad(row) {
        const record = row.record();
        return record !== undefined && recordText(record).isBad;
      },
      jsonOf: (row) => row.record() ?? row.text,
    },
    rowsIn(context),
  );

/** Describes the whole record: its facts first, then its place in the chain. */
function describe(id: string, context: Context): readonly Line[] {
  const row = rowsIn(context).find((it) => it.id === id);
  if (row === undefined) return [];
  const record = row.record();
  if (record === undefined) return [[span("no record of the audit trail:", "warn")], BLANK, [shown(row.text)]];
  const { ts, event, node, seq, kid, controls, data, prev, hash, sig } = record;
  return [
    labeledLine("what", span(recordText(record).text, "strong")),
    labeledLine("event", shown(event)),
    labeledLine("time", shown(ts)),
    labeledLine("node", shown(node)),
    labeledLine("controls", shown(controls.length === 0 ? "-" : controls.join(", "))),
    BLANK,
    ...JSON.stringify(data, null, 2)
      .split("\n")
      .map((text) => [shown(text)]),
    BLANK,
    labeledLine("seq", span(count(seq))),
    labeledLine("kid", shown(kid)),
    labeledLine("prev", shown(prev, "dim")),
    labeledLine("hash", shown(hash, "dim")),
    labeledLine("sig", shown(sig, "dim")),
  ];
}

export const auditTailView: View = {
  id: "audit-tail",
  aliases: ["tail"],
  title: "Audit tail",
  about: "the newest audit records of the nodes, or of the audit file",
  group: "audit",
  needs: () => [{ id: "list_audit_records" }],
  body: {
    kind: "table",
    table,
    sort: { column: "time", isDescending: true },
    empty({ tail, tailError }) {
      if (tail === undefined)
        return {
          sentence: "The nodes have no audit records yet.",
          next: "Each change makes one; press r to read again",
        };
      if (tailError === undefined)
        return { sentence: "The audit file has no lines yet.", next: "New lines are shown here as they are written" };
      return {
        sentence: `The audit file cannot be read: ${escapeControls(tailError)}.`,
        next: "It is shown once it can be read. If the name is wrong, leave with q and run `gateway console -audit FILE`",
      };
    },
    describe,
  },
  offers: [verifyOffer],
};

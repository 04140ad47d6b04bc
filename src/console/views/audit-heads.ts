/** View of the audit heads: the newest record of each chain that the cluster has witnessed, and conflicts with it. */

import type { AuditHeadRecord } from "../../admin-api/index.ts";
import { askFile } from "../actions/ask-file.ts";
import { countColumn, textColumn } from "../format/column-kinds.ts";
import { describedAs, labeledLine, shown } from "../format/labeled-lines.ts";
import { count, plural } from "../format/numbers.ts";
import { ago, clock } from "../format/times.ts";
import type { Context } from "../model/context.ts";
import { type Data, rowsOf } from "../model/data.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import { type Line, line, span } from "../model/text.ts";
import type { Offer, View } from "../model/view.ts";
import { verifyOffer } from "./audit-verify.ts";

/** Abbreviates a text as `7f3aB2..x91Q`, enough to distinguish two on a screen; `d` shows all of it. */
const abbreviated = (text: string): string => (text.length <= 14 ? text : `${text.slice(0, 8)}..${text.slice(-4)}`);
const ABBREVIATED_CELLS = 14;

const COLUMNS: readonly Column<AuditHeadRecord>[] = [
  textColumn(
    { head: "NODE", letter: "n", width: { least: 8, flex: 2 }, priority: 1, cut: "middle" },
    ({ node }) => node,
  ),
  countColumn({ head: "SEQ", letter: "s", width: 6, priority: 2 }, ({ seq }) => seq),
  {
    id: "hash",
    head: "HASH",
    letter: "h",
    width: ABBREVIATED_CELLS,
    align: "left",
    priority: 5,
    cell: ({ hash }) => shown(abbreviated(hash)),
    sortKey: ({ hash }) => hash,
  },
  {
    id: "kid",
    head: "KID",
    letter: "k",
    width: ABBREVIATED_CELLS,
    align: "left",
    priority: 6,
    cell: ({ kid }) => shown(abbreviated(kid)),
    sortKey: ({ kid }) => kid,
  },
  {
    id: "witnessed",
    head: "WITNESSED",
    letter: "w",
    width: 9,
    align: "left",
    priority: 4,
    cell: ({ witnessed_at }, now) => span(ago(witnessed_at, now)),
    sortKey: ({ witnessed_at }) => Date.parse(witnessed_at),
  },
  {
    id: "conflicts",
    head: "CONFLICTS",
    letter: "c",
    width: 9,
    align: "right",
    priority: 3,
    cell: ({ conflicts }) => (conflicts > 0 ? span(`!${count(conflicts)}`, "fail") : span("0", "dim")),
    sortKey: ({ conflicts }) => conflicts,
  },
];

const idOf = ({ node, kid }: AuditHeadRecord): string => `${node}/${kid}`;

const table = ({ data }: Pick<Context, "data">): Table =>
  tableOf<AuditHeadRecord>(
    {
      columns: COLUMNS,
      idOf,
      nameOf: ({ node }) => node,
      haystack: ({ node, kid, hash, seq }) => `${node} ${seq} ${hash} ${kid}`,
      isBad: ({ conflicts }) => conflicts > 0,
      jsonOf: (head) => head,
    },
    rowsOf(data, "audit_heads"),
  );

const headWith = ({ data }: Pick<Context, "data">, id: string): AuditHeadRecord | undefined =>
  rowsOf(data, "audit_heads").find((it) => idOf(it) === id);

function pane(id: string, { data, now }: Context): readonly Line[] {
  const head = headWith({ data }, id);
  if (head === undefined) return [];
  const { node, seq, hash, kid, witnessed_at, conflicts } = head;
  return [
    labeledLine(
      "chain",
      shown(node, "strong"),
      span(`  seq ${count(seq)}  witnessed ${clock(Date.parse(witnessed_at), now)}`),
    ),
    labeledLine("hash", shown(hash)),
    labeledLine("kid", shown(kid)),
    ...(conflicts === 0
      ? [line("No conflict: each record that this node reported continues the previous one.", "dim")]
      : conflictLines(head, rowsOf(data, "audit_heads").filter((it) => it.node === node).length)),
  ];
}

/** Describes the conflicts of a chain. `chains` is the number of chains of the node. */
function conflictLines({ node, conflicts }: AuditHeadRecord, chains: number): readonly Line[] {
  const times = conflicts === 1 ? "once" : `${count(conflicts)} times`;
  return [
    line(`! CONFLICT: ${times} this node showed a head that does not continue what the cluster had witnessed:`, "fail"),
    line("two records with one number, or a new chain without a predecessor. Records were replaced, or the data"),
    line(
      `directory was restored from a copy. Export the trail of ${shown(node).text}, save the heads (w), verify with both (V; -heads).`,
    ),
    ...(chains < 2
      ? []
      : [
          line(
            "A node that was replaced under its id, with an empty data directory, looks the same: its old chain ends,",
          ),
          line("and another begins that does not name it. If nobody replaced it, assume that records were replaced."),
        ]),
  ];
}

/** Returns the heads in the format of `gateway audit verify -heads`. */
function headsFile(data: Data): string {
  const heads = rowsOf(data, "audit_heads").map(({ node, kid, seq, hash }) => ({ node, kid, seq, hash }));
  return `${JSON.stringify(heads, null, 2)}\n`;
}

const saveOffer: Offer = {
  verb: "save",
  label: "save heads",
  needsRow: false,
  disabledReason: (_, { data }) =>
    rowsOf(data, "audit_heads").length === 0 ? "there are no heads to save" : undefined,
  start: (_, { data }) =>
    askFile("save heads to", "audit-heads.json", (file) => ({
      kind: "job",
      job: {
        kind: "save_text",
        file,
        text: headsFile(data),
        what: plural(rowsOf(data, "audit_heads").length, "head"),
      },
    })),
};

export const auditHeadsView: View = {
  id: "audit-heads",
  aliases: ["audit", "heads"],
  digit: "8",
  title: "Audit heads",
  about: "the newest record of each audit chain that the cluster has stored, and conflicts",
  group: "audit",
  needs: () => [{ id: "list_audit_heads" }],
  body: {
    kind: "table",
    table,
    sort: { column: "node", isDescending: false },
    pane,
    describe: (id, context) => describedAs(pane(id, context), headWith(context, id)),
    empty: () => ({
      sentence: "No audit heads yet.",
      next: "A node reports its newest record to the cluster every 5 seconds; r reads again",
    }),
    query: {
      table: "audit_heads",
      columns: ["node", "kid", "seq", "hash", "witnessed_at", "conflicts"],
      key: ["node", "kid"],
      order: "node",
    },
  },
  offers: [saveOffer, verifyOffer],
};

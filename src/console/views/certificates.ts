/** View of the listener's certificate: its validity, and the state of its renewal. */

import type { CertificateRecord } from "../../admin-api/index.ts";
import { countColumn, textColumn } from "../format/column-kinds.ts";
import { describedAs, labeledLine, shown } from "../format/labeled-lines.ts";
import { bar } from "../format/sparkline.ts";
import { clock, day, humanDuration } from "../format/times.ts";
import type { Context } from "../model/context.ts";
import { type Data, rowsOf } from "../model/data.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import { type Line, span, type Tone } from "../model/text.ts";
import type { View } from "../model/view.ts";

const TONES: Readonly<Record<CertificateRecord["state"], Tone>> = {
  pending: "fail",
  valid: "plain",
  expires_soon: "warn",
  expires_now: "fail",
  expired: "fail",
};

const dayOf = (at: string | null): string | null => (at === null ? null : day(Date.parse(at)));

const COLUMNS: readonly Column<CertificateRecord>[] = [
  textColumn({ head: "NODE", letter: "n", width: { least: 8, flex: 1 }, priority: 2 }, ({ node }) => node),
  textColumn({ head: "NAMES", letter: "a", width: { least: 16, flex: 3 }, priority: 1, cut: "middle" }, ({ names }) =>
    names.join(", "),
  ),
  {
    id: "state",
    head: "STATE",
    letter: "s",
    width: 12,
    align: "left",
    priority: 1,
    cell: ({ state }) => span(state, TONES[state]),
    sortKey: ({ state }) => state,
  },
  {
    id: "expires in",
    head: "EXPIRES IN",
    letter: "e",
    width: 10,
    align: "left",
    priority: 1,
    cell: ({ not_after: end, state }, now) =>
      span(end === null ? "-" : humanDuration(Date.parse(end) - now), end === null ? "dim" : TONES[state]),
    sortKey: ({ not_after: end }) => (end === null ? 0 : Date.parse(end)),
  },
  textColumn({ head: "RENEWS", letter: "r", width: 10, priority: 3 }, (it) => dayOf(it.next_renewal)),
  countColumn({ head: "FAILED", letter: "f", width: 6, priority: 3 }, ({ failures }) => failures),
  textColumn({ head: "LAST ERROR", letter: "l", width: { least: 16, flex: 4 }, priority: 2 }, (it) => it.last_error),
];

const rowById = (data: Data, id: string): CertificateRecord | undefined =>
  rowsOf(data, "certificates").find(({ node }) => node === id);

const table = ({ data }: Pick<Context, "data">): Table =>
  tableOf<CertificateRecord>(
    {
      columns: COLUMNS,
      idOf: ({ node }) => node,
      nameOf: ({ names, node }) => names[0] ?? node,
      haystack: (it) => [it.node, it.source, it.serial, it.issuer, it.last_error, ...it.names].join(" "),
      isBad: ({ state, last_error: error }) => state !== "valid" || error !== null,
      jsonOf: (it) => it,
    },
    rowsOf(data, "certificates"),
  );

const BAR_CELLS = 40;

/** Draws the elapsed part of the certificate's lifetime. */
function lifeLine(
  { not_before: from, not_after: end, state }: CertificateRecord,
  now: number,
  isAscii: boolean,
): readonly Line[] {
  if (from === null || end === null) return [];
  const [begin, over] = [Date.parse(from), Date.parse(end)];
  const share = over <= begin ? 1 : (now - begin) / (over - begin);
  const left =
    over > now
      ? `${humanDuration(over - now)} of ${humanDuration(over - begin)} left`
      : `expired ${humanDuration(now - over)} ago`;
  return [labeledLine("life", span(bar(share, BAR_CELLS, isAscii), TONES[state]), span(`  ${left}`))];
}

const isAutomatic = ({ source }: CertificateRecord): boolean => /^https?:/.test(source);

/** Returns the advice for the operator; empty if none is needed. */
function remedyOf(record: CertificateRecord): string {
  const { state, last_error: error } = record;
  if (!isAutomatic(record)) {
    if (error !== null)
      return "replace the files with a matching certificate and key; they are loaded automatically, and `gateway check` says what is wrong";
    return state === "valid" ? "" : "renewed outside the gateway; new files are loaded without a restart";
  }
  if (error !== null) {
    return "`gateway check` tests the authority, the DNS and each name; renewal is retried automatically";
  }
  if (state === "pending")
    return "the first certificate is being ordered: the names must resolve to this node on port 80, or set `tls.dns`";
  return state === "valid"
    ? ""
    : "the renewal is due: check in `:cluster` that there is a leader and that its clock is right";
}

function pane(id: string, { data, now, isAscii }: Context): readonly Line[] {
  const record = rowById(data, id);
  if (record === undefined) return [];
  const { names, source, serial, issuer, not_after: end, next_renewal: renewal, step, last_error: error } = record;
  const { next_attempt: next } = record;
  const at = (time: string | null): string => (time === null ? "-" : clock(Date.parse(time), now));
  return [
    labeledLine("names", shown(names.join(", "))),
    labeledLine("from", shown(source), shown(issuer === null ? "" : `  by ${issuer}, serial ${serial}`, "dim")),
    labeledLine("expires", shown(at(end)), shown(renewal === null ? "" : `  renewed ${at(renewal)}`, "dim")),
    ...lifeLine(record, now, isAscii),
    ...(step === null ? [] : [labeledLine("renewing", shown(step))]),
    ...(error === null ? [] : [labeledLine("last error", shown(error, "warn"))]),
    ...(remedyOf(record) === "" ? [] : [labeledLine("do", span(remedyOf(record), "strong"))]),
    ...(next === null ? [] : [labeledLine("next try", shown(at(next)))]),
  ];
}

export const certificatesView: View = {
  id: "certificates",
  aliases: ["certs", "tls"],
  title: "Certificates",
  about: "the gateway's certificate, its expiry, and renewal errors",
  needs: () => [{ id: "list_certificates" }],
  body: {
    kind: "table",
    table,
    sort: { column: "expires in", isDescending: false },
    pane,
    describe: (id, context) => describedAs(pane(id, context), rowById(context.data, id)),
    empty: () => ({
      sentence: "The gateway serves plain HTTP and has no certificate.",
      next: "Set `tls.domains`, or `tls.cert_file` and `tls.key_file`, in the node file",
    }),
    query: {
      table: "certificates",
      columns: ["node", "names", "state", "not_after", "last_error", "source"],
      key: ["node", "source"],
      order: "not_after",
    },
  },
  offers: [
    {
      verb: "follow",
      label: "node",
      needsRow: true,
      start: ({ ids: [node = ""] }) => ({ kind: "go", place: { view: "cluster" }, row: node }),
    },
  ],
};

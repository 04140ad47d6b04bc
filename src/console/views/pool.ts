/** View of the servers of one provider's pool, as each node measured them: failing ones first, with their connection errors. */

import type { BackendMember } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";
import { countColumn, textColumn } from "../format/column-kinds.ts";
import { clock } from "../format/times.ts";
import { withUnknownWords } from "../format/word-table.ts";
import type { Context } from "../model/context.ts";
import { rowsOf } from "../model/data.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import { span, type Tone } from "../model/text.ts";
import type { View } from "../model/view.ts";
import { providerFilter } from "./keys-filters.ts";
import { requestsOffer } from "./requests.ts";

type MemberState = BackendMember["state"];

/** States, worst first. */
const STATES: Readonly<Record<MemberState, { rank: number; mark: string; word: string; tone: Tone }>> =
  withUnknownWords(
    {
      failing: { rank: 0, mark: "!", word: "FAILING", tone: "fail" },
      draining: { rank: 1, mark: "~", word: "DRAINING", tone: "off" },
      ok: { rank: 2, mark: " ", word: "ok", tone: "plain" },
      idle: { rank: 3, mark: " ", word: "idle", tone: "dim" },
    },
    (word) => ({ rank: 1, mark: "~", word, tone: "off" }),
  );

interface Row {
  readonly id: string;
  readonly member: BackendMember;
}

/** Builds a column of optional times. */
const optionalColumn = (
  place: Pick<Column<Row>, "head" | "letter" | "priority">,
  of: (member: BackendMember) => string | null,
): Column<Row> => ({
  id: place.head.toLowerCase(),
  width: 18,
  align: "left",
  ...place,
  cell({ member }, now) {
    const at = of(member);
    return at === null ? span("-", "dim") : span(clock(Date.parse(at), now));
  },
  sortKey({ member }) {
    const at = of(member);
    return at === null ? null : Date.parse(at);
  },
});

const COLUMNS: readonly Column<Row>[] = [
  textColumn(
    { head: "ADDRESS", letter: "a", width: { least: 16, flex: 2 }, priority: 1, cut: "middle" },
    ({ member }) => member.address,
  ),
  {
    id: "state",
    head: "STATE",
    letter: "s",
    width: 10,
    align: "left",
    priority: 1,
    cell({ member }) {
      const { mark, word, tone } = STATES[member.state];
      return span(`${mark}${word}`, tone);
    },
    sortKey: ({ member }) => STATES[member.state].rank,
  },
  textColumn({ head: "SUBSETS", letter: "b", width: { least: 7, flex: 1 }, priority: 3 }, ({ member: { subsets } }) =>
    subsets.length === 0 ? null : subsets.join(","),
  ),
  countColumn({ head: "FLIGHT", letter: "i", width: 6, priority: 1 }, ({ member }) => member.in_flight),
  countColumn({ head: "ATTEMPTS", letter: "m", width: 10, priority: 5 }, ({ member }) => member.attempts),
  countColumn({ head: "FAILED", letter: "f", width: 8, priority: 2 }, ({ member }) => member.failures),
  textColumn(
    { head: "LAST ERROR", letter: "e", width: { least: 12, flex: 1 }, priority: 2 },
    ({ member }) => member.last_error,
  ),
  optionalColumn({ head: "ERROR AT", letter: "t", priority: 6 }, (member) => member.last_error_at),
  optionalColumn({ head: "FAILING SINCE", letter: "c", priority: 3 }, (member) => member.failing_since),
  textColumn({ head: "NODE", letter: "n", width: 8, priority: 2, cut: "middle" }, ({ member }) => member.node),
];

/** Builds the rows. A server that left and returned is listed twice until its last request has ended. */
function memberRows(members: readonly BackendMember[]): readonly Row[] {
  const met = new Map<string, number>();
  return members.map((member) => {
    const facts = `${member.node} ${member.address} ${member.state === "draining" ? "draining" : "present"}`;
    const before = met.get(facts) ?? 0;
    met.set(facts, before + 1);
    return { id: `${facts} ${before}`, member };
  });
}

const table = ({ data, subject }: Omit<Context, "now">): Table =>
  tableOf<Row>(
    {
      columns: COLUMNS,
      idOf: ({ id }) => id,
      nameOf: ({ member }) => member.address,
      haystack: ({ member }) =>
        [
          member.address,
          STATES[member.state].word,
          member.subsets.join(" "),
          member.last_error ?? "",
          member.node,
        ].join(" "),
      isBad: ({ member: { state } }) => state === "failing",
      jsonOf: ({ member }) => member,
    },
    subject === undefined ? [] : memberRows(data.get({ id: "list_backend_members", name: subject })?.value ?? []),
  );

export const poolView: View = {
  id: "pool",
  aliases: ["pools"],
  title: "Pool",
  about: "the servers of a provider's pool as each node sees them: state, subsets, failed connects",
  subject: "provider name",
  subjects: ({ data }) => rowsOf(data, "backends").map(({ name }) => name),
  needs: (subject) =>
    subject === undefined
      ? []
      : [{ id: "list_backend_members", name: subject }, { id: "list_backends" }, { id: "list_cluster_members" }],
  body: {
    kind: "table",
    table,
    sort: { column: "state", isDescending: false },
    empty: ({ subject }) =>
      subject === undefined
        ? { sentence: "No provider was named.", next: "Press M on a provider (2), or name it: `:pool NAME`." }
        : {
            sentence: `${escapeControls(subject)} has no servers on any node that answers.`,
            next: "It is not a pool (`pool:` in the deployment document), or its name resolves to no server; `gateway check` says which.",
          },
  },
  offers: [
    {
      verb: "errors",
      needsRow: false,
      disabledReason: (_, { subject }) => (subject === undefined ? "name a provider: `:pool NAME`" : undefined),
      start: (_, { subject = "" }) => ({ kind: "go", place: { view: "errors", subject } }),
    },
    requestsOffer((_, { subject }) => (subject === undefined ? undefined : providerFilter(subject))),
  ],
};

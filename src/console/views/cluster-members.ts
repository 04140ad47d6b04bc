/**
 * Texts about cluster members: table cells, the meaning of a state, the remedy, and the cluster in two lines. Source: operator
 * console reference, B5; cluster reference, section 2.6.
 */

import type { ClusterMemberRecord, NodeStatus } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";
import { fragilityOf, quorumOf, quorumText, reductionOf } from "../actions/cluster-quorum.ts";
import { memberOf, membersOf, statusOf } from "../actions/known-members.ts";
import { countColumn } from "../format/column-kinds.ts";
import { labeledLine, shown } from "../format/labeled-lines.ts";
import { count, milliseconds, plural } from "../format/numbers.ts";
import { humanDuration } from "../format/times.ts";
import { withUnknownWords } from "../format/word-table.ts";
import type { Context } from "../model/context.ts";
import { type TableSpec, tableOf } from "../model/table.ts";
import { type Line, type Span, span, type Tone } from "../model/text.ts";

type Reads = Pick<Context, "data">;

const STATES: Readonly<Record<ClusterMemberRecord["state"], { readonly label: string; readonly tone: Tone }>> =
  withUnknownWords(
    {
      reachable: { label: "reachable", tone: "plain" },
      snapshot: { label: "~ snapshot", tone: "warn" },
      silent: { label: "! silent", tone: "fail" },
      forgot: { label: "! forgot", tone: "fail" },
    },
    (word) => ({ label: `~ ${word}`, tone: "warn" }),
  );

/** Formats the time since the last contact: in milliseconds if short, otherwise in two units. */
export function contactText(ms: number | null): string {
  if (ms === null) return "-";
  return ms < 10_000 ? milliseconds(ms) : humanDuration(ms);
}

/** Builds the table's columns. `self` is the connected node, which is marked with a star. */
function specFor(self: string | undefined): TableSpec<ClusterMemberRecord> {
  return {
    columns: [
      {
        id: "node",
        head: "NODE",
        letter: "n",
        width: { least: 10, flex: 3 },
        align: "left",
        priority: 1,
        cut: "middle",
        cell: ({ id }) => span(`${escapeControls(id)}${id === self ? " *" : ""}`),
        sortKey: ({ id }) => id,
      },
      {
        id: "role",
        head: "ROLE",
        letter: "r",
        width: 8,
        align: "left",
        priority: 2,
        cell: ({ role }) => span(role, role === "leader" ? "strong" : "plain"),
        sortKey: ({ role }) => role,
      },
      {
        id: "voter",
        head: "VOTER",
        letter: "v",
        width: 5,
        align: "left",
        priority: 5,
        cell: ({ voter }) => span(voter ? "yes" : "no", voter ? "plain" : "warn"),
        sortKey: ({ voter }) => (voter ? 1 : 0),
      },
      {
        id: "state",
        head: "STATE",
        letter: "s",
        width: 10,
        align: "left",
        priority: 1,
        cell: ({ state }) => span(STATES[state].label, STATES[state].tone),
        sortKey: ({ state }) => state,
      },
      {
        id: "last contact",
        head: "LAST CONTACT",
        letter: "c",
        width: 12,
        align: "right",
        priority: 3,
        cell: ({ last_contact_ms }) => span(contactText(last_contact_ms)),
        sortKey: ({ last_contact_ms }) => last_contact_ms,
      },
      countColumn({ head: "APPLIED", letter: "a", width: 7, priority: 4 }, ({ applied }) => applied),
      countColumn({ head: "LAG", letter: "l", width: 3, priority: 3 }, ({ lag }) => lag),
      {
        id: "version",
        head: "VERSION",
        letter: "e",
        width: { least: 7, flex: 1 },
        align: "left",
        priority: 6,
        cell: ({ version }) => span(version === "" ? "-" : escapeControls(version)),
        sortKey: ({ version }) => version,
      },
      {
        id: "addresses",
        head: "ADDRESSES",
        letter: "d",
        width: { least: 20, flex: 2 },
        align: "left",
        priority: 7,
        cut: "middle",
        cell: (member) => span(addressesOf(member)),
        sortKey: ({ raft_addr }) => raft_addr,
      },
    ],
    idOf: ({ id }) => id,
    nameOf: ({ id }) => id,
    haystack: (member) =>
      [member.id, member.role, member.state, member.version, member.raft_addr, member.forward_addr].join(" "),
    isBad: ({ state, voter }) => state !== "reachable" || !voter,
    jsonOf: (member) => member,
  };
}

/** Returns the addresses of the raft and the forward listener; only the port of the second if the hosts are equal. */
function addressesOf({ raft_addr, forward_addr }: ClusterMemberRecord): string {
  if (raft_addr === "" && forward_addr === "") return "-";
  const at = raft_addr.lastIndexOf(":");
  const isSameHost = at > 0 && forward_addr.startsWith(raft_addr.slice(0, at + 1));
  return escapeControls(`${raft_addr} ${isSameHost ? forward_addr.slice(at) : forward_addr}`);
}

export const membersTable = (context: Omit<Context, "now">) =>
  tableOf(specFor(statusOf(context)?.node), membersOf(context));

/** Returns the quorum and the leader, which decide whether anything can be written. */
export function clusterLines(context: Reads): readonly Line[] {
  const members = membersOf(context);
  if (members.length === 0) return [];
  const quorum = quorumOf(members);
  const fragility = fragilityOf(quorum);
  const learners = members.length - quorum.voters;
  const verdict: Span = quorum.isMet
    ? span(`; ${quorum.reachable} reachable`, quorum.reachable === quorum.voters ? "plain" : "warn")
    : span(`; ! ${quorum.reachable} reachable: NO QUORUM, nothing can be written (H)`, "fail");
  const lines: Line[] = [
    [
      span(quorumText(quorum)),
      ...(learners === 0 ? [] : [span(`; ${plural(learners, "learner")} without a vote`)]),
      verdict,
      ...(fragility === undefined || quorum.voters === 1 ? [] : [span(`; ~ ${fragility}`, "warn")]),
    ],
  ];
  const status = statusOf(context);
  if (status === undefined) return lines;
  const { node, leader, term, applied_index, commit_index, role } = status;
  const behind = commit_index > applied_index ? `, committed ${count(commit_index)}` : "";
  return [
    ...lines,
    [
      leader === null ? span("! no leader", "fail") : span(`leader ${escapeControls(leader)}`),
      span(
        `; term ${count(term)}; index ${count(applied_index)}${behind}; as seen by ${escapeControls(node)} (${role})`,
      ),
    ],
    ...levelLines(status),
  ];
}

/** Returns the feature level, while the nodes of a cluster run different builds. */
function levelLines({ feature }: NodeStatus): readonly Line[] {
  if (feature === undefined || feature.waiting === null) return [];
  return [[span(`feature level ${feature.level}; `), span(`~ ${escapeControls(feature.waiting)}`, "warn")]];
}

/** Describes the member's state, the remedy, and the quorum without it. */
export function memberPane(id: string, context: Reads): readonly Line[] {
  const member = memberOf(context, id);
  if (member === undefined) return [];
  return [
    ...meaning(member, context),
    labeledLine("without", quorumWithout(id, context)),
    ...clockLines(member),
    labeledLine("addresses", shown(`raft ${orNone(member.raft_addr)}, forward ${orNone(member.forward_addr)}`)),
  ];
}

/** Minimum clock offset that is shown as a difference, in milliseconds. */
const NOTABLE_MS = 100;

function clockLines({ clock_offset_ms: ms }: ClusterMemberRecord): readonly Line[] {
  if (ms === null || Math.abs(ms) < NOTABLE_MS) return [];
  const text = `${contactText(Math.abs(ms))} ${ms > 0 ? "ahead of" : "behind"} that of the connected node`;
  return [labeledLine("clock", span(text, Math.abs(ms) > 1_000 ? "warn" : "plain"))];
}

const orNone = (address: string): string => (address === "" ? "not known" : address);

function meaning(member: ClusterMemberRecord, context: Reads): readonly Line[] {
  const { state, role, voter, lag, last_contact_ms } = member;
  const row = (label: string, text: string, tone: Tone = "plain"): Line => labeledLine(label, span(text, tone));
  if (state === "silent") {
    const since = last_contact_ms === null ? "" : ` for ${humanDuration(last_contact_ms)}`;
    return [
      row("state", `no contact${since}: its process, its machine or its network is down`, "fail"),
      ...(quorumOf(membersOf(context)).isMet
        ? [
            row("to do", "start it again: it replays its log and catches up"),
            row("", "if it will not come back: P or X, then add another with `join`"),
          ]
        : [row("to do", "start it again: no majority is reachable. If the majority is lost permanently: H", "fail")]),
    ];
  }
  if (state === "forgot") {
    return [
      row(
        "state",
        "it restarted without entries that it had acknowledged: its data directory is an old copy, or its disk",
        "fail",
      ),
      row("", "lost writes. It is refused and exits with status 11, since its vote could undo committed entries"),
      row("to do", "move its data directory away there, and start it with an empty one that joins (cluster.join)"),
    ];
  }
  if (state === "snapshot") {
    return [
      row("state", "it is too far behind to catch up from the log, so it is receiving the whole state", "warn"),
      row("to do", "wait; if it does not end, check its disk and the network to the leader"),
    ];
  }
  if (!voter) {
    return [
      row("state", `a learner: it catches up${lag === null ? "" : `, ${plural(lag, "entry", "entries")} to go`}`),
      row("to do", "nothing: it gets its vote once it has caught up. Until then it does not count toward the quorum"),
    ];
  }
  if (role === "leader") {
    return [
      row("state", "it is the leader: every write goes through it"),
      row("to do", "nothing; before you stop its machine for long, hand leadership to another member (press L on it)"),
    ];
  }
  const behind = lag !== null && lag > 0 ? `, ${plural(lag, "entry", "entries")} behind` : "";
  return [
    row("state", `it is a follower with a vote${behind}`),
    row(
      "to do",
      lag !== null && lag > MUCH ? "check that its lag shrinks; otherwise check its disk and network" : "nothing",
    ),
  ];
}

/** Lag in log entries that is normal in a busy cluster. */
const MUCH = 1_000;

function quorumWithout(id: string, context: Reads): Span {
  const members = membersOf(context);
  const reduction = reductionOf(
    members,
    members.map((member) => member.id).filter((each) => each !== id),
  );
  switch (reduction.kind) {
    case "nothing":
      return span("the same");
    case "impossible":
      return members.length === 1
        ? span("there is no cluster: it is the only member")
        : shown(`it cannot be removed now: ${reduction.reason}`, "warn");
    case "possible": {
      const fragility = fragilityOf(reduction.after);
      const text = quorumText(reduction.after);
      return fragility === undefined ? span(text) : span(`${text}: ${fragility}`, "warn");
    }
    default:
      return reduction satisfies never;
  }
}

/**
 * Dialogs about members: leadership, removal, and the guided prune, each with its effect on the quorum. Source: operator
 * console reference, B5 to B7; specification document 1 ("cluster prune").
 */

import type { ClusterMemberRecord } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";
import { commandsOfTask, quoted } from "../format/command-line.ts";
import { count, plural } from "../format/numbers.ts";
import { humanDuration } from "../format/times.ts";
import { type Action, actionOf } from "../model/action.ts";
import type { Context } from "../model/context.ts";
import type { Dialog, FieldValues, Task } from "../model/dialog.ts";
import { type Line, line } from "../model/text.ts";
import { fragilityOf, isReachable, quorumOf, quorumText, type Reduction, reductionOf } from "./cluster-quorum.ts";
import { snapshotFields, snapshotLine, snapshotProblem, withSnapshotFirst } from "./cluster-snapshot.ts";
import { leaderOf, memberOf, membersOf } from "./known-members.ts";

type Reads = Pick<Context, "data">;
type Rows = readonly (readonly [label: string, line: Line])[];

const NO_LEADER = "no leader is known: there may be an election, or no majority (H)";

/** Returns the reason why leadership cannot move to the member. */
export function whyNotLeader(id: string, context: Reads): string | undefined {
  const member = memberOf(context, id);
  const shown = escapeControls(id);
  if (member === undefined) return `${shown} is no longer a member`;
  const leader = leaderOf(context);
  if (leader === id) return `${shown} is the leader already`;
  if (!member.voter) return `${shown} has no vote, so it cannot lead`;
  if (member.state === "forgot") return `${shown} lost entries that it had acknowledged, so it is refused`;
  if (member.state === "silent") return `${shown} is silent: it could not take over`;
  if (member.state === "snapshot") return `${shown} is being sent a snapshot: it could not take over yet`;
  return leader === undefined ? NO_LEADER : undefined;
}

export function leadDialog(id: string): Dialog {
  const shown = escapeControls(id);
  return {
    title: `Hand leadership to ${shown}`,
    fields: [],
    lines(_, context) {
      const lag = memberOf(context, id)?.lag ?? null;
      return [
        ["Effect", line(`${shown} leads, ${escapeControls(leaderOf(context) ?? "nobody")} follows`)],
        ["Meanwhile", line("writes wait for a second or two; model requests do not")],
        ["Lag", line(lag === null ? "not known to the connected node" : `${plural(lag, "entry", "entries")}`)],
      ];
    },
    confirm: { kind: "yes", button: "hand over" },
    blockedReason: (_, context) => whyNotLeader(id, context),
    task: () => ({
      kind: "actions",
      actions: [
        actionOf("transfer_leader", { body: { to: id } }, ({ leader }) => ({
          message: `${escapeControls(leader)} leads`,
        })),
      ],
    }),
  };
}

/** Returns the reason why the member cannot be removed. */
export function whyNotRemovable(id: string, context: Reads): string | undefined {
  if (memberOf(context, id) === undefined) return `${escapeControls(id)} is no longer a member`;
  if (membersOf(context).length === 1) return `${escapeControls(id)} is the only member`;
  const reduction = reductionWithout(id, context);
  return reduction.kind === "impossible" ? whyImpossible(reduction) : whyLeaderless(context);
}

const whyLeaderless = (context: Reads): string | undefined => (leaderOf(context) === undefined ? NO_LEADER : undefined);

function reductionWithout(id: string, context: Reads): Reduction {
  const members = membersOf(context);
  return reductionOf(
    members,
    members.map((member) => member.id).filter((each) => each !== id),
  );
}

const whyImpossible = ({ reason, needsRecovery }: Extract<Reduction, { readonly kind: "impossible" }>): string =>
  needsRecovery ? `${reason}. See the recovery guide (H)` : reason;

export function removeDialog(id: string): Dialog {
  const shown = escapeControls(id);
  return {
    title: `Remove member ${shown}`,
    isDangerous: true,
    fields: [],
    lines: (_, context) => [
      ["Now", line(quorumText(quorumOf(membersOf(context))))],
      ...consequences(reductionWithout(id, context), context),
    ],
    confirm: { kind: "typed", button: "remove", label: `Type ${shown}`, expected: () => id },
    blockedReason: (_, context) => whyNotRemovable(id, context),
    task: () => ({
      kind: "actions",
      actions: [
        actionOf("delete_cluster_member", { params: { id } }, () => ({ message: `${shown} is no longer a member` })),
      ],
    }),
  };
}

const KEEP = "keep";

const selectedIds = (values: FieldValues): readonly string[] =>
  (values[KEEP] ?? "").split(",").filter((id) => id !== "");

/** Returns the reason why there are no members to choose from. */
export function whyNotPrunable(context: Reads): string | undefined {
  const members = membersOf(context);
  if (members.length === 0) return "the members are not known yet";
  if (members.length === 1) return "there is only one member, which cannot be removed";
  const all = quorumOf(members);
  return all.isMet
    ? undefined
    : `${all.reachable} of ${plural(all.voters, "voter")} reachable, quorum ${all.quorum}: nothing can be written. See the recovery guide (H)`;
}

/**
 * Builds the guided prune: the current state, which members stay, the consequences, a snapshot, and the typed ids. `opened` is
 * the state when it opened; the members reachable then are selected.
 */
export function pruneDialog(opened: Context): Dialog {
  const members = membersOf(opened);
  return {
    title: "Prune the cluster",
    isDangerous: true,
    fields: [
      {
        kind: "boxes",
        id: KEEP,
        label: "Members to keep",
        initial: members
          .filter(isReachable)
          .map(({ id }) => id)
          .join(","),
        choices: members.map(({ id }) => id),
      },
      ...snapshotFields(opened),
    ],
    lines: (values, context) => [
      ...currentFacts(context),
      ...consequences(reductionOf(membersOf(context), selectedIds(values)), context),
      ["Snapshot", snapshotLine(values, context)],
    ],
    confirm: {
      kind: "typed",
      button: "prune",
      label: "Type the ids that stay, with commas between",
      expected: (values) => values[KEEP] ?? "",
    },
    blockedReason(values, context) {
      const present = membersOf(context).map(({ id }) => id);
      const gone = selectedIds(values).filter((id) => !present.includes(id));
      if (gone.length > 0) return `no longer a member: ${gone.map(escapeControls).join(", ")}`;
      const joined = present.filter((id) => !members.some((member) => member.id === id));
      if (joined.length > 0)
        return `${joined.map(escapeControls).join(", ")} joined meanwhile: close this dialog and start again`;
      const reduction = reductionOf(membersOf(context), selectedIds(values));
      if (reduction.kind === "nothing") return "every member stays: there is nothing to do";
      if (reduction.kind === "impossible") return whyImpossible(reduction);
      return whyLeaderless(context) ?? snapshotProblem(values);
    },
    task: pruneTask,
    commands(values, context) {
      const keep = selectedIds(values);
      const addresses = membersOf(context)
        .filter(({ id, forward_addr }) => keep.includes(id) && forward_addr !== "")
        .map(({ forward_addr }) => forward_addr);
      return [
        ...commandsOfTask(pruneTask(values), context),
        ...(addresses.length === 0
          ? []
          : [
              `# without an admin endpoint, with GATEWAY_CLUSTER_SECRET set: gateway cluster prune -addr ${quoted(addresses.join(","))} -keep ${quoted(keep.join(","))}`,
            ]),
      ];
    },
  };
}

const pruneTask = (values: FieldValues): Task =>
  withSnapshotFirst(values, { kind: "actions", actions: [pruneAction(selectedIds(values))] });

const pruneAction = (keep: readonly string[]): Action =>
  actionOf("prune_cluster", { body: { keep: [...keep] } }, ({ members }) => ({
    message: `members are ${members.map(escapeControls).join(", ")}`,
  }));

function currentFacts(context: Reads): Rows {
  const members = membersOf(context);
  const voters = members.filter(({ voter }) => voter);
  const learners = members.filter(({ voter }) => !voter);
  const away = members.filter((member) => !isReachable(member));
  const leader = leaderOf(context);
  return [
    [
      "Now",
      line(
        `leader ${escapeControls(leader ?? "unknown")}; voters ${memberNames(voters)}` +
          (learners.length === 0 ? "" : `; without a vote ${memberNames(learners)}`),
      ),
    ],
    ["", line(quorumText(quorumOf(members)))],
    ...away.map((member): readonly [string, Line] => ["", line(silence(member), "warn")]),
  ];
}

function silence({ id, last_contact_ms }: ClusterMemberRecord): string {
  const since = last_contact_ms === null ? "" : `, last heard of ${humanDuration(last_contact_ms)} ago`;
  return `${escapeControls(id)} silent${since}`;
}

const memberNames = (members: readonly { readonly id: string }[]): string =>
  members.map(({ id }) => escapeControls(id)).join(" ") || "none";

/**
 * Returns the consequences for the members, the quorum, the leader and the removed members, short enough for a screen of 24
 * rows.
 */
function consequences(reduction: Reduction, context: Reads): Rows {
  switch (reduction.kind) {
    case "nothing":
      return [["Consequence", line("none: every member stays")]];
    case "impossible":
      return [
        ["Consequence", line(`it cannot succeed: ${escapeControls(reduction.reason)}`, "fail")],
        ...(reduction.needsRecovery
          ? [
              [
                "",
                line(
                  "Close this dialog and press H: the recovery guide is for a majority that is lost permanently",
                  "fail",
                ),
              ] as const,
            ]
          : []),
      ];
    case "possible": {
      const { removed, after } = reduction;
      const members = membersOf(context);
      const shown = removed.map(escapeControls).join(", ");
      const fragility = fragilityOf(after);
      const leader = leaderOf(context);
      return [
        [
          "Consequence",
          line(`members ${count(members.length)} -> ${count(members.length - removed.length)}; ${quorumText(after)}`),
        ],
        ...(fragility === undefined ? [] : [["", line(`${fragility}. Add a node first`, "fail")] as const]),
        ...(leader !== undefined && removed.includes(leader)
          ? [["Leader", line(`${escapeControls(leader)} leads: it hands leadership over first`, "warn")] as const]
          : []),
        [
          "Removed",
          line(
            removed.length === 1
              ? `${shown} keeps its disk; it can only rejoin with an empty data directory (\`join\`)`
              : `${shown} keep their disks; they can only rejoin with empty data directories (\`join\`)`,
          ),
        ],
        ["Untouched", line("keys, budgets, suspensions and configuration")],
      ];
    }
    default:
      return reduction satisfies never;
  }
}

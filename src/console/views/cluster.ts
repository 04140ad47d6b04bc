/** View of the cluster members: leader, voters and silent members, with actions. */

import { restoreSnapshot, saveSnapshot, whyNotRestorable } from "../actions/cluster-snapshot.ts";
import {
  leadDialog,
  pruneDialog,
  removeDialog,
  whyNotLeader,
  whyNotPrunable,
  whyNotRemovable,
} from "../actions/member-dialogs.ts";
import type { Dialog } from "../model/dialog.ts";
import type { Intent, View } from "../model/view.ts";
import { clusterLines, memberPane, membersTable } from "./cluster-members.ts";

const dialogIntent = (dialog: Dialog): Intent => ({ kind: "dialog", dialog });

export const clusterView: View = {
  id: "cluster",
  aliases: ["members", "member"],
  title: "Cluster",
  about: "members: leader, votes, contact, lag; prune, snapshots, leadership",
  needs: () => [{ id: "list_cluster_members" }, { id: "get_status" }],
  body: {
    kind: "table",
    table: membersTable,
    sort: { column: "node", isDescending: false },
    pane: memberPane,
    above: (context, { rows }) => clusterLines(context).slice(0, rows),
    aboveRows: 3,
    empty: () => ({
      sentence: "No members are known to this node.",
      next: "It has no cluster yet: check its log, and `peers`, `join` or `bootstrap` in its node file.",
    }),
    query: {
      table: "cluster_members",
      columns: [
        "id",
        "role",
        "voter",
        "state",
        "last_contact_ms",
        "applied",
        "lag",
        "version",
        "raft_addr",
        "forward_addr",
      ],
      key: ["id"],
      order: "id",
    },
  },
  offers: [
    {
      verb: "lead",
      needsRow: true,
      disabledReason: ({ ids: [id = ""] }, context) => whyNotLeader(id, context),
      start: ({ ids: [id = ""] }) => dialogIntent(leadDialog(id)),
    },
    {
      verb: "remove",
      needsRow: true,
      disabledReason: ({ ids: [id = ""] }, context) => whyNotRemovable(id, context),
      start: ({ ids: [id = ""] }) => dialogIntent(removeDialog(id)),
    },
    {
      verb: "prune",
      needsRow: false,
      disabledReason: (_, context) => whyNotPrunable(context),
      start: (_, context) => dialogIntent(pruneDialog(context)),
    },
    { verb: "save", label: "save snapshot", needsRow: false, start: (_, context) => saveSnapshot(context) },
    {
      verb: "restore",
      label: "restore snapshot",
      needsRow: false,
      disabledReason: (_, context) => whyNotRestorable(context),
      start: (_, context) => restoreSnapshot(context),
    },
    { verb: "guide", needsRow: false, start: () => ({ kind: "go", place: { view: "recover" } }) },
  ],
};

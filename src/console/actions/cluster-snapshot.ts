/**
 * Archives of the whole state: saving one, restoring one, and the fields by which a dialog of something that cannot be
 * undone insists on one. Source: specification document 1, "gateway snapshot"; operator console reference, B6 and B7.
 */

import { escapeControls } from "../../base/index.ts";
import type { Context } from "../model/context.ts";
import { rowsOf } from "../model/data.ts";
import type { Deed, Dialog, Field, FieldValues, SingleDeed } from "../model/dialog.ts";
import { type Line, line } from "../model/text.ts";
import type { Intent } from "../model/view.ts";
import { askFile, fileWhy } from "./ask-file.ts";
import { leaderOf } from "./members.ts";

/** `gateway-20261120-140207.tgz`; `now`: milliseconds since 1970. */
export function archiveName(now: number): string {
  const [day = "", time = ""] = new Date(now).toISOString().slice(0, 19).replace(/[-:]/g, "").split("T");
  return `gateway-${day}-${time}.tgz`;
}

export const saveSnapshot = ({ now }: Pick<Context, "now">): Intent =>
  askFile("save snapshot to", archiveName(now), (file) => ({ kind: "job", job: { kind: "save_snapshot", file } }));

const SNAPSHOT = "snapshot";
const FILE = "snapshot_file";
const UNDECIDED = "undecided";
const SAVE = "save first";
const SKIP = "skip";

/** Whether a snapshot comes first must be said: nobody is without one by an oversight. */
export const snapshotFields = (now: number): readonly Field[] => [
  { kind: "choice", id: SNAPSHOT, label: "Snapshot", initial: UNDECIDED, choices: [UNDECIDED, SAVE, SKIP] },
  { kind: "text", id: FILE, label: "Saved to", initial: archiveName(now) },
];

export function snapshotWhy(values: FieldValues): string | undefined {
  if (values[SNAPSHOT] === SKIP) return undefined;
  if (values[SNAPSHOT] === SAVE) return fileWhy(values[FILE] ?? "");
  return "choose whether a snapshot is saved first, or skipped";
}

export function snapshotLine(values: FieldValues, context: Pick<Context, "data">): Line {
  if (values[SNAPSHOT] === SKIP) return line("none is saved: what is lost here cannot be brought back", "warn");
  if (values[SNAPSHOT] !== SAVE) return line("undecided: save one first, or skip it", "warn");
  const status = context.data.get({ id: "get_status" })?.value;
  const where = `saved to ${escapeControls(values[FILE] ?? "")} first; where that fails, nothing else is done`;
  return status !== undefined && status.role !== "leader"
    ? line(
        `${where}. ${escapeControls(status.node)} does not lead and may refuse to save: go to the leader's door (O)`,
        "warn",
      )
    : line(where);
}

/** The deed, behind the snapshot where one was asked for. */
export function behindSnapshot(values: FieldValues, deed: SingleDeed): Deed {
  const file = values[FILE] ?? "";
  return values[SNAPSHOT] === SAVE
    ? { kind: "steps", steps: [{ kind: "job", job: { kind: "save_snapshot", file } }, deed] }
    : deed;
}

export const restoreSnapshot = (context: Context): Intent =>
  askFile("restore snapshot from", "", (file) => ({ kind: "dialog", dialog: restoreDialog(file, context) }));

/** Why nothing can be restored now. */
export const restoreWhy = (context: Pick<Context, "data">): string | undefined =>
  leaderOf(context) === undefined ? "no leader is known, so nothing can be restored" : undefined;

/** `opened`: what was so when it opened. It asks for the leader of that moment, and is void once another leads. */
export function restoreDialog(file: string, opened: Context): Dialog {
  const leader = leaderOf(opened);
  return {
    title: "Restore a snapshot",
    isDangerous: true,
    fields: snapshotFields(opened.now),
    lines(values, context) {
      const members = rowsOf(context.data, "cluster_members").map(({ id }) => escapeControls(id));
      return [
        ["Effect", line(`replaces ALL replicated state of this cluster with ${escapeControls(file)}`, "fail")],
        ["", line("The present state is gone, on every node", "fail")],
        ["What goes", line("keys, budgets, suspensions, sources with their history, sealed secrets, audit heads")],
        ["What stays", line(`the members: ${members.length === 0 ? "not known yet" : members.join(", ")}`)],
        ["Then", line("sealed secrets open only with the cluster secret that they were sealed under")],
        ["Snapshot", snapshotLine(values, context)],
      ];
    },
    confirm: {
      kind: "typed",
      does: "restore",
      label: "type the id of the leader",
      expected: () => leader ?? "",
    },
    why(values, context) {
      const now = leaderOf(context);
      if (leader === undefined || now === undefined) return "no leader is known, so nothing can be restored";
      if (now !== leader)
        return `${escapeControls(now)} leads now, not ${escapeControls(leader)}: leave and begin again`;
      return snapshotWhy(values);
    },
    deed: (values) => behindSnapshot(values, { kind: "job", job: { kind: "restore_snapshot", file } }),
  };
}

/**
 * Archives of the whole state: dialogs that save and restore them, and the fields with which an irreversible action
 * offers a snapshot first. Source: specification document 1, "gateway snapshot"; operator console reference, B6 and B7.
 */

import { escapeControls } from "../../base/index.ts";
import type { Context } from "../model/context.ts";
import { rowsOf } from "../model/data.ts";
import type { Dialog, Field, FieldValues, JobRequest, SingleTask, Task } from "../model/dialog.ts";
import { type Line, line } from "../model/text.ts";
import type { Intent } from "../model/view.ts";
import { askFile, fileProblem } from "./ask-file.ts";
import { leaderOf } from "./known-members.ts";

/** Returns `gateway-20261120-140207.tgz`; `now` is in milliseconds since 1970. */
export function archiveName(now: number): string {
  const [day = "", time = ""] = new Date(now).toISOString().slice(0, 19).replace(/[-:]/g, "").split("T");
  return `gateway-${day}-${time}.tgz`;
}

export function saveSnapshot(context: Pick<Context, "now" | "data">): Intent {
  const node = followerOf(context);
  const label = node === undefined ? "save snapshot to" : `save ${node}'s state, which may lack the newest writes, to`;
  return askFile(label, archiveName(context.now), (file) => ({ kind: "job", job: saving(file, node !== undefined) }));
}

const saving = (file: string, isStale: boolean): Extract<JobRequest, { kind: "save_snapshot" }> => ({
  ...{ kind: "save_snapshot", file },
  ...(isStale && { isStale }),
});

/** Returns the connected node if it is not the leader: then only its own state can be saved. */
function followerOf({ data }: Pick<Context, "data">): string | undefined {
  const status = data.get({ id: "get_status" })?.value;
  return status === undefined || status.role === "leader" ? undefined : escapeControls(status.node);
}

const SNAPSHOT = "snapshot";
const FILE = "snapshot_file";
const UNDECIDED = "undecided";
const SAVE = "save first";
/** Choice on a node that is not the leader. */
const SAVE_HERE = "save this node's first";
const SKIP = "skip";

/** Returns fields that require an explicit choice, so that a snapshot is not skipped by accident. */
export function snapshotFields(opened: Pick<Context, "now" | "data">): readonly Field[] {
  const save = followerOf(opened) === undefined ? SAVE : SAVE_HERE;
  return [
    { kind: "choice", id: SNAPSHOT, label: "Snapshot", initial: UNDECIDED, choices: [UNDECIDED, save, SKIP] },
    { kind: "text", id: FILE, label: "Saved to", initial: archiveName(opened.now), isFile: true },
  ];
}

const isSaved = (values: FieldValues): boolean => values[SNAPSHOT] === SAVE || values[SNAPSHOT] === SAVE_HERE;

export function snapshotProblem(values: FieldValues): string | undefined {
  if (values[SNAPSHOT] === SKIP) return undefined;
  if (isSaved(values)) return fileProblem(values[FILE] ?? "");
  return "choose whether a snapshot is saved first, or skipped";
}

export function snapshotLine(values: FieldValues, context: Pick<Context, "data">): Line {
  if (values[SNAPSHOT] === SKIP) return line("no snapshot is saved: what is removed here cannot be restored", "warn");
  if (!isSaved(values)) return line("undecided: save one first, or skip it", "warn");
  const where = `saved to ${escapeControls(values[FILE] ?? "")} first; if that fails, nothing else is done`;
  const node = followerOf(context);
  if (node === undefined) return line(where);
  const what =
    values[SNAPSHOT] === SAVE_HERE
      ? `the state of ${node} is saved, which may lack the newest writes; the leader has them all (O)`
      : `${node} is no longer the leader and will refuse: close this dialog and start again`;
  return line(`${where}. ${what}`, "warn");
}

/** Puts a snapshot before the action, if one was chosen. */
export function withSnapshotFirst(values: FieldValues, task: SingleTask): Task {
  const file = values[FILE] ?? "";
  if (!isSaved(values)) return task;
  return { kind: "steps", steps: [{ kind: "job", job: saving(file, values[SNAPSHOT] === SAVE_HERE) }, task] };
}

export const restoreSnapshot = (context: Context): Intent =>
  askFile("restore snapshot from", "", (file) => ({ kind: "dialog", dialog: restoreDialog(file, context) }));

/** Returns the reason why nothing can be restored now. */
export const whyNotRestorable = (context: Pick<Context, "data">): string | undefined =>
  leaderOf(context) === undefined ? "no leader is known, so nothing can be restored" : undefined;

/**
 * Builds the dialog. `opened` is the state when it opened. It asks for the name of the leader at that time, and cannot be
 * confirmed once another member leads.
 */
export function restoreDialog(file: string, opened: Context): Dialog {
  const leader = leaderOf(opened);
  return {
    title: "Restore a snapshot",
    isDangerous: true,
    fields: snapshotFields(opened),
    lines(values, context) {
      const members = rowsOf(context.data, "cluster_members").map(({ id }) => escapeControls(id));
      return [
        ["Effect", line(`replaces ALL replicated state of this cluster with ${escapeControls(file)}`, "fail")],
        ["", line("The current state is lost, on every node", "fail")],
        ["Replaced", line("keys, budgets, suspensions, sources with their history, sealed secrets, audit heads")],
        ["Unchanged", line(`the members: ${members.length === 0 ? "not known yet" : members.join(", ")}`)],
        ["Then", line("sealed secrets open only with the cluster secret that they were sealed under")],
        ["Snapshot", snapshotLine(values, context)],
      ];
    },
    confirm: {
      kind: "typed",
      button: "restore",
      label: "type the id of the leader",
      expected: () => leader ?? "",
    },
    blockedReason(values, context) {
      const now = leaderOf(context);
      if (leader === undefined || now === undefined) return "no leader is known, so nothing can be restored";
      if (now !== leader)
        return `${escapeControls(now)} is the leader now, not ${escapeControls(leader)}: close this dialog and start again`;
      return snapshotProblem(values);
    },
    task: (values) => withSnapshotFirst(values, { kind: "job", job: { kind: "restore_snapshot", file } }),
  };
}

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  archiveName,
  restoreDialog,
  saveSnapshot,
  whyNotRestorable,
} from "../../../src/console/actions/cluster-snapshot.ts";
import {
  leadDialog,
  pruneDialog,
  removeDialog,
  whyNotLeader,
  whyNotPrunable,
  whyNotRemovable,
} from "../../../src/console/actions/member-dialogs.ts";
import type { Dialog, FieldValues, Task } from "../../../src/console/model/dialog.ts";
import {
  carriedOut,
  contextOf,
  leader,
  learner,
  linesOf,
  member,
  NOW,
  silent,
  status,
  valuesOf,
} from "./cluster-fixtures.ts";

const THREE = [leader("n1"), member("n2", { lag: 3 }), silent("n3")];
const three = contextOf({ list_cluster_members: THREE, get_status: status() });

/** Returns an action's requests or effects as text. */
function doneBy(task: Task): readonly string[] {
  switch (task.kind) {
    case "actions":
      return task.actions.map(({ request: { method, path, body } }) => `${method} ${path} ${JSON.stringify(body)}`);
    case "job":
      return [`${task.job.kind} ${"file" in task.job ? task.job.file : task.job.kind}`];
    case "steps":
      return task.steps.flatMap(doneBy);
    default:
      return task satisfies never;
  }
}

const taskOf = (dialog: Dialog, input: FieldValues = {}) => doneBy(dialog.task(valuesOf(dialog, input), three));

test("leadership can be handed to a reachable voter that is not the leader", () => {
  assert.equal(whyNotLeader("n2", three), undefined);
  assert.equal(whyNotLeader("n1", three), "n1 is the leader already");
  assert.equal(whyNotLeader("n3", three), "n3 is silent: it could not take over");
  assert.equal(whyNotLeader("n9", three), "n9 is no longer a member");
  const late = contextOf({ list_cluster_members: [member("n2", { state: "snapshot" })], get_status: status() });
  assert.equal(whyNotLeader("n2", late), "n2 is being sent a snapshot: it could not take over yet");
  const four = contextOf({ list_cluster_members: [...THREE, learner("n4")], get_status: status() });
  assert.equal(whyNotLeader("n4", four), "n4 has no vote, so it cannot lead");
  const headless = contextOf({ list_cluster_members: THREE, get_status: status({ leader: null, role: "follower" }) });
  assert.match(whyNotLeader("n2", headless) ?? "", /^no leader is known/);
});

test("handing over leadership shows the leader and the lag, and asks for y", () => {
  const dialog = leadDialog("n2");
  assert.deepEqual(linesOf(dialog, three), [
    "Effect: n2 leads, n1 follows",
    "Meanwhile: writes wait for a second or two; model requests do not",
    "Lag: 3 entries",
  ]);
  assert.equal(dialog.confirm.kind, "yes");
  assert.deepEqual(taskOf(dialog), ['POST /admin/v1/cluster/leader {"to":"n2"}']);
});

test("removing a member shows the new quorum and asks for its id", () => {
  const dialog = removeDialog("n3");
  assert.deepEqual(linesOf(dialog, three), [
    "Now: 3 voters, quorum 2, tolerates no further loss",
    "Consequence: members 3 -> 2; 2 voters, quorum 2, tolerates no loss",
    ": LOSING EITHER NODE STOPS WRITES. Add a node first",
    "Removed: n3 keeps its disk; it can only rejoin with an empty data directory (`join`)",
    "Untouched: keys, budgets, suspensions and configuration",
  ]);
  assert.equal(dialog.isDangerous, true);
  assert.equal(dialog.confirm.kind === "typed" && dialog.confirm.expected({}), "n3");
  assert.deepEqual(taskOf(dialog), ["DELETE /admin/v1/cluster_members/n3 undefined"]);
});

test("removing the leader says that it hands over first", () => {
  const all = contextOf({ list_cluster_members: [leader("n1"), member("n2"), member("n3")], get_status: status() });
  assert.ok(linesOf(removeDialog("n1"), all).includes("Leader: n1 leads: it hands leadership over first"));
});

for (const { title, members, id, why } of [
  { title: "a member that is gone", members: THREE, id: "n9", why: "n9 is no longer a member" },
  { title: "the only member", members: [leader("n1")], id: "n1", why: "n1 is the only member" },
  {
    title: "one without which there is no majority",
    members: [leader("n1"), member("n2"), silent("n3")],
    id: "n2",
    why: "only 1 of the 2 voters that would stay can be reached, quorum 2: nothing could be written any longer",
  },
  {
    title: "any member while there is no majority",
    members: [member("n1"), silent("n2"), silent("n3")],
    id: "n3",
    why: "1 of 3 voters reachable, quorum 2: no quorum, so this change would be refused too. See the recovery guide (H)",
  },
]) {
  test(`a member is not removed: ${title}`, () => {
    assert.equal(whyNotRemovable(id, contextOf({ list_cluster_members: members, get_status: status() })), why);
  });
}

test("a prune opens with the reachable members ticked, and shows state and consequences", () => {
  const dialog = pruneDialog(three);
  assert.deepEqual(valuesOf(dialog), {
    keep: "n1,n2",
    snapshot: "undecided",
    snapshot_file: "gateway-20261120-140207.tgz",
  });
  assert.deepEqual(linesOf(dialog, three), [
    "Now: leader n1; voters n1 n2 n3",
    ": 3 voters, quorum 2, tolerates no further loss",
    ": n3 silent, last heard of 14m 20s ago",
    "Consequence: members 3 -> 2; 2 voters, quorum 2, tolerates no loss",
    ": LOSING EITHER NODE STOPS WRITES. Add a node first",
    "Removed: n3 keeps its disk; it can only rejoin with an empty data directory (`join`)",
    "Untouched: keys, budgets, suspensions and configuration",
    "Snapshot: undecided: save one first, or skip it",
  ]);
});

test("a prune requires a decision about the snapshot, a removed member and a remaining quorum", () => {
  const dialog = pruneDialog(three);
  const reason = (input: FieldValues) => dialog.blockedReason?.(valuesOf(dialog, input), three);
  assert.equal(reason({}), "choose whether a snapshot is saved first, or skipped");
  assert.equal(reason({ snapshot: "skip" }), undefined);
  assert.equal(reason({ snapshot: "save first" }), undefined);
  assert.equal(reason({ snapshot: "save first", snapshot_file: " " }), "a file name is needed");
  assert.equal(reason({ snapshot: "skip", keep: "n1,n2,n3" }), "every member stays: there is nothing to do");
  assert.equal(reason({ snapshot: "skip", keep: "" }), "no member stays: tick at least one");
  assert.match(
    reason({ snapshot: "skip", keep: "n1,n3" }) ?? "",
    /^only 1 of the 2 voters that would stay can be reached/,
  );
});

test("a prune without a quorum points to the recovery guide", () => {
  const lost = contextOf({ list_cluster_members: [member("n1"), silent("n2"), silent("n3")], get_status: status() });
  const lines = linesOf(pruneDialog(lost), lost);
  assert.ok(
    lines.includes(": Close this dialog and press H: the recovery guide is for a majority that is lost permanently"),
  );
  assert.equal(
    whyNotPrunable(lost),
    "1 of 3 voters reachable, quorum 2: nothing can be written. See the recovery guide (H)",
  );
});

test("a cluster of one cannot be pruned", () => {
  const one = contextOf({ list_cluster_members: [leader("n1")], get_status: status() });
  assert.equal(whyNotPrunable(one), "there is only one member, which cannot be removed");
  assert.equal(whyNotPrunable(contextOf({})), "the members are not known yet");
});

test("a prune refuses when the members changed while it was open", () => {
  const dialog = pruneDialog(three);
  const values = valuesOf(dialog, { snapshot: "skip" });
  const reductionWithout = contextOf({ list_cluster_members: [leader("n1"), silent("n3")], get_status: status() });
  const more = contextOf({ list_cluster_members: [...THREE, member("n4")], get_status: status() });
  assert.equal(dialog.blockedReason?.(values, reductionWithout), "no longer a member: n2");
  assert.equal(dialog.blockedReason?.(values, more), "n4 joined meanwhile: close this dialog and start again");
});

test("a prune asks for the ticked ids", () => {
  const { confirm } = pruneDialog(three);
  assert.equal(confirm.kind === "typed" && confirm.expected({ keep: "n1,n2" }), "n1,n2");
});

test("a requested snapshot is saved before the members are pruned", () => {
  const dialog = pruneDialog(three);
  const pruned = 'POST /admin/v1/cluster/prune {"keep":["n1","n2"]}';
  assert.deepEqual(taskOf(dialog, { snapshot: "skip" }), [pruned]);
  assert.deepEqual(taskOf(dialog, { snapshot: "save first" }), ["save_snapshot gateway-20261120-140207.tgz", pruned]);
});

test("a prune shows commands for the admin endpoint and for the forward addresses", () => {
  const dialog = pruneDialog(three);
  assert.deepEqual(dialog.commands?.(valuesOf(dialog, { snapshot: "save first", snapshot_file: "a b.tgz" }), three), [
    "gateway snapshot save -socket /run/gateway/admin.sock 'a b.tgz'",
    `gateway admin -socket /run/gateway/admin.sock -d '{"keep":["n1","n2"]}' POST cluster/prune`,
    "# without an admin endpoint, with GATEWAY_CLUSTER_SECRET set: gateway cluster prune -addr 10.0.0.1:7001,10.0.0.2:7001 -keep n1,n2",
  ]);
});

test("a follower saves its own state, and says so", () => {
  const follower = contextOf({ list_cluster_members: THREE, get_status: status({ node: "n2", role: "follower" }) });
  const dialog = pruneDialog(follower);
  const values = { snapshot: "save this node's first" };
  const lines = linesOf(dialog, follower, values);
  assert.ok(lines.some((line) => line.includes("the state of n2 is saved, which may lack the newest writes")));
  const [first] = dialog.commands?.(valuesOf(dialog, { ...values, snapshot_file: "a.tgz" }), follower) ?? [];
  assert.equal(first, "gateway snapshot save -socket /run/gateway/admin.sock -stale a.tgz");
  assert.ok(
    linesOf(pruneDialog(three), follower, { snapshot: "save first" }).some((line) => line.endsWith("start again")),
  );
  const alone = saveSnapshot(follower);
  assert.equal(alone.kind === "ask" && alone.label, "save n2's state, which may lack the newest writes, to");
  const job = { kind: "save_snapshot", file: "a.tgz", isStale: true };
  assert.deepEqual(alone.kind === "ask" && alone.next("a.tgz"), { kind: "job", job });
});

test("a snapshot's proposed file name is the time to the second, and no further dialog follows", () => {
  assert.equal(archiveName(NOW), "gateway-20261120-140207.tgz");
  const intent = saveSnapshot(three);
  assert.equal(intent.kind === "ask" && intent.initial, "gateway-20261120-140207.tgz");
  assert.deepEqual(intent.kind === "ask" && intent.next("a.tgz"), {
    kind: "job",
    job: { kind: "save_snapshot", file: "a.tgz" },
  });
  assert.deepEqual(intent.kind === "ask" && intent.next(" "), {
    kind: "flash",
    message: "canceled: a file name is needed",
    tone: "warn",
  });
});

test("a restore shows what is lost, asks for the leader's id and proposes a snapshot first", () => {
  const dialog = restoreDialog("old\u001b.tgz", three);
  assert.deepEqual(linesOf(dialog, three).slice(0, 4), [
    "Effect: replaces ALL replicated state of this cluster with old\\u001b.tgz",
    ": The current state is lost, on every node",
    "Replaced: keys, budgets, suspensions, sources with their history, sealed secrets, audit heads",
    "Unchanged: the members: n1, n2, n3",
  ]);
  assert.equal(dialog.isDangerous, true);
  assert.equal(dialog.confirm.kind === "typed" && dialog.confirm.expected({}), "n1");
  assert.equal(dialog.blockedReason?.(valuesOf(dialog), three), "choose whether a snapshot is saved first, or skipped");
  assert.equal(dialog.blockedReason?.(valuesOf(dialog, { snapshot: "skip" }), three), undefined);
  assert.deepEqual(taskOf(dialog, { snapshot: "save first", snapshot_file: "now.tgz" }), [
    "save_snapshot now.tgz",
    "restore_snapshot old\u001b.tgz",
  ]);
});

test("a restore is refused after a leader change, and not offered without a leader", () => {
  const dialog = restoreDialog("old.tgz", three);
  const moved = contextOf({ list_cluster_members: THREE, get_status: status({ leader: "n2", role: "follower" }) });
  const headless = contextOf({ list_cluster_members: THREE, get_status: status({ leader: null, role: "follower" }) });
  const values = valuesOf(dialog, { snapshot: "skip" });
  assert.equal(
    dialog.blockedReason?.(values, moved),
    "n2 is the leader now, not n1: close this dialog and start again",
  );
  assert.equal(dialog.blockedReason?.(values, headless), "no leader is known, so nothing can be restored");
  assert.equal(whyNotRestorable(headless), "no leader is known, so nothing can be restored");
  assert.equal(whyNotRestorable(three), undefined);
});

test("the result text comes from the answer", async () => {
  const shownLines = async (dialog: Dialog, answer: unknown) => {
    const task = dialog.task(valuesOf(dialog, { snapshot: "skip" }), three);
    const [action] = task.kind === "actions" ? task.actions : [];
    assert.ok(action !== undefined);
    return (await carriedOut(action, answer)).message;
  };
  assert.equal(await shownLines(leadDialog("n2"), { leader: "n2" }), "n2 leads");
  assert.equal(await shownLines(removeDialog("n3"), undefined), "n3 is no longer a member");
  assert.equal(await shownLines(pruneDialog(three), { members: ["n1", "n2"] }), "members are n1, n2");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ClusterMemberRecord } from "../../../src/admin-api/index.ts";
import type { Context } from "../../../src/console/model/context.ts";
import type { VerbId } from "../../../src/console/model/key-bindings.ts";
import type { Intent, TableBody } from "../../../src/console/model/view.ts";
import { clusterView } from "../../../src/console/views/cluster.ts";
import { clusterLines, memberPane } from "../../../src/console/views/cluster-members.ts";
import { recoverLines, survivorOf } from "../../../src/console/views/recover.ts";
import { contextOf, leader, learner, member, NOW, silent, status, texts } from "../actions/cluster-fixtures.ts";

const body = clusterView.body as TableBody;
const cluster = (members: readonly ClusterMemberRecord[], changes = {}): Context =>
  contextOf({ list_cluster_members: members, get_status: status(changes) });

const MIXED = [
  leader("n1"),
  member("n2", { state: "snapshot", last_contact_ms: 12_000, applied: 80_000, lag: 8_412 }),
  silent("n3"),
  learner("n4", { forward_addr: "other:7001", version: "" }),
  member("n5", { last_contact_ms: null, applied: null, lag: null, raft_addr: "", forward_addr: "" }),
];
const mixed = cluster(MIXED);

test("the table has a row per member and marks the connected node", () => {
  const table = body.table(mixed);
  const rows = Array.from({ length: table.count }, (_, row) =>
    table.columns.map((_column, column) => table.cell(row, column, NOW).text),
  );
  assert.deepEqual(
    table.columns.map(({ head }) => head),
    ["NODE", "ROLE", "VOTER", "STATE", "LAST CONTACT", "APPLIED", "LAG", "VERSION", "ADDRESSES"],
  );
  assert.deepEqual(rows, [
    ["n1 *", "leader", "yes", "reachable", "0ms", "88,412", "0", "1.4.0", "10.0.0.1:7000 :7001"],
    ["n2", "follower", "yes", "~ snapshot", "12s", "80,000", "8,412", "1.4.0", "10.0.0.2:7000 :7001"],
    ["n3", "follower", "yes", "! silent", "14m 20s", "88,100", "312", "1.4.0", "10.0.0.3:7000 :7001"],
    ["n4", "learner", "no", "reachable", "412ms", "88,412", "1,204", "-", "10.0.0.4:7000 other:7001"],
    ["n5", "follower", "yes", "reachable", "-", "-", "-", "1.4.0", "-"],
  ]);
  assert.deepEqual(
    rows.map((_, at) => table.isBad(at)),
    [false, true, true, true, false],
  );
});

test("columns sort by letters of their own, and by numbers", () => {
  const table = body.table(mixed);
  assert.equal(new Set(table.columns.map(({ letter }) => letter)).size, table.columns.length);
  const contact = table.columns.findIndex(({ id }) => id === "last contact");
  assert.deepEqual(
    [0, 1, 2, 4].map((row) => table.sortKey(row, contact)),
    [0, 12_000, 860_000, null],
  );
});

test("the quorum and the leader are above the table", () => {
  assert.deepEqual(texts(clusterLines(cluster([leader("n1"), member("n2"), member("n3")]))), [
    "3 voters, quorum 2, tolerates the loss of 1; 3 reachable",
    "leader n1; term 12; index 88,412; as seen by n1 (leader)",
  ]);
  assert.deepEqual(texts(clusterLines(mixed)), [
    "4 voters, quorum 3, tolerates no further loss; 1 learner without a vote; 3 reachable",
    "leader n1; term 12; index 88,412; as seen by n1 (leader)",
  ]);
  assert.equal(
    texts(clusterLines(cluster([leader("n1"), member("n2")])))[0],
    "2 voters, quorum 2, tolerates no loss; 2 reachable; ~ LOSING EITHER NODE STOPS WRITES",
  );
});

test("with members of several builds, the reason for the feature level is shown", () => {
  const feature = { level: 3, highest: 4, waiting: "level 4 waits for n2, which runs 0.1.0 (levels to 3)" };
  const lines = clusterLines(cluster([leader("n1"), member("n2"), member("n3")], { feature }));
  assert.equal(texts(lines)[2], `feature level 3; ~ ${feature.waiting}`);
  assert.equal(clusterLines(cluster([leader("n1")], { feature: { ...feature, waiting: null } })).length, 2);
});

test("a lost quorum is shown, with no leader", () => {
  const lost = cluster([member("n1"), silent("n2"), silent("n3")], {
    leader: null,
    role: "candidate",
    commit_index: 88_500,
  });
  assert.deepEqual(texts(clusterLines(lost)), [
    "3 voters, quorum 2; ! 1 reachable: NO QUORUM, nothing can be written (H)",
    "! no leader; term 12; index 88,412, committed 88,500; as seen by n1 (candidate)",
  ]);
});

test("a prune below the quorum is refused", () => {
  assert.equal(body.above?.(mixed, { columns: 80, rows: 1 }).length, 1);
  assert.deepEqual(clusterLines(contextOf({})), []);
});

for (const { id, members, meaning, toDo, without } of [
  {
    id: "n1",
    members: MIXED,
    meaning: "it is the leader: every write goes through it",
    toDo: "nothing; before you stop its machine for long, hand leadership to another member (press L on it)",
    without: "3 voters, quorum 2, tolerates no further loss",
  },
  {
    id: "n2",
    members: MIXED,
    meaning: "it is too far behind to catch up from the log, so it is receiving the whole state",
    toDo: "wait; if it does not end, check its disk and the network to the leader",
    without: "3 voters, quorum 2, tolerates no further loss",
  },
  {
    id: "n3",
    members: MIXED,
    meaning: "no contact for 14m 20s: its process, its machine or its network is down",
    toDo: "start it again: it replays its log and catches up",
    without: "3 voters, quorum 2, tolerates the loss of 1",
  },
  {
    id: "n4",
    members: MIXED,
    meaning: "a learner: it catches up, 1,204 entries to go",
    toDo: "nothing: it gets its vote once it has caught up. Until then it does not count toward the quorum",
    without: "4 voters, quorum 3, tolerates no further loss",
  },
  {
    id: "n2",
    members: [leader("n1"), member("n2", { lag: 5_000 }), member("n3")],
    meaning: "it is a follower with a vote, 5,000 entries behind",
    toDo: "check that its lag shrinks; otherwise check its disk and network",
    without: "2 voters, quorum 2, tolerates no loss: LOSING EITHER NODE STOPS WRITES",
  },
  {
    id: "n3",
    members: [member("n1"), silent("n2"), silent("n3")],
    meaning: "no contact for 14m 20s: its process, its machine or its network is down",
    toDo: "start it again: no majority is reachable. If the majority is lost permanently: H",
    without:
      "it cannot be removed now: 1 of 3 voters reachable, quorum 2: no quorum, so this change would be refused too",
  },
  {
    id: "n1",
    members: [leader("n1")],
    meaning: "it is the leader: every write goes through it",
    toDo: "nothing; before you stop its machine for long, hand leadership to another member (press L on it)",
    without: "there is no cluster: it is the only member",
  },
]) {
  test(`the pane of ${id} of ${members.length} says what its state means: ${meaning}`, () => {
    const pane = texts(memberPane(id, cluster(members)));
    assert.equal(pane[0], `state     ${meaning}`);
    assert.equal(pane[1], `to do     ${toDo}`);
    assert.equal(pane.at(-2), `without   ${without}`);
  });
}

test("the pane of a removed member is empty", () => {
  assert.deepEqual(memberPane("n9", mixed), []);
});

function intentOf(verb: VerbId, ids: readonly string[], context: Context): Intent | string {
  const offer = clusterView.offers.find((it) => it.verb === verb);
  assert.ok(offer !== undefined, verb);
  return offer.disabledReason?.({ ids }, context) ?? offer.start({ ids }, context);
}

test("every verb that changes the cluster opens a dialog", () => {
  const three = cluster([leader("n1"), member("n2"), silent("n3")]);
  const titles = (["lead", "remove", "prune"] as const).map((verb) => {
    const intent = intentOf(verb, ["n2"], cluster([leader("n1"), member("n2"), member("n3")]));
    return typeof intent === "object" && intent.kind === "dialog" ? intent.dialog.title : intent;
  });
  assert.deepEqual(titles, ["Hand leadership to n2", "Remove member n2", "Prune the cluster"]);
  const restore = intentOf("restore", [], three);
  assert.ok(typeof restore === "object" && restore.kind === "ask");
  const then = restore.next("old.tgz");
  assert.equal(then.kind === "dialog" && then.dialog.title, "Restore a snapshot");
  assert.deepEqual(intentOf("guide", [], three), { kind: "go", place: { view: "recover" } });
  assert.equal(intentOf("lead", ["n1"], three), "n1 is the leader already");
});

test("reasons for unavailable verbs are escaped", () => {
  assert.equal(intentOf("lead", ["n\u001b9"], mixed), "n\\u001b9 is no longer a member");
});

test("the most advanced survivor is named", () => {
  const members = [member("n1", { applied: 10 }), member("n2", { applied: 12 }), silent("n3"), learner("n4")];
  assert.equal(survivorOf(members)?.id, "n2");
  assert.equal(survivorOf([member("n2", { applied: null }), member("n1", { applied: null })])?.id, "n1");
  assert.equal(survivorOf([silent("n1"), learner("n2")]), undefined);
});

test("the recovery guide lists its commands in order, with the known names", () => {
  const lost = cluster([silent("n1"), member("n2"), silent("n3")], { node: "n2", leader: null, role: "candidate" });
  const page = texts(recoverLines(lost));
  assert.deepEqual(page.slice(page.indexOf("NOW"), page.indexOf("WHAT IS LOST")), [
    "NOW",
    "3 voters, quorum 2; 1 reachable as n2 sees it",
    "! No majority is reachable: nothing can be written until there is one, or until a recovery.",
    "  n1        voter    silent, heard of 14m 20s ago, index 88,100, forward 10.0.0.1:7001",
    "  n2 *      voter    reachable, index 88,412, forward 10.0.0.2:7001",
    "  n3        voter    silent, heard of 14m 20s ago, index 88,100, forward 10.0.0.3:7001",
    "",
    "WHAT TO DO, in this order",
    "1  on every survivor (n2): stop the gateway",
    "     systemctl stop gateway",
    "2  on every survivor: print what its disk says; this writes nothing",
    "     gateway cluster recover -config node.yaml",
    "   Choose ONE: the highest `last term`, and among equals the highest `last index`. A higher index of an older",
    "   term has less. n2 is the only survivor known.",
    "3  on the chosen one alone (by what is known now n2, index 88,412): check, then write, once",
    "     gateway cluster recover -config node.yaml -keep n2",
    "     gateway cluster recover -config node.yaml -keep n2 -confirm",
    "4  on n2: start it; it is a cluster of one and leads",
    "     systemctl start gateway",
    "5  on the others, one after the other: move data_dir aside, name the chosen one in the node file, start",
    "     mv DATA_DIR DATA_DIR.lost",
    '     cluster.join: ["10.0.0.2:7001"]   in place of peers and bootstrap',
    "     systemctl start gateway",
    "6  check: each is a learner first and gets a vote once it has caught up",
    "     :cluster",
    "   Then save a snapshot (w), and compare keys, budgets and audit heads with your records.",
    "",
  ]);
});

test("the recovery guide warns while a majority is reachable, and works without a gateway", () => {
  assert.ok(
    texts(recoverLines(mixed)).includes(
      "A majority is reachable: do NOT recover. Whatever is wrong, this guide does not apply.",
    ),
  );
  const blind = texts(recoverLines(contextOf({})));
  assert.ok(blind.includes("The members are not known: no gateway has answered yet."));
  assert.ok(blind.includes("     gateway cluster recover -config node.yaml -keep NODE -confirm"));
});

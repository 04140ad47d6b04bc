/** Members that a replica connects to and accepts connections from, and those whose answers count. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  createMemberDirectory,
  type MemberDirectory,
} from "../../../../src/server/cluster/members/member-directory.ts";
import type { Message } from "../../../../src/server/core/raft/index.ts";
import { createState, type Member } from "../../../../src/server/core/state/index.ts";
import { configuration } from "../support/driver-bench.ts";
import { memberOf, storageOf } from "../support/leader-bench.ts";
import { silentNetwork } from "../support/network.ts";

function directoryOf(
  rows: readonly Member[],
  learnt: readonly Member[] = [],
): MemberDirectory & { readonly peers: () => string } {
  const state = createState();
  const context = Buffer.from(JSON.stringify({ added: rows }));
  const ids = rows.map(({ id }) => id);
  state.applyConfiguration({ index: 1, term: 1, data: new Uint8Array(0) }, context, ids);
  const network = silentNetwork();
  const directory = createMemberDirectory({
    nodeId: "a",
    network,
    state: () => state,
    reportedMembers: new Map(learnt.map((each) => [each.id, each])),
    self: memberOf("a"),
    configuration: configuration(...ids),
    applied: 5,
  });
  return Object.assign(directory, { peers: () => [...network.peers].map(([id, addr]) => `${id}=${addr}`).join(" ") });
}

const message = (from: string, type: Message["type"]): Message => ({
  type,
  from,
  to: "a",
  term: 1,
  logTerm: 0,
  index: 0,
  commit: 0,
  reject: false,
  transfer: false,
  hintIndex: 0,
  hintTerm: 0,
  context: undefined,
  entries: [],
  snapshot: undefined,
});

test("a node connects to the members of its configuration, or to the known addresses without one", () => {
  const directory = directoryOf([memberOf("a"), memberOf("b")]);
  directory.updateConnections();
  assert.equal(directory.peers(), "b=b:7000");
  directory.addReported([memberOf("x")]);
  assert.equal(directory.peers(), "b=b:7000");

  const blank = directoryOf([], [memberOf("b"), memberOf("c")]);
  blank.updateConnections();
  assert.equal(blank.peers(), "b=b:7000 c=c:7000");
});

test("a removed member is no longer connected to, and a new one is known from then on", () => {
  const directory = directoryOf([memberOf("a"), memberOf("b")]);
  assert.equal(directory.minSnapshotIndex("b"), 5);
  assert.deepEqual(directory.adopt(configuration("a", "c"), 9), ["b"]);
  assert.deepEqual(directory.ids(), ["a", "c"]);
  assert.equal(directory.minSnapshotIndex("c"), 9);
  assert.equal(directory.minSnapshotIndex("a"), 5);
  directory.updateConnections();
  assert.equal(directory.peers(), "");
});

test("bug 17: answers of another data directory under a known id do not count, but its other messages do", () => {
  const directory = directoryOf([memberOf("a"), memberOf("b")]);
  directory.refusalCodeFor({ nodeId: "b", storageId: "blank", raftAddr: "b:7000", hasJoined: false }, true);
  for (const type of ["MsgAppResp", "MsgVoteResp", "MsgPreVoteResp", "MsgHeartbeatResp"] as const) {
    assert.equal(directory.comesFromMember(message("b", type)), false, type);
  }
  assert.equal(directory.comesFromMember(message("b", "MsgApp")), true);
  directory.refusalCodeFor({ nodeId: "b", storageId: storageOf("b"), raftAddr: "b:7000", hasJoined: false }, true);
  assert.equal(directory.comesFromMember(message("b", "MsgAppResp")), true);
});

test("while no directory of a member is known, only answers of a founder of the cluster count", () => {
  const directory = directoryOf([memberOf("a"), { ...memberOf("b"), storage: "" }]);
  for (const hasJoined of [false, true, false]) {
    directory.refusalCodeFor({ nodeId: "b", storageId: "any", raftAddr: "b:7000", hasJoined }, true);
    for (const type of ["MsgAppResp", "MsgVoteResp", "MsgPreVoteResp", "MsgHeartbeatResp"] as const) {
      assert.equal(directory.comesFromMember(message("b", type)), !hasJoined, type);
    }
    assert.equal(directory.comesFromMember(message("b", "MsgVote")), true);
  }
});

test("unknown members are refused by a node that has a leader, and accepted by one that may be left behind", () => {
  const directory = directoryOf([memberOf("a"), memberOf("b")]);
  const unknown = { nodeId: "x", storageId: storageOf("x"), raftAddr: "x:7000", hasJoined: false };
  assert.equal(directory.refusalCodeFor(unknown, true), "not_a_member");
  assert.equal(directory.find("x"), undefined);
  assert.equal(directory.refusalCodeFor(unknown, false), undefined);
  assert.equal(directory.find("x")?.raft_addr, "x:7000");
  assert.equal(directoryOf([]).refusalCodeFor(unknown, true), undefined);
});

test("a member's own report does not replace the address in its row", () => {
  const directory = directoryOf([memberOf("a"), memberOf("b")]);
  directory.refusalCodeFor({ nodeId: "b", storageId: storageOf("b"), raftAddr: "elsewhere:1", hasJoined: false }, true);
  assert.equal(directory.find("b")?.raft_addr, "b:7000");
});

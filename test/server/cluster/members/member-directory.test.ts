/** Which members a replica connects to, which it listens to, and whose answers count. */

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

function bookOf(
  rows: readonly Member[],
  learnt: readonly Member[] = [],
): MemberDirectory & { readonly peers: () => string } {
  const state = createState();
  const context = Buffer.from(JSON.stringify({ added: rows }));
  const ids = rows.map(({ id }) => id);
  state.applyConfiguration({ index: 1, term: 1, data: new Uint8Array(0) }, context, ids);
  const network = silentNetwork();
  const book = createMemberDirectory({
    nodeId: "a",
    network,
    state: () => state,
    reportedMembers: new Map(learnt.map((each) => [each.id, each])),
    self: memberOf("a"),
    configuration: configuration(...ids),
    applied: 5,
  });
  return Object.assign(book, { peers: () => [...network.peers].map(([id, addr]) => `${id}=${addr}`).join(" ") });
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
  const book = bookOf([memberOf("a"), memberOf("b")]);
  book.updateConnections();
  assert.equal(book.peers(), "b=b:7000");
  book.addReported([memberOf("x")]);
  assert.equal(book.peers(), "b=b:7000");

  const blank = bookOf([], [memberOf("b"), memberOf("c")]);
  blank.updateConnections();
  assert.equal(blank.peers(), "b=b:7000 c=c:7000");
});

test("a removed member is no longer connected to, and a new one is known from then on", () => {
  const book = bookOf([memberOf("a"), memberOf("b")]);
  assert.equal(book.minSnapshotIndex("b"), 5);
  assert.deepEqual(book.adopt(configuration("a", "c"), 9), ["b"]);
  assert.deepEqual(book.ids(), ["a", "c"]);
  assert.equal(book.minSnapshotIndex("c"), 9);
  assert.equal(book.minSnapshotIndex("a"), 5);
  book.updateConnections();
  assert.equal(book.peers(), "");
});

test("bug 17: answers of another data directory under a known id do not count, but its other messages do", () => {
  const book = bookOf([memberOf("a"), memberOf("b")]);
  book.refusalCodeFor({ nodeId: "b", storageId: "blank", raftAddr: "b:7000", hasJoined: false }, true);
  for (const type of ["MsgAppResp", "MsgVoteResp", "MsgPreVoteResp", "MsgHeartbeatResp"] as const) {
    assert.equal(book.comesFromMember(message("b", type)), false, type);
  }
  assert.equal(book.comesFromMember(message("b", "MsgApp")), true);
  book.refusalCodeFor({ nodeId: "b", storageId: storageOf("b"), raftAddr: "b:7000", hasJoined: false }, true);
  assert.equal(book.comesFromMember(message("b", "MsgAppResp")), true);
});

test("while no directory of a member is known, only answers of a founder of the cluster count", () => {
  const book = bookOf([memberOf("a"), { ...memberOf("b"), storage: "" }]);
  for (const hasJoined of [false, true, false]) {
    book.refusalCodeFor({ nodeId: "b", storageId: "any", raftAddr: "b:7000", hasJoined }, true);
    for (const type of ["MsgAppResp", "MsgVoteResp", "MsgPreVoteResp", "MsgHeartbeatResp"] as const) {
      assert.equal(book.comesFromMember(message("b", type)), !hasJoined, type);
    }
    assert.equal(book.comesFromMember(message("b", "MsgVote")), true);
  }
});

test("strangers are refused by a node that hears a leader, and heard by one that may be left behind", () => {
  const book = bookOf([memberOf("a"), memberOf("b")]);
  const stranger = { nodeId: "x", storageId: storageOf("x"), raftAddr: "x:7000", hasJoined: false };
  assert.equal(book.refusalCodeFor(stranger, true), "not_a_member");
  assert.equal(book.find("x"), undefined);
  assert.equal(book.refusalCodeFor(stranger, false), undefined);
  assert.equal(book.find("x")?.raft_addr, "x:7000");
  assert.equal(bookOf([]).refusalCodeFor(stranger, true), undefined);
});

test("a member's own report does not replace the address in its row", () => {
  const book = bookOf([memberOf("a"), memberOf("b")]);
  book.refusalCodeFor({ nodeId: "b", storageId: storageOf("b"), raftAddr: "elsewhere:1", hasJoined: false }, true);
  assert.equal(book.find("b")?.raft_addr, "b:7000");
});

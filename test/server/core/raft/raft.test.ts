/** Interface of the core: refused starts, outputs that wait for the disk, ignored messages. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  createMemoryLog,
  createRaft,
  type Entry,
  type MemoryLog,
  type Message,
  type NodeId,
  type Raft,
  type RaftOptions,
} from "../../../../src/server/core/raft/index.ts";
import { type MessageFields, makeMessage } from "../../../../src/server/core/raft/raft-messages.ts";
import { WIDE_LIMITS } from "./node.ts";

const text = (value: string) => new TextEncoder().encode(value);

function configurationOf(voters: readonly NodeId[]) {
  return { voters, votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
}

function nodeOf(voters: readonly NodeId[], more: Partial<RaftOptions> = {}): { raft: Raft; log: MemoryLog } {
  const log = createMemoryLog({ snapshot: { index: 1, term: 1, configuration: configurationOf(voters) } });
  const raft = createRaft({ ...WIDE_LIMITS, random: () => 0, id: voters[0] ?? "a", log, applied: 1, ...more });
  return { raft, log };
}

function message(fields: MessageFields & Partial<Message>): Message {
  return makeMessage({ from: "b", term: 2, ...fields });
}

function entry(index: number, term: number, data = ""): Entry {
  return { index, term, kind: "normal", data: text(data) };
}

/** Makes everything durable and applied at once; returns the sent messages. */
function settle({ raft, log }: { raft: Raft; log: MemoryLog }): readonly Message[] {
  const left: Message[] = [];
  while (raft.hasReady()) {
    const ready = raft.ready();
    left.push(...ready.messages);
    log.append(ready.entries);
    if (ready.hardState !== undefined) log.setHardState(ready.hardState);
    raft.advanceAppend(ready.ack);
    for (const each of ready.messagesAfterAppend) {
      if (each.to === raft.status().id) raft.step(each);
      else left.push(each);
    }
    const last = ready.committedEntries.at(-1);
    if (last !== undefined) raft.advanceApply(last.index);
  }
  return left;
}

function leaderOf(voters: readonly NodeId[], more: Partial<RaftOptions> = {}) {
  const node = nodeOf(voters, more);
  node.raft.campaign();
  for (let round = 0; round < 3; round += 1) {
    for (const { type, to, term, index, entries } of settle(node)) {
      if (type === "MsgPreVote") node.raft.step(message({ type: "MsgPreVoteResp", from: to, to: voters[0]!, term }));
      if (type === "MsgVote") node.raft.step(message({ type: "MsgVoteResp", from: to, to: voters[0]!, term }));
      if (type !== "MsgApp") continue;
      node.raft.step(message({ type: "MsgAppResp", from: to, to: voters[0]!, term, index: index + entries.length }));
    }
  }
  settle(node);
  assert.equal(node.raft.status().role, "leader");
  return node;
}

test("a start from a contradictory state is refused", () => {
  assert.throws(() => nodeOf(["a"], { applied: 0 }), /applied is 0, but the log begins at 2/);
  assert.throws(() => nodeOf(["a"], { applied: 5 }), /commit index 5 is beyond the last index 1/);
  assert.throws(() => nodeOf(["a"], { electionTicks: 1 }), RangeError);
  assert.throws(() => nodeOf(["a"], { heartbeatTicks: 0 }), RangeError);
  assert.throws(() => nodeOf(["a"], { maxInflightMessages: 0 }), RangeError);
});

test("applied entries count as committed even if the commit index was not synced", () => {
  const log = createMemoryLog({ snapshot: { index: 1, term: 1, configuration: configurationOf(["a"]) } });
  log.append([entry(2, 1), entry(3, 1)]);
  const raft = createRaft({ ...WIDE_LIMITS, random: () => 0, id: "a", log, applied: 3 });
  assert.equal(raft.status().commit, 3);
  const ready = raft.ready();
  assert.deepEqual(ready.hardState, { term: 1, vote: undefined, commit: 3 });
  assert.equal(ready.mustSync, false);
  assert.deepEqual(ready.committedEntries, []);
});

test("nothing is pending at the start, and each item is handed out once", () => {
  const { raft } = nodeOf(["a", "b", "c"]);
  assert.equal(raft.hasReady(), false);
  raft.campaign();
  assert.equal(raft.hasReady(), true);
  assert.deepEqual(raft.ready().softState, { lead: undefined, role: "pre-candidate" });
  assert.equal(raft.hasReady(), false);
});

test("votes and answers wait for the disk, and a leader's appends and heartbeats do not", () => {
  const candidate = nodeOf(["a", "b", "c"]);
  candidate.raft.campaign();
  const asked = candidate.raft.ready();
  assert.deepEqual(asked.messages, []);
  assert.deepEqual(
    asked.messagesAfterAppend.map(({ type, to }) => [type, to]),
    [
      ["MsgPreVoteResp", "a"],
      ["MsgPreVote", "b"],
      ["MsgPreVote", "c"],
    ],
  );
  const leader = leaderOf(["a", "b", "c"]);
  leader.raft.propose(text("x"));
  leader.raft.propose(text("y"));
  leader.raft.tick();
  const ready = leader.raft.ready();
  assert.deepEqual(
    ready.messages.map(({ type, to }) => [type, to]),
    [
      ["MsgHeartbeat", "b"],
      ["MsgHeartbeat", "c"],
      ["MsgApp", "b"],
      ["MsgApp", "c"],
    ],
  );
  assert.deepEqual(
    ready.messagesAfterAppend.map(({ type, to, index }) => [type, to, index]),
    [["MsgAppResp", "a", 4]],
  );
  assert.equal(ready.mustSync, true);
});

test("the answer to a heartbeat waits until its term is durable, and no longer", () => {
  const { raft } = nodeOf(["a", "b", "c"]);
  raft.step(message({ type: "MsgHeartbeat", to: "a", term: 7 }));
  const first = raft.ready();
  assert.deepEqual([first.messages.length, first.messagesAfterAppend.length, first.mustSync], [0, 1, true]);
  raft.step(message({ type: "MsgHeartbeat", to: "a", term: 7 }));
  const early = raft.ready();
  assert.deepEqual([early.messages.length, early.messagesAfterAppend.length, early.mustSync], [0, 1, false]);
  raft.advanceAppend(first.ack);
  raft.step(message({ type: "MsgHeartbeat", to: "a", term: 7 }));
  const late = raft.ready();
  assert.deepEqual([late.messages.length, late.messagesAfterAppend.length], [1, 0]);
});

test("a snapshot is never handed out with entries, and messages about those wait with them", () => {
  const { raft, log } = nodeOf(["a", "b", "c"]);
  const snapshot = { index: 9, term: 2, configuration: configurationOf(["a", "b", "d"]) };
  raft.step(message({ type: "MsgSnap", to: "a", snapshot }));
  raft.step(message({ type: "MsgApp", to: "a", logTerm: 2, index: 9, entries: [entry(10, 2)], commit: 10 }));
  const first = raft.ready();
  assert.equal(first.snapshot, snapshot);
  assert.deepEqual([first.entries, first.messagesAfterAppend, first.committedEntries], [[], [], []]);
  assert.deepEqual(first.hardState, { term: 2, vote: undefined, commit: 10 });
  const second = raft.ready();
  assert.deepEqual(second.entries, [entry(10, 2)]);
  assert.deepEqual(
    second.messagesAfterAppend.map(({ type, index }) => [type, index]),
    [
      ["MsgAppResp", 9],
      ["MsgAppResp", 10],
    ],
  );
  log.installSnapshot(snapshot);
  raft.advanceAppend(first.ack);
  log.append(second.entries);
  raft.advanceAppend(second.ack);
  assert.deepEqual(raft.ready().committedEntries, [], "the snapshot is not applied yet");
  assert.deepEqual(raft.status().configuration.voters, ["a", "b", "c"]);
  raft.advanceApply(9);
  assert.deepEqual(raft.status().configuration.voters, ["a", "b", "d"]);
  assert.deepEqual(raft.ready().committedEntries, [entry(10, 2)]);
});

test("entries not handed out cannot be applied, and an impossible committed change is a fault", () => {
  const { raft } = nodeOf(["a"]);
  assert.throws(() => raft.advanceApply(2), RangeError);
  const leave = { transition: "auto", changes: [], context: text("") } as const;
  assert.throws(() => raft.applyConfChange(leave), /refused: not-joint/);
});

test("a message that is malformed or for another node is ignored", () => {
  const { raft } = nodeOf(["a", "b", "c"]);
  const before = raft.status();
  const bad: readonly Message[] = [
    message({ type: "MsgHeartbeat", to: "b" }),
    message({ type: "MsgHeartbeat", to: "a", term: 0 }),
    message({ type: "MsgSnap", to: "a" }),
    message({ type: "MsgReadIndex", to: "a", context: text("x") }),
    message({ type: "MsgReadIndexResp", to: "a", term: 0 }),
    message({ type: "MsgApp", to: "a", logTerm: 1, index: 1, entries: [entry(3, 2)] }),
    message({ type: "MsgApp", to: "a", logTerm: 1, index: 1, entries: [entry(2, 2), entry(3, 1)] }),
    message({ type: "MsgApp", to: "a", logTerm: 1, index: 1, entries: [entry(2, 9)] }),
    message({ type: "MsgApp", to: "a", logTerm: 9, index: 1 }),
    message({ type: "MsgAppResp", from: "stranger", to: "a", term: 9, index: 1 }),
    message({ type: "MsgHeartbeatResp", from: "stranger", to: "a", term: 9 }),
    message({ type: "MsgReadIndexResp", from: "stranger", to: "a", term: 0, index: 1, context: text("x") }),
  ];
  for (const each of bad) raft.step(each);
  assert.deepEqual(raft.status(), before);
  assert.equal(raft.hasReady(), false);
});

test("a heartbeat's commit index beyond the log is ignored", () => {
  const { raft } = nodeOf(["a", "b", "c"]);
  raft.step(message({ type: "MsgHeartbeat", to: "a", commit: 5 }));
  assert.equal(raft.status().commit, 1);
});

test("a read without a known leader is dropped, and one of a nonmember is ignored", () => {
  const follower = nodeOf(["a", "b", "c"]);
  follower.raft.readIndex(text("r"));
  assert.equal(follower.raft.hasReady(), false);
  const leader = leaderOf(["a", "b", "c"]);
  leader.raft.step(message({ type: "MsgReadIndex", from: "stranger", to: "a", term: 0, context: text("r") }));
  assert.equal(leader.raft.hasReady(), false);
});

test("waiting reads are limited, before the first commit and after", () => {
  const leader = leaderOf(["a", "b", "c"]);
  for (let n = 0; n < 1_500; n += 1) leader.raft.readIndex(text(`r${n}`));
  const { messages } = leader.raft.ready();
  const round = messages.find(({ type }) => type === "MsgHeartbeat")?.context;
  assert.equal(messages.length, 2, "one round for all");
  leader.raft.step(message({ type: "MsgHeartbeatResp", to: "a", context: round }));
  assert.equal(leader.raft.ready().readStates.length, 1_024);

  const fresh = nodeOf(["a"]);
  fresh.raft.campaign();
  for (let n = 0; n < 2; n += 1) {
    const ready = fresh.raft.ready();
    if (ready.hardState !== undefined) fresh.log.setHardState(ready.hardState);
    fresh.raft.advanceAppend(ready.ack);
    for (const each of ready.messagesAfterAppend) fresh.raft.step(each);
  }
  assert.equal(fresh.raft.status().role, "leader");
  for (let n = 0; n < 1_500; n += 1) fresh.raft.readIndex(text(`r${n}`));
  const ready = fresh.raft.ready();
  assert.deepEqual(ready.readStates, []);
  fresh.log.append(ready.entries);
  fresh.raft.advanceAppend(ready.ack);
  for (const each of ready.messagesAfterAppend) fresh.raft.step(each);
  const { readStates } = fresh.raft.ready();
  assert.deepEqual([readStates.length, readStates[0]?.index], [1_024, 2]);
});

test("the answer of one round does not count for a later one", () => {
  const leader = leaderOf(["a", "b", "c"]);
  const roundOf = (context: string) => {
    leader.raft.readIndex(text(context));
    return leader.raft.ready().messages[0]?.context;
  };
  const first = roundOf("first");
  const second = roundOf("second");
  leader.raft.step(message({ type: "MsgHeartbeatResp", to: "a", context: first }));
  const states = leader.raft.ready().readStates.map(({ context }) => new TextDecoder().decode(context));
  assert.deepEqual(states, ["first"]);
  leader.raft.step(message({ type: "MsgHeartbeatResp", to: "a", context: text("other bytes") }));
  assert.equal(leader.raft.hasReady(), false);
  leader.raft.step(message({ type: "MsgHeartbeatResp", from: "c", to: "a", context: second }));
  assert.equal(leader.raft.ready().readStates.length, 1);
});

test("an invalid change is refused before it is appended", () => {
  const leader = leaderOf(["a"]);
  const propose = (type: "add-node" | "remove-node", nodeId: NodeId, count = 1) =>
    leader.raft.proposeConf({
      transition: "auto",
      changes: Array.from({ length: count }, () => ({ type, nodeId })),
      context: text(""),
    });
  const invalid = { kind: "refused", reason: "invalid" };
  assert.deepEqual(propose("remove-node", "a"), invalid);
  assert.deepEqual(propose("add-node", ""), invalid);
  assert.deepEqual(propose("add-node", "b", 257), invalid);
  assert.equal(propose("add-node", "b").kind, "appended");
});

test("the election timeout is drawn in [T, 2T) at every reset", () => {
  const drawn = [0, 0.999, 0.5];
  const { raft } = nodeOf(["a", "b"], { electionTicks: 10, random: () => drawn.shift() ?? 0 });
  const ticksToCampaign = () => {
    for (let ticks = 1; ; ticks += 1) {
      raft.tick();
      if (raft.status().role === "pre-candidate") return ticks;
    }
  };
  assert.equal(ticksToCampaign(), 10);
  raft.step(message({ type: "MsgHeartbeat", to: "a", term: 5 }));
  assert.equal(raft.status().role, "follower");
  assert.equal(ticksToCampaign(), 15);
});

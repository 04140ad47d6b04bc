/**
 * Two logs with the same entry positions but different content, as caused by a majority with old copies of its disks.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  createMemoryLog,
  createRaft,
  type Entry,
  type MemoryLog,
  type Message,
  type Raft,
} from "../../../../src/server/core/raft/index.ts";
import { makeMessage } from "../../../../src/server/core/raft/raft-messages.ts";
import { WIDE_LIMITS } from "./node.ts";

const VOTERS = { voters: ["a", "b", "c"], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };

/** Parses `term:data`, from index 2 on; without data it is a leader's first entry. */
function entriesOf(texts: readonly string[]): readonly Entry[] {
  return texts.map((each, at) => {
    const [term, data] = each.split(":");
    return { index: at + 2, term: Number(term), kind: "normal", data: Buffer.from(data ?? "") };
  });
}

interface Node {
  readonly raft: Raft;
  readonly log: MemoryLog;
}

interface NodeContents {
  readonly texts: readonly string[];
  readonly term: number;
  readonly commit: number;
  readonly maxMessageBytes?: number;
}

function nodeOf(
  id: string,
  { texts, term, commit, maxMessageBytes = WIDE_LIMITS.maxMessageBytes }: NodeContents,
): Node {
  const log = createMemoryLog({ snapshot: { index: 1, term: 1, configuration: VOTERS } });
  log.append(entriesOf(texts));
  log.setHardState({ term, vote: undefined, commit });
  return { raft: createRaft({ ...WIDE_LIMITS, maxMessageBytes, random: () => 0, id, log, applied: 1 }), log };
}

/** Makes everything durable and applied at once; returns the sent messages. */
function settle({ raft, log }: Node): readonly Message[] {
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

/** Leads with the votes of `c`, which agrees to everything. */
function lead(node: Node, writes: readonly string[]): void {
  const { raft } = node;
  raft.campaign();
  const answer = (): void => {
    for (const { type, to, term, index, entries } of settle(node)) {
      if (to !== "c") continue;
      const from = { from: "c", to: "a", term } as const;
      if (type === "MsgPreVote") raft.step(makeMessage({ ...from, type: "MsgPreVoteResp" }));
      if (type === "MsgVote") raft.step(makeMessage({ ...from, type: "MsgVoteResp" }));
      if (type === "MsgApp") raft.step(makeMessage({ ...from, type: "MsgAppResp", index: index + entries.length }));
    }
  };
  for (let round = 0; round < 3; round += 1) answer();
  for (const write of writes) raft.propose(Buffer.from(write));
  for (let round = 0; round < 3; round += 1) answer();
  assert.equal(raft.status().role, "leader");
}

/** Exchanges this many heartbeats between the two. */
function exchangeMessages(a: Node, b: Node): void {
  for (let beat = 0; beat < 6; beat += 1) {
    a.raft.tick();
    for (let round = 0; round < 4; round += 1) {
      for (const each of settle(a)) if (each.to === "b") b.raft.step(each);
      for (const each of settle(b)) if (each.to === "a") a.raft.step(each);
    }
  }
}

const textsOf = ({ log }: Node): readonly string[] =>
  log
    .entries(2, log.lastIndex() + 1, Number.MAX_SAFE_INTEGER)
    .map(({ term, data }) => `${term}:${Buffer.from(data).toString()}`);

const LOST = ["2:", "2:x", "3:", "3:kept-1", "3:kept-2", "3:kept-3"];

for (const { title, leads, writes, commit, maxMessageBytes } of [
  {
    title: "the second leader of the term wrote more",
    leads: { texts: ["2:", "2:x"], term: 2 },
    writes: ["other-1", "other-2", "other-3", "other-4", "other-5"],
    commit: 7,
  },
  {
    title: "the second leader of the term wrote less, with one entry alone in a message",
    leads: { texts: ["2:", "2:x"], term: 2 },
    writes: ["other-1", "other-2", "other-3", "other-4"],
    commit: 7,
    maxMessageBytes: 1,
  },
  {
    title: "acknowledged entries were not known to be committed",
    leads: { texts: ["2:", "2:x"], term: 2 },
    writes: ["other-1", "other-2", "other-3"],
    commit: 3,
  },
  {
    title: "one entry differs, under a leader of a later term",
    leads: { texts: [...LOST.slice(0, -1), "3:other"], term: 3 },
    writes: ["later"],
    commit: 7,
  },
  {
    title: "the leader's log is shorter",
    leads: { texts: LOST.slice(0, 4), term: 3 },
    writes: [],
    commit: 7,
  },
]) {
  test(`both sides report logs with the same indexes and terms but different entries: ${title}`, () => {
    const a = nodeOf("a", { ...leads, commit: 2, ...(maxMessageBytes !== undefined && { maxMessageBytes }) });
    const b = nodeOf("b", { texts: LOST, term: 3, commit });
    lead(a, writes);
    exchangeMessages(a, b);
    assert.equal(a.raft.status().loss?.heldBy, "b");
    assert.notEqual(b.raft.status().loss, undefined);
    assert.deepEqual(textsOf(b), LOST, "nothing is mixed");
    assert.equal(a.raft.status().progress.get("b")?.match, 0, "nor counted");
  });
}

test("equal logs, a shorter log, and uncommitted extra entries are not a loss", () => {
  for (const texts of [LOST, LOST.slice(0, 3), [], [...LOST.slice(0, 3), "3:kept-1"], ["2:", "2:x", "2:alone"]]) {
    const a = nodeOf("a", { texts: LOST, term: 3, commit: 5 });
    const b = nodeOf("b", { texts, term: 3, commit: 1 });
    lead(a, ["later"]);
    exchangeMessages(a, b);
    assert.equal(a.raft.status().loss, undefined, String(texts));
    assert.equal(b.raft.status().loss, undefined, String(texts));
    assert.deepEqual(textsOf(b), [...LOST, "4:", "4:later"]);
  }
});

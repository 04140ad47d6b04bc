/**
 * The invariants of a whole cluster, over everything that happened in a run.
 *
 * Source: dissertation, figure 3.2. Election safety, log matching, leader completeness and state machine safety; terms
 * and commit indexes never fall; at most one vote per term, across crashes; reads see everything committed before them;
 * and no message relies on a log or term that is not durable.
 */

import assert from "node:assert/strict";
import type { Entry, Message, NodeId } from "../../../../src/server/core/raft/index.ts";
import type { Node } from "./node.ts";

interface Checker {
  /** Called after every event on a node. */
  look(node: Node): void;
  append(node: Node, entries: readonly Entry[]): void;
  apply(entry: Entry): void;
  /** Called when a message leaves `from`: everything it states must be durable there. */
  leave(message: Message, from: Node): void;
  restart(node: Node): void;
  committed(): number;
  terms(): number;
}

export function createChecker(): Checker {
  const leaders = new Map<number, NodeId>();
  /** Entry and previous term, by index and term. */
  const entriesSeen = new Map<string, string>();
  const appliedSeen = new Map<number, string>();
  const votes = new Map<string, NodeId>();
  const lastSeen = new Map<NodeId, { term: number; commit: number }>();
  let committed = 0;

  return {
    look(node) {
      const status = node.raft.status();
      const last = lastSeen.get(node.id);
      if (last !== undefined) {
        assert.ok(status.term >= last.term, `node ${node.id}: term fell from ${last.term} to ${status.term}`);
        assert.ok(status.commit >= last.commit, `node ${node.id}: commit fell from ${last.commit} to ${status.commit}`);
      }
      lastSeen.set(node.id, { term: status.term, commit: status.commit });
      committed = Math.max(committed, status.commit);
      if (status.role !== "leader") return;
      const known = leaders.get(status.term);
      assert.ok(known === undefined || known === node.id, `term ${status.term} has leaders ${known} and ${node.id}`);
      for (const [id, progress] of status.progress) {
        assert.ok(progress.next > progress.match, `node ${node.id}: next <= match of ${id}`);
        assert.ok(progress.match <= status.lastIndex, `node ${node.id}: match of ${id} is beyond the log`);
      }
      if (known !== undefined) return;
      leaders.set(status.term, node.id);
      for (const [index, text] of appliedSeen) {
        if (index < node.log.firstIndex()) continue;
        const term = node.log.term(index);
        assert.equal(term, Number(text.split("/")[0]), `leader ${node.id} of term ${status.term} lacks entry ${index}`);
      }
    },
    append(node, entries) {
      for (const entry of entries) {
        const before = node.log.term(entry.index - 1);
        const key = `${entry.index}/${entry.term}`;
        const text = `${before} ${entry.kind} ${Buffer.from(entry.data).toString("latin1")}`;
        const known = entriesSeen.get(key);
        assert.ok(known === undefined || known === text, `entry ${key} differs: ${known} and ${text}`);
        entriesSeen.set(key, text);
      }
    },
    apply(entry) {
      const text = `${entry.term}/${entry.kind}/${Buffer.from(entry.data).toString("latin1")}`;
      const known = appliedSeen.get(entry.index);
      assert.ok(known === undefined || known === text, `index ${entry.index} applied as ${known} and ${text}`);
      appliedSeen.set(entry.index, text);
    },
    leave(message, from) {
      const { term } = from.log.initialState().hardState;
      if (restsOnTerm(message)) assert.ok(term >= message.term, `${message.type} of term ${message.term} at ${term}`);
      const last = message.type === "MsgVote" || (message.type === "MsgAppResp" && !message.reject) ? message.index : 0;
      assert.ok(from.log.lastIndex() >= last, `${message.type} for ${last} at ${from.log.lastIndex()}`);
      if (message.type !== "MsgVoteResp" || message.reject) return;
      const key = `${message.from}/${message.term}`;
      const known = votes.get(key);
      assert.ok(known === undefined || known === message.to, `node ${key} voted for ${known} and ${message.to}`);
      votes.set(key, message.to);
    },
    restart(node) {
      // The commit index is not synced, and an unpublished term may be lost.
      lastSeen.delete(node.id);
    },
    committed: () => committed,
    terms: () => leaders.size,
  };
}

/** A pre-vote has a term that nobody has reached, and a leader's own messages have one in which it was elected. */
function restsOnTerm({ type }: Message): boolean {
  return type === "MsgVote" || type === "MsgVoteResp" || type === "MsgAppResp" || type === "MsgHeartbeatResp";
}

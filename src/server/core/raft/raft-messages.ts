/**
 * Creates and checks messages between nodes, and decides which of them wait for the disk.
 *
 * Source: cluster reference, section 2.2. Statements of a node about its own log, term or vote must survive a crash: such
 * messages are sent after the appends of the same or an earlier `Ready` are durable. MsgVote waits too (its index counts entries
 * that may not be durable yet), unlike in etcd's raft. Messages of a leader may be sent at once.
 */

import type { Message, MessageType } from "./types.ts";

/** Fields that a sender sets; the others are empty. */
export type MessageFields = Pick<Message, "type" | "to"> & Partial<Message>;

export function makeMessage(fields: MessageFields & Pick<Message, "from" | "term">): Message {
  return {
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
    ...fields,
  };
}

/** Returns whether the message depends on the sender's own log or vote. MsgHeartbeatResp depends only on the term. */
export function waitsForAppend(type: MessageType): boolean {
  switch (type) {
    case "MsgAppResp":
    case "MsgVote":
    case "MsgVoteResp":
    case "MsgPreVote":
    case "MsgPreVoteResp":
      return true;
    case "MsgApp":
    case "MsgHeartbeat":
    case "MsgHeartbeatResp":
    case "MsgSnap":
    case "MsgTimeoutNow":
    case "MsgReadIndex":
    case "MsgReadIndexResp":
      return false;
    default:
      return type satisfies never;
  }
}

/**
 * Returns whether a peer's message is well formed: entries of a MsgApp follow `index` without gaps, their terms do not
 * decrease, and none exceeds the message's term.
 */
export function isWellFormed(message: Message): boolean {
  const { type, term, index, logTerm, entries } = message;
  const isOfNoTerm = type === "MsgReadIndex" || type === "MsgReadIndexResp";
  if (isOfNoTerm ? term !== 0 || message.context === undefined : term < 1) return false;
  if (type === "MsgSnap") return message.snapshot !== undefined;
  if (type !== "MsgApp") return true;
  let previousTerm = logTerm;
  for (let i = 0; i < entries.length; i += 1) {
    const entry = entries[i]!;
    if (entry.index !== index + 1 + i || entry.term < previousTerm) return false;
    previousTerm = entry.term;
  }
  return previousTerm <= term;
}

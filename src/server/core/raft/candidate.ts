/** Handles messages on candidates and pre-candidates: counts votes, and follows a leader of the same term. */

import { becomeFollower, type Core } from "./core.ts";
import { countVote } from "./election.ts";
import { stepFollower } from "./follower.ts";
import type { Message } from "./types.ts";

export function stepCandidate(core: Core, message: Message): void {
  switch (message.type) {
    case "MsgApp":
    case "MsgHeartbeat":
    case "MsgSnap":
      becomeFollower(core, message.term, message.from);
      stepFollower(core, message);
      return;
    case "MsgPreVoteResp":
    case "MsgVoteResp":
      countVote(core, message);
      return;
    default:
  }
}

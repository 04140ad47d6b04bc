/** Candidates and pre-candidates: count votes, and follow a leader of their term if there is one. */

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

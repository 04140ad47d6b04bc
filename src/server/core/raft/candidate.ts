/** What a candidate or pre-candidate does: it counts votes, and follows a leader of its term when there is one. */

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

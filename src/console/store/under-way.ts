/** What is said of a change that has not come back yet. */

import { LEADER_WAIT_MS } from "../../admin-api/index.ts";
import type { State } from "../model/state.ts";

/**
 * Without a leader the gateway looks for one for a while and then refuses, with nothing done: the seconds are counted
 * down, so that nobody wonders whether it hangs.
 */
export function underWayWords({ data, now }: State, since: number): string {
  if (data.get({ id: "get_status" })?.value?.leader !== null) return "under way …";
  const seconds = Math.ceil((since + LEADER_WAIT_MS - now) / 1_000);
  return seconds > 0
    ? `no leader: it is waited for, ${seconds} s more; then it is refused`
    : "no leader: an answer is due, with what is known of the outcome";
}

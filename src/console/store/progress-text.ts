/** Message about a change that is still in progress. */

import { LEADER_WAIT_MS } from "../../admin-api/index.ts";
import type { State } from "../model/state.ts";

/**
 * Returns the message. Without a leader, the gateway waits for one for a limited time and then refuses the request without
 * effect. The message counts down the remaining seconds.
 */
export function progressText({ data, now }: State, since: number): string {
  if (data.get({ id: "get_status" })?.value?.leader !== null) return "running …";
  const seconds = Math.ceil((since + LEADER_WAIT_MS - now) / 1_000);
  return seconds > 0
    ? `no leader: waiting ${seconds} s for one, then the request is refused`
    : "no leader: the gateway answers now with what it knows of the outcome";
}

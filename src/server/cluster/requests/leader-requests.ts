/** Passes requests of the main thread to the leader, which carries them out. */

import type { Log } from "../../../base/index.ts";
import type { RaftStatus } from "../../core/raft/index.ts";
import { ClusterError } from "../cluster-error.ts";
import { readBarrier, type SubmitPorts, submit } from "../consensus/submit.ts";
import type { Replica } from "../replica-types.ts";
import type { Requests } from "./cluster-requests.ts";

type LeaderRequests = Pick<Replica, "write" | "readBarrier" | "prune" | "remove" | "transfer">;

export function createLeaderRequests(ports: SubmitPorts, { askLeader }: Requests): LeaderRequests {
  return {
    async write(command, timeoutMs, waitsForApply) {
      const { result } = await submit(command, timeoutMs, ports, waitsForApply);
      if (result === undefined) throw new ClusterError("invalid", "the write is not a command");
      return result;
    },
    async readBarrier(timeoutMs) {
      await readBarrier(timeoutMs, ports);
    },
    async prune(keep, timeoutMs) {
      await askLeader("prune", { keep }, timeoutMs);
    },
    async remove(id, timeoutMs) {
      await askLeader("remove", { id }, timeoutMs);
    },
    async transfer(to, timeoutMs) {
      return String((await askLeader("transfer", to === undefined ? {} : { to }, timeoutMs))["leader"]);
    },
  };
}

const HAND_OVER_TIMEOUT_MS = 3_000;

/** Hands leadership over if this node leads and another can take it. Never rejects. */
export async function handOverLeadership(
  { role, id: self, configuration }: RaftStatus,
  isHeard: (id: string) => boolean,
  { askLeader }: Requests,
  log: Log,
): Promise<void> {
  if (role !== "leader" || !configuration.voters.some((id) => id !== self && isHeard(String(id)))) return;
  try {
    await askLeader("transfer", {}, HAND_OVER_TIMEOUT_MS);
  } catch (error) {
    log.warn("leadership was not handed over", { error });
  }
}

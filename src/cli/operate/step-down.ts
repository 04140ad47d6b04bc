/**
 * `gateway cluster step-down`: hands leadership over before a node is stopped. It does nothing on a node that does not lead,
 * so a hook that stops any node may run it.
 */

import { AdminError } from "../../admin-api/index.ts";
import { escapeControls, pause } from "../../base/index.ts";
import type { FlagsOf } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import type { stepDownFlags } from "./operate-flags.ts";
import { type GatewayConnection, withGateway } from "./with-gateway.ts";

/** Limit of one call, in milliseconds. An election takes less, and the hook of a stop must not use up its grace period. */
const CALL_LIMIT_MS = 5_000;

export const stepDown = {
  run: (options: FlagsOf<typeof stepDownFlags>, _: readonly string[], io: Io): Promise<ExitStatus> =>
    withGateway("cluster step-down", options, io, async (called) => {
      io.stderr.write(`${escapeControls(await handOver(called, io))}\n`);
      await pause(options.linger, io.signal);
      io.signal.throwIfAborted();
      return 0;
    }),
};

async function handOver({ client }: GatewayConnection, io: Io): Promise<string> {
  const limits = { signal: io.signal, timeLimitMs: CALL_LIMIT_MS };
  const { node, leader } = await client.call("get_status", {}, limits);
  if (leader !== node) {
    return `${node} does not lead: ${leader === null ? "it knows no leader" : `the leader is ${leader}`}. Nothing was changed.`;
  }
  const { items } = await client.call("list_cluster_members", {}, limits);
  if (!items.some(({ id, voter, state }) => voter && id !== node && state === "reachable")) {
    return `${node} reaches no other voting member, so it stays the leader.`;
  }
  const after = await client.call("transfer_leader", { body: {} }, limits).catch(async (error: unknown) => {
    if (!(error instanceof AdminError && error.code === "timeout")) throw error;
    // A node with a slow disk can hand over in time and still answer late.
    const now = await client.call("get_status", {}, limits);
    if (now.leader === null || now.leader === node) throw error;
    return now;
  });
  return `${node} handed leadership over to ${after.leader}.`;
}

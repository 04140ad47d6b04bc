/** Governance in a worker: rows that follow the node's, its own token verification, and ports to the node. */
import type { Clock, Instruments, Lifetime, Log } from "../../../base/index.ts";
import { createCallers } from "../../auth/index.ts";
import type { NodeFile } from "../../core/config/index.ts";
import type { GovernancePorts } from "../../dataplane/index.ts";
import { type Channel, followRows, type NodeStateSource, sendKeyUse } from "../../workers/index.ts";
import { openSuspensions } from "../governance/suspension-rows.ts";
import { openTokens, type TokenVerifiers } from "../governance/token-verifiers.ts";
import { openKeyStore } from "../governance/virtual-keys.ts";

interface WorkerGovernanceOptions {
  readonly channel: Channel;
  readonly node: NodeStateSource;
  readonly clock: Clock;
  readonly nodeFile: NodeFile;
  /** Path of the node file. */
  readonly path: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly instruments: Instruments;
  readonly log: Log;
}

/** Opens callers and suspensions that follow the node's; `owner` closes them. */
export function openWorkerGovernance(
  { channel, node, clock, nodeFile, path, env, instruments, log }: WorkerGovernanceOptions,
  owner: Lifetime,
): {
  readonly tokens: TokenVerifiers;
  readonly governancePorts: Omit<GovernancePorts, "budgets" | "trail" | "ledger">;
} {
  const view = followRows(channel, (error) => log.error("a change of the state could not be processed", { error }));
  const tokens = openTokens({ nodeFile, path, env, clock, instruments, log }, owner);
  channel.on("node_file", (next) => tokens.setNodeFile(next as NodeFile));
  return {
    tokens,
    governancePorts: {
      callers: createCallers({
        keys: openKeyStore(view),
        verifier: tokens.verifier,
        clock,
        instruments,
        onKeyUse: sendKeyUse(channel),
      }),
      issuerUrl: (name) => tokens.issuer(name)?.url,
      suspensions: openSuspensions(view, clock),
      isRemoved: () => node.read().isRemoved,
      onWithdrawal(listener) {
        const unwatch = ["key/", "susp/"].map((table) => view.watch(table, listener));
        const ends = [...unwatch, node.onChange(listener)];
        return () => {
          for (const end of ends) end();
        };
      },
    },
  };
}

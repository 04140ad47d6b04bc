/** Reports the usage of this node's callers to the cluster: one write is one command, and the ledger numbers its reports. */
import type { Cluster } from "../../cluster/index.ts";
import { commands, featureRowKey, isRollDue, LEDGER_LEVEL, readFeatureLevel } from "../../core/state/index.ts";
import type { AddOutcome, LedgerReports } from "../../usage/index.ts";
import { incarnationPorts } from "./usage-reports.ts";

const BY_LEDGER = { iss: "gateway", sub: "usage" } as const;
const REPORT_TIMEOUT_MS = 10_000;

export function ledgerReports(
  cluster: Pick<Cluster, "view" | "status" | "onStatus" | "write">,
  now: () => number,
): LedgerReports {
  const { view } = cluster;
  const { nodeId } = cluster.status();
  return {
    ...incarnationPorts(cluster),
    async add(inc, seq, report, signal) {
      const command = commands.usedAdd({ node: nodeId, inc, seq, ...report });
      const result = await cluster.write(command, { by: BY_LEDGER, timeoutMs: REPORT_TIMEOUT_MS, signal });
      return result.kind === "ok" ? outcomeIn(result.value) : result;
    },
    takesReports: () => readFeatureLevel(view.get(featureRowKey)) >= LEDGER_LEVEL,
    hasLeader: () => cluster.status().leaderId !== undefined,
    mustRollUp: () => cluster.status().role === "leader" && isRollDue(view, now()),
  };
}

function outcomeIn(value: unknown): AddOutcome {
  const { added, last } = value as { readonly added: boolean; readonly last: number };
  return added ? { kind: "added" } : { kind: "known", last };
}

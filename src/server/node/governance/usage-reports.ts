/**
 * Reports this node's spending to the cluster. One write is one command under one sequence, which the cluster resends until its
 * outcome is known, so that no request for units is granted twice (core/budgets/reporting.ts).
 *
 * The incarnation is this process's own: a row from an earlier process, left on disk or in the log, would give its grants to
 * this one. Source: cluster reference, 7.2.
 */
import type { Cluster } from "../../cluster/index.ts";
import {
  commands,
  featureRowKey,
  memberRowKey,
  PLEDGES_LEVEL,
  readFeatureLevel,
  readMember,
  type UsageAnswer,
} from "../../core/state/index.ts";
import type { UsageReports } from "../../dataplane/index.ts";

const BY_BUDGETS = { iss: "gateway", sub: "budgets" } as const;
/** Upper limit of a report, in milliseconds; the reporter gives up earlier, through a signal. */
const REPORT_TIMEOUT_MS = 5_000;

export function usageReports(
  cluster: Pick<Cluster, "view" | "status" | "onStatus" | "logNow" | "write">,
): UsageReports {
  const { view } = cluster;
  const { nodeId } = cluster.status();
  return {
    async report({ inc, rows }, signal) {
      const command = commands.usageReport({ node: nodeId, inc, rows });
      const options = { by: BY_BUDGETS, timeoutMs: REPORT_TIMEOUT_MS, signal };
      // The answer has everything that the ledger needs, and a quorum has stored it: requests do not wait for this node's disk.
      const result = await cluster.write(command, { ...options, waitsForApply: false });
      return result.kind === "ok" ? { kind: "answered", rows: rowsIn(result.value) } : result;
    },
    ...incarnationPorts(cluster),
    logNow: () => cluster.logNow(),
    takesPledges: () => readFeatureLevel(view.get(featureRowKey)) >= PLEDGES_LEVEL,
    hasLeader: () => cluster.status().leaderId !== undefined,
  };
}

/** Returns the start number of this process in the cluster. */
export function incarnationPorts({ view, status, onStatus }: Pick<Cluster, "view" | "status" | "onStatus">) {
  const key = memberRowKey(status().nodeId);
  return {
    incarnation(): number {
      const { incarnation: ownIncarnation } = status();
      const row = view.get(key);
      const incarnation = row === undefined ? 0 : readMember(row).incarnation;
      return ownIncarnation > 0 && incarnation >= ownIncarnation ? incarnation : 0;
    },
    onIncarnation(listener: () => void): () => void {
      // The row changes on a removal, a start and a restored state; the status shows when this process's start is known.
      const unwatch = view.watch(key, listener);
      const unlisten = onStatus(listener);
      return () => {
        unwatch();
        unlisten();
      };
    },
  };
}

/**
 * Returns the rows of an answer. A repeated command has none if they were too long to be remembered; the next report returns the
 * same rows.
 */
function rowsIn(value: unknown): readonly UsageAnswer[] {
  const { rows } = (value ?? {}) as { readonly rows?: readonly UsageAnswer[] };
  return rows ?? [];
}

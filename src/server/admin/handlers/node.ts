/** The queried node, and the caller. */

import { FEATURE_RANGE, featureLevelStatus, featureLevelWaitText } from "../../core/state/index.ts";
import { type Handlers, rfc3339 } from "../handler-types.ts";

export const nodeHandlers: Pick<Handlers, "get_status" | "get_whoami"> = {
  async get_status(_call, { cluster, facts, rows }) {
    const status = cluster.status();
    const { ready, reasons } = facts.readiness();
    const levelStatus = featureLevelStatus(cluster.view);
    return {
      value: {
        node: status.nodeId,
        version: facts.version,
        started_at: rfc3339(facts.startedAt),
        uptime_seconds: Math.floor(facts.uptimeMs() / 1_000),
        role: status.role,
        leader: status.leaderId ?? null,
        term: status.term,
        // The status may be a second old, while the view is current and may be ahead of it.
        commit_index: Math.max(status.commit, cluster.view.appliedIndex),
        applied_index: cluster.view.appliedIndex,
        cluster_id: status.clusterId ?? null,
        ready,
        reasons,
        listeners: facts.listeners(),
        configuration: facts.configuration(),
        feature: {
          level: levelStatus.level,
          highest: FEATURE_RANGE.max,
          waiting: featureLevelWaitText(levelStatus) ?? null,
        },
        time: { ahead_ms: status.time.aheadMs, log_ahead_ms: status.time.logAheadMs },
        disk_low: status.isDiskLow,
        models: facts.models(),
        workers: facts.workers(),
        forward_proxies: facts.forwardProxies(),
        certificates: Array.from(
          await rows.certificates.list(),
          ({ names, serial, not_after, next_renewal, last_error }) => ({
            names,
            serial,
            not_after,
            next_renewal,
            last_error,
          }),
        ),
      },
    };
  },
  get_whoami({ principal: { issuer, subject, roles } }) {
    return { value: { issuer, subject, roles } };
  },
};

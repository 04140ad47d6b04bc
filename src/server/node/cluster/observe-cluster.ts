/** Metrics of the cluster. */
import { type Instruments, LATENCY_BOUNDS_SECONDS, type Log } from "../../../base/index.ts";
import type { Cluster, ClusterStatus } from "../../cluster/index.ts";

/** Registers the metrics. `cluster` returns `undefined` while it opens. Returns functions that record timings, in seconds. */
export function observeCluster(
  instruments: Instruments,
  cluster: () => Cluster | undefined,
): { onTiming(fsyncSeconds: readonly number[]): void; onWritten(seconds: number): void } {
  const read = (value: (status: ClusterStatus) => number) => (): number => {
    const open = cluster();
    return open === undefined ? 0 : value(open.status());
  };
  const gauge = (name: string, help: string, value: (status: ClusterStatus) => number): void =>
    instruments.observedGauge(name, help, read(value));
  gauge("gateway_raft_is_leader", "1 on the node that leads.", ({ role }) => (role === "leader" ? 1 : 0));
  gauge("gateway_raft_has_leader", "1 while this node knows a leader.", ({ leaderId }) =>
    leaderId === undefined ? 0 : 1,
  );
  gauge("gateway_raft_is_removed", "1 on a node that was removed from its cluster.", ({ role }) =>
    role === "removed" ? 1 : 0,
  );
  gauge("gateway_raft_term", "Term of consensus.", ({ term }) => term);
  gauge("gateway_raft_commit_index", "Last entry known to be committed.", ({ commit }) => commit);
  gauge("gateway_raft_applied_index", "Last entry applied here.", ({ applied }) => applied);
  gauge("gateway_raft_snapshot_index", "Last entry of the newest snapshot here.", ({ snapshotIndex }) => snapshotIndex);
  gauge("gateway_raft_log_bytes", "Bytes of the log kept here.", ({ logBytes }) => logBytes);
  gauge("gateway_raft_voters", "Voting members.", ({ members }) => members.filter(({ voter }) => voter).length);
  gauge("gateway_raft_learners", "Members that catch up.", ({ members }) => members.filter((it) => !it.voter).length);

  gauge(
    "gateway_clock_ahead_seconds",
    "By how much this node's clock is ahead of the median of the members' clocks; negative behind.",
    ({ time }) => time.aheadMs / 1_000,
  );
  gauge(
    "gateway_raft_log_ahead_seconds",
    "By how much the time of the log is ahead of the members' clocks; 0 within 5 s.",
    ({ time }) => time.logAheadMs / 1_000,
  );

  gauge(
    "gateway_disk_low",
    "1 while too little is free on the disk of `data_dir` for this node to take writes as a leader.",
    ({ isDiskLow }) => (isDiskLow ? 1 : 0),
  );
  gauge("gateway_raft_lost_writes", "1 while acknowledged writes are known to be lost.", ({ loss }) =>
    loss === undefined ? 0 : 1,
  );

  const fsync = instruments.histogram(
    "gateway_raft_fsync_seconds",
    "One durable write of the log.",
    LATENCY_BOUNDS_SECONDS,
    [],
  );
  const fsyncs = fsync.with();
  const writes = instruments
    .histogram(
      "gateway_cluster_write_seconds",
      "From a write on this node until it is committed and its effect is here.",
      LATENCY_BOUNDS_SECONDS,
    )
    .with();
  return {
    onTiming(fsyncSeconds) {
      for (const seconds of fsyncSeconds) fsyncs.observe(seconds);
    },
    onWritten: (seconds) => writes.observe(seconds),
  };
}

/** Makes a node not ready if its cluster has lost acknowledged writes: the configuration it serves may have been undone. */
export function observeLoss(cluster: Pick<Cluster, "onStatus" | "status">, reasons: Set<string>, log: Log): void {
  let lastLoss: string | undefined;
  const follow = ({ loss }: ClusterStatus): void => {
    if (loss === lastLoss) return;
    if (lastLoss !== undefined) reasons.delete(lastLoss);
    if (loss !== undefined) {
      reasons.add(loss);
      log.error(loss);
    }
    lastLoss = loss;
  };
  follow(cluster.status());
  cluster.onStatus(follow);
}

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
  gauge("gateway_raft_is_leader", "1 on the leader.", ({ role }) => (role === "leader" ? 1 : 0));
  gauge("gateway_raft_has_leader", "1 while this node knows a leader.", ({ leaderId }) =>
    leaderId === undefined ? 0 : 1,
  );
  gauge("gateway_raft_is_removed", "1 on a node that was removed from its cluster.", ({ role }) =>
    role === "removed" ? 1 : 0,
  );
  gauge("gateway_raft_term", "Current raft term.", ({ term }) => term);
  gauge(
    "gateway_raft_commit_index",
    "Index of the last raft entry that is known to be committed.",
    ({ commit }) => commit,
  );
  gauge("gateway_raft_applied_index", "Index of the last raft entry that this node applied.", ({ applied }) => applied);
  gauge(
    "gateway_raft_snapshot_index",
    "Index of the last raft entry in this node's newest snapshot.",
    ({ snapshotIndex }) => snapshotIndex,
  );
  gauge("gateway_raft_log_bytes", "Size of this node's raft log in bytes.", ({ logBytes }) => logBytes);
  gauge("gateway_raft_voters", "Voting members.", ({ members }) => members.filter(({ voter }) => voter).length);
  gauge(
    "gateway_raft_learners",
    "Learners: members that are catching up and have no vote yet.",
    ({ members }) => members.filter((it) => !it.voter).length,
  );

  gauge(
    "gateway_clock_ahead_seconds",
    "Seconds by which this node's clock is ahead of the median of the members' clocks; negative if it is behind.",
    ({ time }) => time.aheadMs / 1_000,
  );
  gauge(
    "gateway_raft_log_ahead_seconds",
    "Seconds by which the time of the raft log is ahead of the members' clocks. 0 if it is within 5 s.",
    ({ time }) => time.logAheadMs / 1_000,
  );

  gauge(
    "gateway_disk_low",
    "1 while the disk of `data_dir` has too little free space for this node to accept writes as the leader.",
    ({ isDiskLow }) => (isDiskLow ? 1 : 0),
  );
  gauge("gateway_raft_lost_writes", "1 while the cluster is known to have lost acknowledged writes.", ({ loss }) =>
    loss === undefined ? 0 : 1,
  );

  const fsync = instruments.histogram(
    "gateway_raft_fsync_seconds",
    "Time of one durable write to the raft log.",
    LATENCY_BOUNDS_SECONDS,
    [],
  );
  const fsyncs = fsync.with();
  const writes = instruments
    .histogram(
      "gateway_cluster_write_seconds",
      "Time from a write on this node until it is committed and applied here.",
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

/** Opens the replicated state of a node: cluster, removal gate and sealing keys. */
import type { Lifetime } from "../../base/index.ts";
import { type Cluster, openCluster } from "../cluster/index.ts";
import { createSealedSecrets, type Sealing } from "../secrets/index.ts";
import type { NodeSealing } from "./admin/secrets-port.ts";
import { clusterOptionsOf } from "./cluster/cluster-options.ts";
import { observeCluster, observeLoss } from "./cluster/observe-cluster.ts";
import { openRemovalGate, type RemovalGate } from "./cluster/removal-gate.ts";
import { sealingKeysOf } from "./cluster/sealing-keys.ts";
import { NO_DATA_DIR_MESSAGE } from "./late-data-plane.ts";
import type { NodeSettings } from "./node-settings.ts";
import type { Observed } from "./start.ts";

/** Time to hand leadership over and finish the last writes, in milliseconds. */
const CLUSTER_CLOSE_MS = 20_000;
const HAND_OVER_MS = 5_000;

export interface ReplicatedState {
  readonly cluster: Cluster;
  readonly removal: RemovalGate;
  /** Sealing of secrets; `undefined` on a node without a cluster secret. */
  readonly nodeSealing: NodeSealing | undefined;
}

/** Opens the state; `owner` closes it. Rejects if the data directory or the cluster cannot be opened. */
export async function openReplicatedState(
  { options, nodeFile, keySources, minFreeBytes, dataDir }: NodeSettings,
  { instruments, reasons }: Observed,
  owner: Lifetime,
): Promise<ReplicatedState> {
  const { build, log, signal } = options;
  if (dataDir === undefined) log.info(NO_DATA_DIR_MESSAGE);
  const clusterOptions = clusterOptionsOf(nodeFile, {
    dataDir,
    previousSecret: keySources.previousSecret,
    version: build.version,
    ...(minFreeBytes !== undefined && { minFreeBytes }),
  });
  // The keys are derived while the cluster opens.
  const deriving = sealingKeysOf(keySources);
  deriving.catch(() => undefined);
  reasons.add("cluster");
  let nodeSealing: NodeSealing | undefined;
  let opened: Cluster | undefined;
  const cluster = owner.own(
    "cluster",
    await openCluster(
      {
        ...clusterOptions,
        log,
        ...observeCluster(instruments, () => opened),
        canOpenRing: (row) => nodeSealing?.sealed.canOpenRing(row) ?? false,
      },
      signal,
    ),
    async (it) => {
      await it.handOver(AbortSignal.timeout(HAND_OVER_MS)).catch(() => undefined);
      await it.close();
    },
    { limitMs: CLUSTER_CLOSE_MS },
  );
  opened = cluster;
  reasons.delete("cluster");
  observeLoss(cluster, reasons, log);
  const removal = owner.own("removal gate", openRemovalGate(cluster, reasons), (it) => it.close());
  const keks = await deriving;
  if (keks !== undefined) {
    const sealing: Sealing = { view: cluster.view, ...keks };
    nodeSealing = { sealing, sealed: createSealedSecrets(sealing) };
  }
  return { cluster, removal, nodeSealing };
}

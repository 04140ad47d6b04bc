import type { Cluster } from "../../cluster/index.ts";
import type { Fleet } from "./fleet.ts";

/** Wraps a cluster so that writes are answered once every worker has the change: no worker then accepts a suspended caller. */
export function awaitWorkersOnWrite(cluster: Cluster, fleet: Pick<Fleet, "whenRowsReceived">): Cluster {
  return {
    ...cluster,
    async write(command, options) {
      const result = await cluster.write(command, options);
      await fleet.whenRowsReceived();
      return result;
    },
    async restore(archive, options) {
      const info = await cluster.restore(archive, options);
      await fleet.whenRowsReceived();
      return info;
    },
  };
}

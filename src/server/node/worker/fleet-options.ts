import type { ConfigNodeOptions } from "../config-node-types.ts";
import type { FleetOptions } from "./fleet.ts";
import { boundsOf, scanThreadsOf } from "./worker-settings.ts";

interface FleetInputs
  extends ConfigNodeOptions,
    Pick<FleetOptions, "listen" | "otherListeners" | "node" | "cluster" | "certificates" | "dataDir"> {
  readonly path: string;
  readonly metricsAddress: string | undefined;
  readonly keks: Keks | undefined;
}

type Key = { readonly id: string; readonly key: Uint8Array };

interface Keks {
  readonly current: Key;
  readonly all: readonly Key[];
}

/** Returns the options of a node with `count` worker processes. */
export function fleetOptions(count: number, inputs: FleetInputs): FleetOptions {
  const { listen, node, otherListeners, cluster, certificates, env, drainMs, dataDir } = inputs;
  const { path, metricsAddress, keks, build } = inputs;
  const base64 = ({ key }: Key): string => Buffer.from(key).toString("base64");
  return {
    count,
    listen,
    node,
    otherListeners,
    cluster,
    certificates,
    env,
    drainMs,
    dataDir,
    settings: {
      path,
      build,
      version: build.version,
      nodeId: cluster.status().nodeId,
      keys: keks?.all.map((key) => ({ id: key.id, key: base64(key) })),
      current: keks && base64(keks.current),
      hasTls: certificates !== undefined,
      metricsAddress,
      scanThreads: scanThreadsOf(count),
      bounds: boundsOf(inputs, count),
    },
  };
}

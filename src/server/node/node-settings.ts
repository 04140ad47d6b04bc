/** Settings of a node in config mode: everything that can be read and checked before any part is open. */
import { resolve } from "node:path";
import { systemClock } from "../../base/index.ts";
import type { Access } from "../admin/index.ts";
import type { NodeFile } from "../core/config/index.ts";
import { type ForwardProxies, readForwardProxies } from "../forward-proxy/index.ts";
import { accessOf } from "./admin/open-admin-plane.ts";
import { type KeySources, keySourcesOf } from "./cluster/sealing-keys.ts";
import type { ConfigNodeOptions } from "./config-node-types.ts";
import { readCount } from "./configuration/environment-settings.ts";
import { resolveBeside } from "./configuration/read-configuration-files.ts";
import { createFleet, type Fleet } from "./worker/index.ts";

export interface NodeSettings {
  readonly options: ConfigNodeOptions;
  readonly nodeFile: NodeFile;
  /** Path of the node file. */
  readonly path: string;
  readonly proxies: ForwardProxies;
  /** Worker processes, not started yet; `undefined` if the node process serves itself. */
  readonly fleet: Fleet | undefined;
  readonly keySources: KeySources;
  /** Free bytes below which the disk counts as full; `undefined` for the default. */
  readonly minFreeBytes: number | undefined;
  /** Access rules of the admin plane. */
  readonly access: Access;
  /** Absolute path; `undefined` if the node keeps nothing. */
  readonly dataDir: string | undefined;
  /** Time of the start, in milliseconds since 1970 and of the monotonic clock. */
  readonly startedAt: number;
  readonly startedMonotonic: number;
}

/** Reads the settings. Throws `ConfigurationRefused` for what the reader of the node file cannot check. */
export async function readSettings(options: ConfigNodeOptions): Promise<NodeSettings> {
  const { documents, env, workers, log } = options;
  const { nodeFile, path } = documents;
  const { data_dir: dataDir } = nodeFile.cluster;
  const { proxies } = readForwardProxies(env);
  return {
    options,
    nodeFile,
    path,
    proxies,
    fleet: workers === 1 ? undefined : createFleet(nodeFile),
    startedAt: systemClock.now(),
    startedMonotonic: systemClock.monotonic(),
    keySources: keySourcesOf(nodeFile, path, env),
    minFreeBytes: readCount(env, "GATEWAY_MIN_FREE_BYTES"),
    access: await accessOf(nodeFile, path, log),
    dataDir: dataDir === undefined ? undefined : resolve(resolveBeside(path, dataDir)),
  };
}

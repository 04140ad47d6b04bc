/**
 * Derives the keys that this node opens and seals secrets with: from the cluster secret, from the previous one during a change,
 * and from `kek_file`. Unusable ones are refused before anything is created on disk.
 */
import { deriveKeys, MIN_SECRET_LENGTH } from "../../cluster/index.ts";
import type { NodeFile } from "../../core/config/index.ts";
import { deriveKeks, readKekFile, type Sealing } from "../../secrets/index.ts";
import { ConfigurationRefused } from "../configuration/environment-settings.ts";
import { resolveBeside } from "../configuration/read-configuration-files.ts";

const PREVIOUS = "GATEWAY_CLUSTER_SECRET_PREVIOUS";

export interface KeySources {
  readonly secret: string | undefined;
  readonly previousSecret: string | undefined;
  /** Content of `kek_file`. */
  readonly file: Uint8Array | undefined;
}

/** Reads the sources of the keys. `path`: path of the node file. Throws `ConfigurationRefused`. */
export function keySourcesOf(
  { cluster }: NodeFile,
  path: string,
  env: Readonly<Record<string, string | undefined>>,
): KeySources {
  const previousSecret = env[PREVIOUS] || undefined;
  if (previousSecret !== undefined && previousSecret.length < MIN_SECRET_LENGTH) {
    throw new ConfigurationRefused([`${PREVIOUS}: has fewer than ${MIN_SECRET_LENGTH} characters`]);
  }
  const file = cluster.kek_file === undefined ? undefined : readKekFile(resolveBeside(path, cluster.kek_file));
  if (file?.kind === "problem") throw new ConfigurationRefused([`cluster.kek_file: ${file.message}`]);
  return { secret: cluster.secret, previousSecret, file: file?.bytes };
}

/** Derives the keys; `undefined` without a cluster secret. */
export async function sealingKeysOf({
  secret,
  previousSecret,
  file,
}: KeySources): Promise<Pick<Sealing, "keks" | "clusters"> | undefined> {
  if (secret === undefined) return undefined;
  const keys = await deriveKeys(secret);
  const previous = previousSecret === undefined ? undefined : await deriveKeys(previousSecret);
  return {
    keks: deriveKeks({
      secret: { id: keys.kekId, key: keys.kek },
      previous: previous && { id: previous.kekId, key: previous.kek },
      file,
    }),
    clusters: previous === undefined ? [keys.clusterId] : [keys.clusterId, previous.clusterId],
  };
}

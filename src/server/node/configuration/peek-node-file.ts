/**
 * Reads paths of a node file without validating the rest: its secrets directory, the deployment document and overlays that it
 * names, so that the errors of all documents are reported at once, and its model cache.
 */
import { parseDocument } from "yaml";

export interface NodeFilePaths {
  readonly secretsDir: string | undefined;
  readonly deployment: string | undefined;
  readonly overlayPaths: readonly string[];
  readonly cacheDir: string | undefined;
  readonly dataDir: string | undefined;
}

export function peekNodeFile(text: string, env: Readonly<Record<string, string | undefined>>): NodeFilePaths {
  const read = (value: unknown): string | undefined =>
    typeof value === "string"
      ? value.replace(/\$\{([A-Za-z_]\w*)\}/g, (_, name: string) => env[name] ?? "")
      : undefined;
  try {
    const file = parseDocument(text).toJS({ maxAliasCount: 0 }) ?? {};
    const { secrets_dir: secretsDir, deployment, catalog_overlay_paths: overlays, cache_dir: cacheDir, cluster } = file;
    return {
      secretsDir: read(secretsDir),
      deployment: read(deployment),
      overlayPaths: (Array.isArray(overlays) ? overlays : []).flatMap((path) => read(path) ?? []),
      cacheDir: read(cacheDir),
      dataDir: read(cluster?.data_dir),
    };
  } catch {
    // The reader of the node file reports what is wrong with it.
    return { secretsDir: undefined, deployment: undefined, overlayPaths: [], cacheDir: undefined, dataDir: undefined };
  }
}

/**
 * The node of the bench built like the gateway: bundled, with the worker as a file of its own where `openCluster` looks
 * for it. Dependencies are the repository's.
 */

import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Writes into `folder`; returns the file to run. */
export async function compileNode(folder: string): Promise<string> {
  await symlink(join(root, "node_modules"), join(folder, "node_modules"), "dir");
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  await build({
    absWorkingDir: root,
    entryPoints: {
      "raft-node": "test/bench/child/raft-node.ts",
      "server/cluster/worker": "src/server/cluster/worker.ts",
    },
    outdir: folder,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    logLevel: "error",
  });
  return join(folder, "raft-node.js");
}

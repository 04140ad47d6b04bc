/**
 * `node-main.ts` and the raft worker as two files that Node runs as they are: a loader of TypeScript would take seconds
 * of each start, in both threads. Built once a process, into a folder that goes with it.
 */
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "../../../..");

let building: Promise<string> | undefined;

/** Resolves with the path of the main file. */
export function buildReplica(): Promise<string> {
  building ??= buildOnce();
  return building;
}

async function buildOnce(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "gateway-replica-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  // Packages are not built in: one of them is a native module.
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  await build({
    entryPoints: {
      "node-main": join(here, "node-main.ts"),
      // Where the cluster looks for it.
      "server/cluster/worker": join(root, "src/server/cluster/worker.ts"),
    },
    outdir: folder,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    packages: "external",
    logLevel: "error",
  });
  return join(folder, "node-main.js");
}

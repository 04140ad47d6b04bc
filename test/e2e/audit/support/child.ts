/** Starts the child that writes a trail, compiled once in the way the build compiles the gateway. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { ChildJob } from "./append-child.ts";

const root = fileURLToPath(new URL("../../../../", import.meta.url));

interface ChildProgram {
  start(job: ChildJob, crashAt?: string): ChildProcess;
}

/** Compiles into `folder`, which is created. */
export async function compileChild(folder: string): Promise<ChildProgram> {
  mkdirSync(folder);
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "dir");
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  await build({
    absWorkingDir: root,
    entryPoints: {
      child: "test/e2e/audit/support/append-child.ts",
      "crash-at": "test/e2e/audit/support/crash-at.ts",
      "server/audit/worker": "src/server/audit/worker.ts",
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
  return {
    start(job, crashAt) {
      const preload = crashAt === undefined ? [] : ["--import", join(folder, "crash-at.js")];
      return spawn(process.execPath, [...preload, join(folder, "child.js"), JSON.stringify(job)], {
        stdio: ["ignore", "ignore", "pipe"],
        env: { ...process.env, ...(crashAt !== undefined && { CRASH_AT: crashAt }) },
      });
    },
  };
}

interface Ended {
  readonly status: number | null;
  readonly signal: string | null;
  readonly stderr: string;
}

export async function endOf(child: ChildProcess): Promise<Ended> {
  let stderr = "";
  child.stderr?.on("data", (bytes) => {
    stderr += String(bytes);
  });
  const [status, signal] = (await once(child, "close")) as [number | null, string | null];
  return { status, signal, stderr };
}

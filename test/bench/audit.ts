/**
 * `node --import tsx test/bench/audit.ts [-records N] [-rate N]`: cost of an audit record for the process, and speed of
 * verification. The targets are those of the design: ten microseconds of the main thread per record, sixty of all
 * threads, ten thousand records verified per second.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import type { AuditCostJob, AuditCosts, VerifyJob, VerifyRates } from "./child/audit-cost.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Like the gateway's build: threads are files of their own, dependencies stay outside. */
async function compile(folder: string): Promise<string> {
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "dir");
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  await build({
    absWorkingDir: root,
    entryPoints: {
      "audit-cost": "test/bench/child/audit-cost.ts",
      "server/audit/worker": "src/server/audit/worker.ts",
      "server/audit/verify/worker": "src/server/audit/verify/worker.ts",
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
  return join(folder, "audit-cost.js");
}

/** Returns the child's answer; its stderr, the trail, goes to `output`. */
async function ask(program: string, job: AuditCostJob | VerifyJob, output: string): Promise<unknown> {
  const child = spawn(process.execPath, [program, JSON.stringify(job)], { stdio: ["ignore", "pipe", "pipe"] });
  let answer = "";
  child.stdout.on("data", (bytes) => {
    answer += String(bytes);
  });
  const [[status]] = await Promise.all([once(child, "close"), pipeline(child.stderr, createWriteStream(output))]);
  if (status !== 0) throw new Error(`the measured process ended with status ${status}; see ${output}`);
  return JSON.parse(answer);
}

function show(
  name: string,
  value: number,
  unit: string,
  aim: { readonly atMost?: number; readonly atLeast?: number },
): boolean {
  const { atMost = Number.POSITIVE_INFINITY, atLeast = 0 } = aim;
  const isMet = value <= atMost && value >= atLeast;
  const wanted =
    atLeast > 0 ? `at least ${atLeast}` : atMost < Number.POSITIVE_INFINITY ? `at most ${atMost}` : "no aim";
  const digits = value < 1_000 ? 1 : 0;
  process.stdout.write(
    `${name.padEnd(46)} ${value.toFixed(digits).padStart(9)} ${unit.padEnd(10)} ${wanted}${isMet ? "" : "  MISSED"}\n`,
  );
  return isMet;
}

const { values } = parseArgs({
  args: process.argv.slice(2).map((arg) => arg.replace(/^-(?=[a-z]{2})/, "--")),
  options: { records: { type: "string", default: "40000" }, rate: { type: "string", default: "5000" } },
});
const folder = mkdtempSync(join(tmpdir(), "audit-bench-"));
try {
  const program = await compile(folder);
  process.stdout.write(`node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? "unknown"}\n`);
  const trail = join(folder, "trail");
  const job = { dir: join(folder, "audit"), records: Number(values.records), rate: Number(values.rate) };
  const { append, main, cpu, signature, fastest } = (await ask(program, job, trail)) as AuditCosts;
  const met = [
    show("append, in the caller", append, "us", { atMost: 10 }),
    show("main thread, with what the worker tells it", main, "us", { atMost: 10 }),
    show("CPU of all threads", cpu, "us", { atMost: 60 }),
    show("of which one signature by itself (24 when quiet)", signature, "us", {}),
    show("emitted when appended as fast as it goes", fastest, "records/s", {}),
  ];
  for (const threads of [0, 1, 2]) {
    const rates = (await ask(program, { file: trail, threads }, join(folder, "errors"))) as VerifyRates;
    const beside = `verified, ${threads} threads beside the main one`;
    met.push(show(beside, rates.perSecond, "records/s", { atLeast: 10_000 }));
    if (threads === 0) met.push(show("the same, of CPU time", rates.perCpuSecond, "records/s", { atLeast: 10_000 }));
  }
  process.stdout.write(met.every(Boolean) ? "every aim met\n" : "not every aim met\n");
} finally {
  rmSync(folder, { recursive: true });
}

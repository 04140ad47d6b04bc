/**
 * Compiles the simulator into a temporary folder and runs it in its own process; with `-mutants`, once for each mutant.
 */

import { spawn } from "node:child_process";
import { compile, inFolder } from "./compile.ts";
import { MUTANTS } from "./mutants.ts";
import { FURTHER_MUTANTS } from "./mutants-further.ts";

/** Runs a compiled simulator to its end and returns its exit status. Termination signals are passed on to it. */
function run(file: string, args: readonly string[]): Promise<number> {
  return new Promise((done, failed) => {
    const child = spawn(process.execPath, ["--enable-source-maps", file, ...args], { stdio: "inherit" });
    const stop = (signal: NodeJS.Signals): boolean => child.kill(signal);
    process.on("SIGINT", stop);
    process.on("SIGTERM", stop);
    child.on("error", failed);
    child.on("close", (status) => {
      process.off("SIGINT", stop);
      process.off("SIGTERM", stop);
      done(status ?? 1);
    });
  });
}

async function runMutants(folder: string, args: readonly string[]): Promise<number> {
  const all = [...MUTANTS, ...FURTHER_MUTANTS];
  const known = new Set(all.map(({ name }) => name));
  const named = args.filter((arg) => known.has(arg));
  const passedOn = args.filter((arg) => arg !== "-mutants" && !known.has(arg));
  const chosen = all.filter(({ name }) => named.length === 0 || named.includes(name));
  let missed = 0;
  for (const mutant of chosen) {
    const file = await compile({ folder, entry: "main.ts", mutant });
    const limits = [...(passedOn.includes("-seeds") ? [] : ["-seeds", String(MUTANT_SEEDS)]), ...(mutant.args ?? [])];
    if ((await run(file, ["-expect-failure", mutant.name, ...limits, ...passedOn])) !== 0) missed += 1;
  }
  process.stdout.write(`${chosen.length - missed} of ${chosen.length} mutants caught\n`);
  return missed === 0 ? 0 : 1;
}

/** Enough to catch each mutant. */
const MUTANT_SEEDS = 5_000;

const args = process.argv.slice(2);
process.exitCode = await inFolder(async (folder) =>
  args.includes("-mutants") ? runMutants(folder, args) : run(await compile({ folder, entry: "main.ts" }), args),
);

/**
 * Rounds of a trail that is killed at a random moment and started again, on one directory and one output. After each
 * round everything witnessed must be in the output; after the last one a clean stop must leave nothing behind.
 */

import { rmSync } from "node:fs";
import { join } from "node:path";
import { createRandom } from "../../../sim/random.ts";
import type { ChildJob } from "./append-child.ts";
import { compileChild, endOf } from "./child.ts";
import { type Judgement, judge } from "./judge.ts";

/** Time from the start of the process: before it opens the trail, during that, and well into its records. */
const LAST_KILL_MS = 800;

interface KillOptions {
  readonly folder: string;
  readonly rounds: number;
  readonly seed: number;
  readonly say: (line: string) => void;
}

/** Rejects with the round if a trail does not verify. */
export async function killRounds({ folder, rounds, seed, say }: KillOptions): Promise<Judgement> {
  const random = createRandom(seed);
  const program = await compileChild(join(folder, "program"));
  const at = (name: string): string => join(folder, name);
  const files = { dir: at("audit"), output: at("output"), heads: at("heads"), journaled: at("journaled") };
  for (let round = 1; round <= rounds; round += 1) {
    if (random.chance(0.05)) {
      // A disk that lost the journal: unemitted records are lost with it, and a new chain begins.
      rmSync(join(files.dir, "audit-head"), { force: true });
      rmSync(files.journaled, { force: true });
    }
    const job: ChildJob = { ...files, name: `r${round}`, records: undefined };
    const child = program.start(job);
    const timer = setTimeout(() => child.kill("SIGKILL"), random.below(LAST_KILL_MS));
    const { signal, stderr } = await endOf(child);
    clearTimeout(timer);
    if (signal !== "SIGKILL") throw new Error(`round ${round}, seed ${seed}: the child ended by itself: ${stderr}`);
    if (round % 20 === 0) say(`${round} rounds`);
  }
  const last: ChildJob = { ...files, name: "last", records: 100 };
  const { status, stderr } = await endOf(program.start(last));
  if (status !== 0) throw new Error(`seed ${seed}: the last start failed: ${stderr}`);
  const judgement = await judge(last);
  const { findings } = judgement.report;
  if (findings.length > 0) throw new Error(`seed ${seed}: ${JSON.stringify(findings.slice(0, 5))}`);
  if (judgement.lost.length > 0) throw new Error(`seed ${seed}: lost ${judgement.lost.slice(0, 5).join(", ")}`);
  return judgement;
}

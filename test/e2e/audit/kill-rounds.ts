/** `node --import tsx test/e2e/audit/kill-rounds.ts -rounds N -seed S`: runs the test for any number of rounds. */

import { rmSync } from "node:fs";
import { quickFolder } from "../../server/audit/support/folder.ts";
import { killRounds } from "./support/kill-rounds.ts";

function option(name: string, otherwise: number): number {
  const at = process.argv.indexOf(`-${name}`);
  return at < 0 ? otherwise : Number(process.argv[at + 1]);
}

const seed = option("seed", Date.now() % 1_000_000);
const rounds = option("rounds", 200);
const folder = quickFolder("audit-kill-");
const say = (line: string): void => void process.stdout.write(`${line}\n`);
say(`seed ${seed}`);
const { report, heads } = await killRounds({ folder, rounds, seed, say });
const copies = report.chains.reduce((sum, chain) => sum + chain.copies, 0);
say(
  `${rounds} kills: ${report.records} lines, ${report.chains.length} chains against ${heads} heads, ` +
    `${copies} repeated, ${report.cutShort} cut short: verified`,
);
rmSync(folder, { recursive: true });

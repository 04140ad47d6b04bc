/**
 * Rounds of faults on a cluster of three real processes, run manually:
 *
 * node --import tsx test/e2e/cluster/faults.ts -rounds 200 -seed 7 [-faults kill,cut]
 *
 * Prints one line per round: the fault, the client results, the leader. Exits with 1 at the first failed round.
 */
import { parseArgs } from "node:util";
import { FAULTS } from "./support/faults.ts";
import { playRounds, type RoundReport } from "./support/rounds.ts";

/** Flags of this project have one dash. */
const args = process.argv.slice(2).map((arg) => arg.replace(/^-(?=[a-z])/, "--"));
const { values } = parseArgs({
  args,
  options: {
    rounds: { type: "string", default: "200" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    faults: { type: "string" },
  },
});

// The nodes end with this process, however it ends.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

const closers: (() => unknown)[] = [];
const owner = { after: (close: () => void | Promise<void>) => void closers.push(close) };
const totals = { rounds: 0, skipped: 0, acknowledged: 0, unknown: 0, failed: 0, reads: 0 };
const seed = Number(values.seed);
const startedAt = performance.now();

function report({ round, fault, done, tally, leader, seconds }: RoundReport): void {
  const { acknowledged, unknown, failed, reads, codes } = tally;
  totals.rounds += 1;
  totals.skipped += done === undefined ? 1 : 0;
  totals.acknowledged += acknowledged;
  totals.unknown += unknown;
  totals.failed += failed;
  totals.reads += reads;
  const reason = [...codes].map(([code, count]) => `${code} ${count}`).join(", ");
  process.stdout.write(
    `${String(round).padStart(4)}  ${seconds.toFixed(1).padStart(5)} s  ${done ?? `${fault}: not possible here`}; ` +
      `acknowledged ${acknowledged}, reads ${reads}, unknown ${unknown}, failed ${failed}${reason === "" ? "" : ` (${reason})`}; ` +
      `${leader} leads\n`,
  );
}

try {
  const faults = values.faults?.split(",").map((name) => name.trim());
  const unknown = faults?.filter((name) => FAULTS[name] === undefined) ?? [];
  if (unknown.length > 0)
    throw new Error(`no such fault: ${unknown.join(", ")}; there are: ${Object.keys(FAULTS).join(", ")}`);
  process.stdout.write(`${values.rounds} rounds, seed ${seed}\n`);
  await playRounds(owner, {
    seed,
    rounds: Number(values.rounds),
    ...(faults !== undefined && { faults }),
    onRound: report,
  });
} catch (error) {
  process.stdout.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  for (const close of closers) await close();
  const { rounds, skipped, acknowledged, unknown, failed, reads } = totals;
  process.stdout.write(
    `${process.exitCode === undefined ? "passed" : "FAILED"}: ${rounds} rounds (${skipped} not possible here), seed ${seed}, ` +
      `${acknowledged} writes acknowledged, ${reads} reads, ${unknown} unknown, ${failed} refused, ` +
      `${((performance.now() - startedAt) / 1_000).toFixed(0)} s\n`,
  );
}

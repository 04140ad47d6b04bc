/** The simulator's process: one seed in detail, or many with progress. It is compiled before it runs, see `run.mjs`. */

import { createHash } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { parseSimOptions, type SimOptions, USAGE } from "./options.ts";
import { type RunResult, runSeed } from "./simulation.ts";

/** Seeds in one batch. Progress is saved after each round of batches. */
const PIECE = 50;
const PROGRESS_EVERY_MS = 5_000;
/** Largest share of runs whose history may remain undecided. */
const MAX_UNDECIDED_SHARE = 0.01;

interface Piece {
  readonly from: number;
  readonly count: number;
  readonly events: number;
  readonly mode: SimOptions["mode"];
}

/** Sums over runs; `failed` is the first failed run. */
interface Tally {
  seeds: number;
  events: number;
  operations: number;
  committed: number;
  leaders: number;
  undecided: number;
  stranded: number;
  failed: RunResult | undefined;
}

function emptyTally(): Tally {
  return { seeds: 0, events: 0, operations: 0, committed: 0, leaders: 0, undecided: 0, stranded: 0, failed: undefined };
}

function add(to: Tally, { seeds, events, operations, committed, leaders, undecided, stranded, failed }: Tally): void {
  to.seeds += seeds;
  to.events += events;
  to.operations += operations;
  to.committed += committed;
  to.leaders += leaders;
  to.undecided += undecided;
  to.stranded += stranded;
  to.failed ??= failed;
}

function runPiece({ from, count, events, mode }: Piece): Tally {
  const tally = emptyTally();
  for (let seed = from; seed < from + count && tally.failed === undefined; seed += 1) {
    const result = runSeed({ seed, events, mode });
    add(tally, {
      ...result,
      seeds: 1,
      undecided: result.undecided > 0 ? 1 : 0,
      stranded: result.isStranded ? 1 : 0,
      failed: result.failure === undefined ? undefined : result,
    });
  }
  return tally;
}

function runPieceElsewhere(piece: Piece): Promise<Tally> {
  return new Promise((done, failed) => {
    const worker = new Worker(fileURLToPath(import.meta.url), { workerData: piece });
    worker.on("message", done);
    worker.on("error", failed);
  });
}

/** Saved between runs of the same code with the same options. */
interface Progress {
  readonly key: string;
  readonly next: number;
  readonly tally: Tally;
}

function readProgress(path: string, key: string): Progress | undefined {
  if (!existsSync(path)) return undefined;
  const progress = JSON.parse(readFileSync(path, "utf8")) as Progress;
  return progress.key === key ? progress : undefined;
}

function writeProgress(path: string, progress: Progress): void {
  writeFileSync(`${path}.tmp`, `${JSON.stringify(progress)}\n`);
  renameSync(`${path}.tmp`, path);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function replayCommand({ seed, events, mode }: { seed: number; events: number; mode: string }): string {
  return `npm run sim -- -seed ${seed} -events ${events}${mode === "damage" ? " -damage" : ""} -trace`;
}

function reportFailure({ seed, failure, digest }: RunResult, { events, mode }: SimOptions): void {
  if (failure === undefined) return;
  for (const line of failure.trace) say(`  ${line}`);
  say(`seed ${seed} breaks "${failure.invariant}": ${failure.message}`);
  say(`trace digest ${digest}; replay: ${replayCommand({ seed, events, mode })}`);
}

function runOne(options: SimOptions, seed: number): number {
  const result = runSeed({
    seed,
    events: options.events,
    mode: options.mode,
    ...(options.isTraced ? { onTrace: say } : {}),
  });
  const { events, operations, committed, leaders, undecided, digest } = result;
  reportFailure(result, options);
  say(
    JSON.stringify({
      seed,
      isPassed: result.failure === undefined,
      events,
      operations,
      committed,
      leaders,
      undecided,
      digest,
    }),
  );
  return result.failure === undefined ? 0 : 1;
}

async function runMany(options: SimOptions): Promise<number> {
  const { from, seeds, events, mode, jobs, stateFile } = options;
  const code = createHash("sha256")
    .update(readFileSync(fileURLToPath(import.meta.url)))
    .digest("hex")
    .slice(0, 16);
  const key = `${code} ${mode} ${events} ${from}`;
  const kept = stateFile === undefined ? undefined : readProgress(stateFile, key);
  const tally = kept?.tally ?? emptyTally();
  let next = kept?.next ?? from;
  const end = from + seeds;
  if (kept !== undefined) say(`going on at seed ${next}, ${tally.seeds} done before`);

  const startedAt = performance.now();
  const seedsBefore = tally.seeds;
  const eventsBefore = tally.events;
  let saidAt = startedAt;
  const progress = (): string => {
    const seconds = (performance.now() - startedAt) / 1_000;
    const done = tally.seeds - seedsBefore;
    const left = done === 0 ? 0 : ((end - next) * seconds) / done;
    const rate = Math.round((tally.events - eventsBefore) / Math.max(seconds, 0.001));
    return `${tally.seeds} of ${seeds} seeds, ${tally.events} events, ${rate} events/s, ${Math.ceil(left)} s left`;
  };

  while (next < end && tally.failed === undefined) {
    const pieces: Piece[] = [];
    for (let job = 0; job < jobs && next < end; job += 1) {
      const count = Math.min(PIECE, end - next);
      pieces.push({ from: next, count, events, mode });
      next += count;
    }
    const tallies = jobs === 1 ? pieces.map(runPiece) : await Promise.all(pieces.map(runPieceElsewhere));
    for (const one of tallies) add(tally, one);
    if (stateFile !== undefined && tally.failed === undefined) writeProgress(stateFile, { key, next, tally });
    if (performance.now() - saidAt > PROGRESS_EVERY_MS) {
      saidAt = performance.now();
      say(progress());
    }
  }

  if (options.mutant !== undefined) return reportMutant(options.mutant, tally);
  if (tally.failed !== undefined) {
    reportFailure(tally.failed, options);
    return 1;
  }
  const { operations, committed, leaders, undecided, stranded } = tally;
  say(progress());
  say(
    `passed: ${operations} operations, ${committed} entries committed, ${leaders} leaders, ${stranded} seeds stranded, ${undecided} undecided`,
  );
  if (undecided <= tally.seeds * MAX_UNDECIDED_SHARE) return 0;
  say("too many runs are undecided");
  return 1;
}

function reportMutant(name: string, { failed, seeds, events }: Tally): number {
  if (failed?.failure === undefined) {
    say(`MISSED  ${name.padEnd(44)} ${seeds} seeds, ${events} events`);
    return 1;
  }
  say(
    `caught  ${name.padEnd(44)} seed ${String(failed.seed).padEnd(5)} ${failed.failure.invariant}, after ${events} events`,
  );
  return 0;
}

async function main(): Promise<number> {
  let options: SimOptions;
  try {
    options = parseSimOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    return 2;
  }
  return options.seed === undefined ? runMany(options) : runOne(options, options.seed);
}

if (isMainThread) process.exitCode = await main();
else parentPort?.postMessage(runPiece(workerData as Piece));

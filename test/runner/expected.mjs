/**
 * Prints the expected duration of each tier, from the CPU times in test/runner/times.json: `node
 * test/runner/expected.mjs`. With `-files` it also prints each file or group that takes a second or more.
 */
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { jobsOf, testFiles } from "./jobs.mjs";
import { isRandom, TIERS, tierOf } from "./tiers.mjs";
import { readTimes } from "./times.mjs";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const times = readTimes(join(root, "test/runner/times.json"));
/** CPU seconds assumed for a job that is too short to be recorded. */
const SHORT_SECONDS = 0.6;
const LONG_SECONDS = 5;

const files = testFiles("test").map((file) => {
  const text = readFileSync(join(root, file), "utf8");
  return { file, tier: tierOf(file, text), isRandom: isRandom(text) };
});

for (const tier of TIERS) {
  const own = files.filter((one) => one.tier === tier);
  const jobs = jobsOf(
    own.map(({ file }) => file),
    (file) => (times[file]?.[0] ?? 0) > LONG_SECONDS,
  ).map(({ name }) => ({ name, cpu: times[name]?.[1] ?? SHORT_SECONDS }));
  const cpu = jobs.reduce((total, job) => total + job.cpu, 0);
  const random = tier === "long" ? ` and ${files.filter((one) => one.isRandom).length} with random tests` : "";
  process.stdout.write(`${tier}: ${own.length} files${random}, ${jobs.length} processes, ${cpu.toFixed(0)} s of CPU\n`);
  if (!process.argv.includes("-files")) continue;
  for (const { name, cpu } of jobs.filter(({ cpu }) => cpu >= 1).sort((a, b) => b.cpu - a.cpu)) {
    process.stdout.write(`  ${cpu.toFixed(1).padStart(6)}  ${name}\n`);
  }
}

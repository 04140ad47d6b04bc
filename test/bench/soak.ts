/**
 * `npm run soak`: the gateway with the simulated provider under a mix of good and bad clients. Exits with 1 if anything
 * grew or the counts of client, gateway and simulator do not agree exactly.
 */

import { align } from "./report.ts";
import { parseSoakOptions, type SoakOptions, USAGE } from "./soak/options.ts";
import { runSoak } from "./soak/soak-run.ts";

function readOptions(): SoakOptions | undefined {
  try {
    return parseSoakOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    return undefined;
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

const options = readOptions();
if (options === undefined) {
  process.exitCode = 2;
} else {
  const { kinds, checks } = await runSoak(options, say);
  say(`\n${align(kinds.map(({ kind, sent }) => [kind.name, String(sent)]))}\n`);
  say(align(checks.map(({ name, isGood, detail }) => [name, isGood ? "good" : "BAD", detail])));
  const bad = checks.filter(({ isGood }) => !isGood).length;
  say(bad === 0 ? "\nnothing grew and every count agrees" : `\n${bad} of ${checks.length} checks failed`);
  process.exitCode = bad === 0 ? 0 : 1;
}

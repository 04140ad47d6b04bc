/**
 * Frame of a bench with a list of scenarios: its command line, the requested scenarios one after the other, and the
 * end. A scenario starts its own processes and ends them.
 */

import { parseArgs } from "node:util";
import { countMissed, type Figure, figuresAsJson } from "./figures.ts";

export interface ScenarioOptions {
  /** A tenth of the time and of the rows: for trying the bench, not for judging. */
  readonly isQuick: boolean;
  readonly isJson: boolean;
  readonly only: readonly string[];
  /** Folder for CPU profiles of the measured processes; `undefined` for none. */
  readonly profileFolder: string | undefined;
  readonly isStrict: boolean;
}

export interface Scenario<Given, Unit extends string = string> {
  readonly name: string;
  run(input: Given): Promise<readonly Figure<Unit>[]>;
}

export function usageOf(script: string): string {
  return `npm run ${script} -- [--quick] [--only NAME]... [--json] [--profile FOLDER] [--strict]

  --quick           a tenth of the time and of the rows
  --only NAME       this scenario alone; may be given more than once
  --json            the figures as JSON
  --profile FOLDER  writes a CPU profile of every thread of every measured process there
  --strict          exit status 1 when an aim is missed
`;
}

/** Accepts one dash and two, like the flags of the gateway. Throws with a message for the user. */
export function parseScenarioOptions(argv: readonly string[], names: readonly string[]): ScenarioOptions {
  const { values } = parseArgs({
    args: argv.map((arg) => arg.replace(/^-(?=[a-z]{2})/, "--")),
    options: {
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [] },
      profile: { type: "string" },
      strict: { type: "boolean", default: false },
    },
  });
  const unknown = values.only.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new Error(`no scenario ${unknown}; there are ${names.join(", ")}`);
  return {
    isQuick: values.quick,
    isJson: values.json,
    only: values.only,
    profileFolder: values.profile,
    isStrict: values.strict,
  };
}

/** Returns `undefined`, and prints the usage on stderr, if the command line is invalid. */
export function readScenarioOptions(script: string, names: readonly string[]): ScenarioOptions | undefined {
  try {
    return parseScenarioOptions(process.argv.slice(2), names);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usageOf(script)}`);
    return undefined;
  }
}

/** A failed measurement is a miss in the table, so that the others are still shown. */
export async function guarded<Given, Unit extends string>(
  scenario: Scenario<Given, Unit>,
  input: Given,
): Promise<readonly Figure[]> {
  try {
    return await scenario.run(input);
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return [{ name: scenario.name, value: Number.NaN, unit: "", aim: { atLeast: 0 }, detail }];
  }
}

/** Prints the last line or the JSON; returns the exit status. */
export function conclude(figures: readonly Figure[], { isJson, isStrict }: ScenarioOptions): number {
  const missed = countMissed(figures);
  if (isJson) process.stdout.write(`${figuresAsJson(figures)}\n`);
  else process.stdout.write(missed === 0 ? "every aim met\n" : `${missed} of the aims not met\n`);
  return missed > 0 && isStrict ? 1 : 0;
}

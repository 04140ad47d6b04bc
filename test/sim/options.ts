/** Options on the simulator's command line. */

export interface SimOptions {
  readonly seeds: number;
  readonly from: number;
  /** Least number of fault events per seed. */
  readonly events: number;
  /** The only seed to run, to replay it. */
  readonly seed: number | undefined;
  readonly isTraced: boolean;
  readonly mode: "faults" | "damage";
  /** File in which progress is saved, so that an interrupted run can continue. */
  readonly stateFile: string | undefined;
  readonly jobs: number;
  /** Name of a mutant that one of the seeds must catch. */
  readonly mutant: string | undefined;
}

export const USAGE = `npm run sim -- [options]
  -seeds N        so many seeds (100)
  -from S         beginning with this one (1)
  -events E       at least so many events of faults a seed (2000)
  -seed S         only this one; its result is printed
  -trace          with -seed: every event as a line
  -damage         nodes lose synced writes and must refuse to start
  -state FILE     keep progress there and go on from it
  -jobs J         so many processes (1)
  -mutants [NAME] break a rule, run seeds until one notices; all mutants, or those named
`;

/** Throws an Error with a message for the user. */
export function parseSimOptions(argv: readonly string[]): SimOptions {
  const texts = new Map<string, string>();
  const numbers = new Map<string, number>();
  const switches = new Set<string>();
  for (let at = 0; at < argv.length; at += 1) {
    const name = argv[at]!;
    if (name === "-trace" || name === "-damage") {
      switches.add(name);
      continue;
    }
    const value = argv[at + 1];
    at += 1;
    if (["-seeds", "-from", "-events", "-seed", "-jobs"].includes(name)) {
      if (value === undefined || !/^\d{1,9}$/.test(value)) throw new Error(`${name} takes a whole number`);
      numbers.set(name, Number(value));
    } else if (name === "-state" || name === "-expect-failure") {
      if (value === undefined) throw new Error(`${name} takes a value`);
      texts.set(name, value);
    } else {
      throw new Error(`unknown option ${name}`);
    }
  }
  return {
    seeds: numbers.get("-seeds") ?? 100,
    from: numbers.get("-from") ?? 1,
    events: numbers.get("-events") ?? 2_000,
    seed: numbers.get("-seed"),
    isTraced: switches.has("-trace"),
    mode: switches.has("-damage") ? "damage" : "faults",
    stateFile: texts.get("-state"),
    jobs: Math.max(1, numbers.get("-jobs") ?? 1),
    mutant: texts.get("-expect-failure"),
  };
}

/** The command line of the bench. */

import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

export interface BenchOptions {
  /** A tenth of the load: for trying the bench, not for judging the gateway. */
  readonly isQuick: boolean;
  readonly only: readonly string[];
  readonly hasProfile: boolean;
  readonly isStrict: boolean;
  readonly rounds: number;
  /** Launcher of the measured gateway. */
  readonly gateway: string;
  /** Launcher of another build of the gateway, measured in the same rounds; `undefined` if none is compared. */
  readonly against?: string | undefined;
}

export const USAGE = `npm run bench -- [--quick] [--only NAME]... [--rounds N] [--profile] [--strict] [--gateway FILE] [--against FILE]

  --quick         a tenth of the load and three rounds
  --only NAME     this scenario alone; may be given more than once. governed and governed-stream install
                  Portkey's and LiteLLM's gateways into a temporary folder, and leave out what cannot be had
  --rounds N      rounds per scenario (default 5)
  --profile       profiles the gateway under each scenario and prints where its time goes
  --strict        exit status 1 when a target is missed
  --gateway FILE  the launcher to measure (default bin/gateway)
  --against FILE  the launcher of another build, measured in the same rounds; gateways of others and the
                  comparisons of a scenario are left out, and each round has a quarter of the load
`;

/** Accepts one dash and two, like the flags of the gateway. */
export function parseBenchOptions(argv: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: argv.map((arg) => arg.replace(/^-(?=[a-z]{2})/, "--")),
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [] },
      rounds: { type: "string" },
      profile: { type: "boolean", default: false },
      strict: { type: "boolean", default: false },
      gateway: { type: "string", default: fileURLToPath(new URL("../../bin/gateway", import.meta.url)) },
      against: { type: "string" },
    },
  });
  const rounds = Number(values.rounds ?? (values.quick ? 3 : 5));
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > 100) throw new Error("--rounds takes a number from 1 to 100");
  return {
    isQuick: values.quick,
    only: values.only,
    hasProfile: values.profile,
    isStrict: values.strict,
    rounds,
    gateway: values.gateway,
    against: values.against,
  };
}

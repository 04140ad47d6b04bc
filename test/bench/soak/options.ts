/** The command line of the soak. */

import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

export interface SoakOptions {
  readonly seconds: number;
  /** The launcher of the gateway, which also runs the simulated provider. */
  readonly gateway: string;
}

export const USAGE = `npm run soak -- [--seconds N] [--gateway FILE]

  --seconds N     how long the load lasts (default 300, at least 20)
  --gateway FILE  the launcher to run (default bin/gateway)
`;

export function parseSoakOptions(argv: readonly string[]): SoakOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      seconds: { type: "string", default: "300" },
      gateway: { type: "string", default: fileURLToPath(new URL("../../../bin/gateway", import.meta.url)) },
    },
  });
  const seconds = Number(values.seconds);
  if (!Number.isInteger(seconds) || seconds < 20 || seconds > 86_400) {
    throw new Error("--seconds takes a number from 20 to 86400");
  }
  return { seconds, gateway: values.gateway };
}

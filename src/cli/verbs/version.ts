/** `gateway version`: one line of build, commit, date, toolchain and platform. */

import { buildOf, versionLine } from "../build.ts";
import type { FlagsOf } from "../flags.ts";
import type { ExitStatus, Io } from "../io.ts";
import type { noFlags } from "../specs.ts";

export async function run(_: FlagsOf<typeof noFlags>, __: readonly string[], io: Io): Promise<ExitStatus> {
  io.stdout.write(`${versionLine(buildOf())}\n`);
  return 0;
}

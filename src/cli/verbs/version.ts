/** `gateway version`: prints build, commit, date, toolchain, platform and feature levels, on one line or as JSON. */

import { FEATURE_RANGE } from "../../server/core/state/index.ts";
import { buildOf, platformOf, versionLine } from "../build.ts";
import type { FlagsOf } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import type { versionFlags } from "../verb-flags.ts";

export async function run({ json }: FlagsOf<typeof versionFlags>, _: readonly string[], io: Io): Promise<ExitStatus> {
  const build = buildOf();
  const { min, max } = FEATURE_RANGE;
  const text = json
    ? JSON.stringify({ name: "gateway", ...build, ...platformOf(process), feature_levels: [min, max] }, null, 2)
    : `${versionLine(build)}, feature levels ${min} to ${max}`;
  io.stdout.write(`${text}\n`);
  return 0;
}

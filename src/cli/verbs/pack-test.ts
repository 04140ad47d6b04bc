/**
 * `gateway pack test PACK...`: runs the test cases of a pack against a document with the pack and the packs that it
 * builds on. Prints one line per case on stdout; status 1 if one fails. Source: design decisions, section 16.
 */

import { escapeControls } from "../../base/index.ts";
import { joinLines, writeAll } from "../copy-streams.ts";
import { loadPacks } from "../packs/load-packs.ts";
import { runCases } from "../packs/pack-cases.ts";
import type { FlagsOf } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import type { noFlags } from "../verb-flags.ts";

export async function run(_: FlagsOf<typeof noFlags>, names: readonly string[], io: Io): Promise<ExitStatus> {
  const packs = await loadPacks(names, io);
  let failed = 0;
  for (const pack of packs.named) {
    const tested = await runCases(pack, packs.baseOf, io);
    if (tested.kind === "refused") {
      for (const problem of tested.problems) io.stderr.write(`${escapeControls(problem)}\n`);
      io.stderr.write(`gateway: the pack ${pack.id} was not tested\n`);
    } else await writeAll(io.stdout, joinLines(tested.lines.map((line) => `${escapeControls(line)}\n`)), io.signal);
    if (tested.kind === "refused" || !tested.passes) failed += 1;
  }
  return failed === 0 ? 0 : 1;
}

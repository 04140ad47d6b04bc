/**
 * `gateway pack test PACK...`: the cases of a pack against a document that holds it and what it builds on. One line a case
 * on stdout; status 1 when one fails. Source: design decisions, section 16.
 */

import { escapeControls } from "../../base/index.ts";
import type { Pack } from "../../server/core/packs/index.ts";
import type { FlagsOf } from "../flags.ts";
import type { ExitStatus, Io } from "../io.ts";
import { compileWith } from "../packs/compile.ts";
import { loadPacks, type Packs } from "../packs/load.ts";
import { runSuites, type SuitesRun, subjectOf } from "../rule-suite/index.ts";
import type { noFlags } from "../specs.ts";
import { joined, writeAll } from "../streams.ts";

export async function run(_: FlagsOf<typeof noFlags>, names: readonly string[], io: Io): Promise<ExitStatus> {
  const packs = await loadPacks(names, io);
  let failed = 0;
  for (const pack of packs.named) {
    const tested = await runCases(pack, packs, io);
    if (tested.kind === "refused") {
      for (const problem of tested.problems) io.stderr.write(`${escapeControls(problem)}\n`);
      io.stderr.write(`gateway: the pack ${pack.id} was not tested\n`);
    } else await writeAll(io.stdout, joined(tested.lines.map((line) => `${escapeControls(line)}\n`)), io.signal);
    if (tested.kind === "refused" || !tested.passes) failed += 1;
  }
  return failed === 0 ? 0 : 1;
}

async function runCases(pack: Pack, { baseOf }: Packs, io: Io): Promise<SuitesRun> {
  const { tests, trial } = pack.files;
  if (tests === undefined) return { kind: "refused", problems: [`the pack ${pack.id} has no tests.yaml`] };
  const source = trial ?? { name: `the document of ${pack.id}`, text: "" };
  const made = await compileWith(source, inOrder(pack, baseOf), baseOf, io);
  if (made.kind === "refused") return made;
  const { compiled, deployment } = made;
  // What a model finds is given by the cases.
  const snapshot =
    compiled.kind === "awaits" ? { ...compiled.rest, guardrails: compiled.guardrails } : compiled.snapshot;
  return runSuites([tests], subjectOf(snapshot, deployment.document), io.signal);
}

/** What it builds on first. */
function inOrder(pack: Pack, baseOf: Packs["baseOf"]): readonly Pack[] {
  const bases = pack.buildsOn.flatMap((id) => {
    const base = baseOf(id);
    return base === undefined ? [] : inOrder(base, baseOf);
  });
  return [...new Set([...bases, pack])];
}

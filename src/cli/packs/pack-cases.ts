/** Runs the test cases of a pack against a document that contains the pack and the packs that it builds on. */

import type { BaseOf, Pack } from "../../server/core/packs/index.ts";
import type { Io } from "../process-io.ts";
import { type OnCase, runSuites, type SuitesRun, subjectOf } from "../rule-suite/index.ts";
import { type CompiledPacks, compileWith } from "./compile-packs.ts";

/** Compiles the pack's trial document together with the pack and the packs that it builds on. */
export function compileTrial(pack: Pack, baseOf: BaseOf, io: Io): Promise<CompiledPacks> {
  const source = pack.files.trial ?? { name: `the document of ${pack.id}`, text: "" };
  return compileWith(source, inOrder(pack, baseOf), baseOf, io);
}

export async function runCases(pack: Pack, baseOf: BaseOf, io: Io, onCase?: OnCase): Promise<SuitesRun> {
  const { tests } = pack.files;
  if (tests === undefined) return { kind: "refused", problems: [`the pack ${pack.id} has no tests.yaml`] };
  const made = await compileTrial(pack, baseOf, io);
  if (made.kind === "refused") return made;
  const { compiled, deployment } = made;
  // The cases contain the findings of models, so models are not loaded.
  const snapshot =
    compiled.kind === "awaits" ? { ...compiled.rest, guardrails: compiled.guardrails } : compiled.snapshot;
  return runSuites([tests], subjectOf(snapshot, deployment.document), io.signal, onCase);
}

/** Returns the pack after the packs that it builds on. */
export function inOrder(pack: Pack, baseOf: BaseOf): readonly Pack[] {
  const bases = pack.buildsOn.flatMap((id) => {
    const base = baseOf(id);
    return base === undefined ? [] : inOrder(base, baseOf);
  });
  return [...new Set([...bases, pack])];
}

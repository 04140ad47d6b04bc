/** Guardrails over a recorded request: what was found then, judged by the rules of the proposal. */

import type { Guarding, RecordedRequest, Resolve, Step } from "../core/rehearsal/index.ts";
import { FACT } from "../core/rehearsal/index.ts";
import { canonicalText } from "./canonical-text.ts";
import type { Differing } from "./differing.ts";
import type { Side } from "./types.ts";

const PASSED = { kind: "passed" } as const;

export interface GuardrailSides {
  readonly inForce: Side;
  readonly proposed: Side;
  readonly differing: Differing;
}

/** Judges by profile and record. */
export function guardrailStage(
  sides: GuardrailSides,
): (request: RecordedRequest, profile: string | undefined, resolve: Resolve) => Guarding {
  const { inForce, proposed, differing } = sides;
  const changedOf = changes(sides);
  return (request, profile, resolve) => {
    const guard = proposed.snapshot.guardrails.of(profile);
    if (guard === undefined && !proposed.awaitsModels) return { step: PASSED, acted: "" };
    const step = resolve("guardrails", {
      kind: "unknown",
      reason: changedOf(profile),
      decidedBy: ["guardrails", "models", ...(profile === undefined ? [] : [])],
    });
    if (step.kind !== "unknown") {
      const selection = selectionOf(inForce, profile) === selectionOf(proposed, profile);
      if (selection) return { step, acted: request.acted };
      return { step: { kind: "unknown", reason: changedOf(profile) }, acted: "" };
    }
    const isInspected = (request.facts & FACT.requestInspected) !== 0;
    const reason = isInspected || differing.differs("guardrails") ? step.reason : NOT_INSPECTED;
    return { step: { kind: "unknown", reason } satisfies Step, acted: "" };
  };
}

const NOT_INSPECTED = "its texts were not inspected, and guardrails would";

const selectionOf = ({ document }: Side, profile: string | undefined): string =>
  canonicalText(document.profiles?.find(({ name }) => name === profile)?.guardrails ?? null);

/** What keeps findings from being told, in words. */
function changes({ inForce, proposed }: GuardrailSides): (profile: string | undefined) => string {
  const before = inForce.document.guardrails?.detectors ?? [];
  const now = proposed.document.guardrails?.detectors ?? [];
  const nameOf = ({ name, type }: (typeof now)[number]): string => name ?? type;
  const added = now.find((detector) => !before.some((it) => nameOf(it) === nameOf(detector)));
  const changed = now.find((detector) =>
    before.some((it) => nameOf(it) === nameOf(detector) && canonicalText(it) !== canonicalText(detector)),
  );
  return () => {
    if (added !== undefined) return `detector \`${nameOf(added)}\` is new`;
    if (changed !== undefined) return `detector \`${nameOf(changed)}\` is changed`;
    return NOT_INSPECTED;
  };
}

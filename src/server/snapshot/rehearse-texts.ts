/** Tries guardrails on texts, with the same detectors and rules as for a request or an answer. Nothing is forwarded. */
import {
  createRewriting,
  type GuardrailPolicy,
  type InspectedSegments,
  type Rehearsal,
  type RehearsalQuestion,
  rehearsalOf,
  rehearsalSegments,
  rehearsalVariables,
} from "../core/guardrails/index.ts";
import type { Ensemble } from "../detectors/index.ts";
import { findRemoved } from "./removed-findings.ts";

interface RehearsedPolicy {
  readonly ensemble: Ensemble;
  /** Policy of the profile in question. */
  readonly policy: GuardrailPolicy;
  /** Operators that use a key, by rule name. */
  readonly keyed: ReadonlyMap<string, string>;
  /** True if `explain` was requested. */
  readonly keepsTrace: boolean;
}

/** Runs every detector now, whatever its schedule. Rejects only with the signal's reason. */
export async function rehearse(
  { ensemble, policy, keyed, keepsTrace }: RehearsedPolicy,
  question: RehearsalQuestion,
  signal: AbortSignal,
): Promise<Rehearsal> {
  const segments = rehearsalSegments(question);
  const names = new Set(policy.detectors);
  const textKinds = new Set(segments.map(({ kind }) => kind));
  const detectors = ensemble.members.map(({ name, mode, kinds, detector }) => {
    const isInForce = names.has(name);
    const asked = isInForce && [...kinds].some((kind) => textKinds.has(kind));
    return { name, type: detector.type, mode, kinds: [...kinds], in_force: isInForce, asked };
  });
  const { stubFindings: givenFindings } = question;
  const { byDetector, failures } = await ensemble.run(segments, { names, signal, stubFindings: givenFindings });
  const inspected: InspectedSegments = { segments, found: byDetector };
  const isRefused = failures.some(({ isFatal }) => isFatal);
  const occasion = { variables: rehearsalVariables(question), rewriting: createRewriting() };
  const judgement = isRefused ? undefined : policy.judge(inspected, occasion);
  const removed = await findRemoved(ensemble, inspected, policy.annotate(inspected), {
    names,
    signal,
    stubFindings: givenFindings,
  });
  return rehearsalOf({
    segments,
    judgement,
    failures,
    removed: keepsTrace
      ? removed
      : removed.map(({ annotation, by }) => ({ annotation: { ...annotation, trace: undefined }, by })),
    detectors,
    hidden: question.showsKeyed === true ? new Map() : keyed,
  });
}

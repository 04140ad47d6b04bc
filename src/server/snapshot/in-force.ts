/**
 * Lists of the detectors and rules of a document. They never contain a key. Of custom recognizers they contain only names and
 * types, since patterns, deny lists and examples may be secret.
 */
import type { Deployment, Guardrails } from "../core/config/index.ts";
import type { GuardrailPolicy, SegmentKind } from "../core/guardrails/index.ts";
import type { Ensemble, Member } from "../detectors/index.ts";

/** Parts of a profile that guardrails depend on. */
export type GuardedProfile = Pick<NonNullable<Deployment["profiles"]>[number], "name" | "guardrails">;

export interface DetectorInForce
  extends Pick<Member, "name" | "mode" | "schedule" | "role" | "threshold" | "timeoutMs"> {
  /** Detector type in the document: `pii`, `llm`, … */
  readonly type: string;
  readonly kinds: readonly SegmentKind[];
  readonly failsClosed: boolean;
  /** Hex digest of everything that its findings depend on. */
  readonly fingerprint: string;
  /** Entity types that it reports; `undefined` if it reports all that it knows. */
  readonly entities: readonly string[] | undefined;
  readonly customRecognizers: readonly string[];
  /**
   * Maximum bytes of a finding in a streamed answer, including the context that must follow it; `undefined` if there is no
   * bound, or if the detector does not read answers.
   */
  readonly horizonBytes: number | undefined;
  /** Names of profiles that do not use it. */
  readonly exempt: readonly string[];
}

export interface RuleInForce extends Pick<Guardrails["rules"][number], "name" | "action" | "operator"> {
  /** Segment kinds that the rule may rewrite; `undefined` for every kind that can be rewritten. */
  readonly kinds: readonly SegmentKind[] | undefined;
  /** Names of the detectors that the rule depends on; `undefined` means the whole ensemble. */
  readonly requires: readonly string[] | undefined;
  readonly controls: readonly string[];
  readonly failsOpen: boolean;
  /** Names of profiles that do not use it. */
  readonly exempt: readonly string[];
}

export interface GuardrailsInForce {
  /** Detectors in document order. */
  readonly detectors: readonly DetectorInForce[];
  readonly rules: readonly RuleInForce[];
  /** Detector names by profile; a profile that is missing here uses all. */
  readonly selections: ReadonlyMap<string, readonly string[]>;
}

export const NOTHING_IN_FORCE: GuardrailsInForce = Object.freeze({ detectors: [], rules: [], selections: new Map() });

export function describeInForce(
  { detectors, rules }: Guardrails,
  profiles: readonly GuardedProfile[],
  { members }: Ensemble,
  policyOf: (profile: string) => GuardrailPolicy,
): GuardrailsInForce {
  const selections = profiles.flatMap(({ name, guardrails }): [string, readonly string[]][] =>
    guardrails?.detectors === undefined ? [] : [[name, guardrails.detectors]],
  );
  const policies = profiles.map(({ name }) => ({ name, policy: policyOf(name) }));
  const profilesWithout = (of: "detectors" | "rules", member: string): readonly string[] =>
    policies.flatMap(({ name, policy }) => (policy[of].includes(member) ? [] : [name]));
  return Object.freeze({
    detectors: members.map((member, at) => ({
      ...describeDetector(member, detectors[at]),
      exempt: profilesWithout("detectors", member.name),
    })),
    rules: rules.map(({ name, action, operator, kinds, requires, controls = [], on_error: onError }) => ({
      name,
      action,
      operator,
      kinds,
      requires,
      controls,
      failsOpen: onError === "fail_open",
      exempt: profilesWithout("rules", name),
    })),
    selections: new Map(selections),
  });
}

function describeDetector(
  { name, mode, schedule, role, threshold, timeoutMs, kinds, failsClosed, detector }: Member,
  config: Guardrails["detectors"][number] | undefined,
): Omit<DetectorInForce, "exempt"> {
  const reachBytes = (detector.horizon?.reaches ?? []).map(({ maxBytes, rightBytes }) => maxBytes + rightBytes);
  const maxReachBytes = Math.max(...reachBytes);
  return {
    ...{ name, mode, schedule, role, threshold, timeoutMs, failsClosed },
    type: detector.type,
    kinds: [...kinds],
    fingerprint: detector.fingerprint,
    entities: config?.entities,
    customRecognizers: (config?.custom_recognizers ?? []).map(({ name: own, entity }) => `${own}: ${entity}`),
    horizonBytes: Number.isFinite(maxReachBytes) ? maxReachBytes : undefined,
  };
}

/**
 * What guards the texts of one population: the detectors that are in force for it, and the policy over what they find. All
 * that hops, the inspector and rehearsals are given. Source: design decisions, section 11.
 */
import type { Deployment, Guardrails } from "../core/config/index.ts";
import {
  type GuardrailPolicy,
  type GuardrailProblem,
  type Inspection,
  type Judgement,
  type Occasion,
  REQUEST_KINDS,
  type Rehearsal,
  type RehearsalQuestion,
  rehearsedSegments,
  type Segment,
  type SegmentKind,
  told,
} from "../core/guardrails/index.ts";
import type { Ensemble, Failure, Found } from "../detectors/index.ts";
import { type GuardrailsInForce, NOTHING_IN_FORCE } from "./in-force.ts";

export interface Guarded {
  readonly found: Found;
  /** Undefined: `failures` holds one that is fatal, and the message is refused for it. */
  readonly judgement: Judgement | undefined;
  readonly failures: readonly Failure[];
}

export interface Guard {
  /** Kinds of segment that some detector in force reads. */
  readonly kinds: ReadonlySet<SegmentKind>;
  readonly inspectsRequest: boolean;
  /** Some detector in force reads bodies of requests, and not their headers or query alone. */
  readonly inspectsBody: boolean;
  readonly inspectsOutput: boolean;
  /** At once where every detector answers at once. Rejects with the signal's reason alone. */
  readonly request: (
    segments: readonly Segment[],
    occasion: Occasion,
    signal: AbortSignal,
  ) => Guarded | Promise<Guarded>;
  /** Of a whole answer, or of a stretch of a stream, whose earlier findings `inspection` holds. */
  readonly answer: (
    segments: readonly Segment[],
    inspection: Inspection,
    signal: AbortSignal,
  ) => Guarded | Promise<Guarded>;
  /** Begins the inspection of one answer. */
  readonly open: GuardrailPolicy["open"];
}

export interface GuardrailSnapshot {
  /** For no name, who has no profile. Undefined: exempt, or there is nothing to find with. */
  readonly of: (profile: string | undefined) => Guard | undefined;
  readonly inForce: GuardrailsInForce;
  /** What would become of texts; nothing is forwarded or recorded. Rejects with the signal's reason alone. */
  readonly rehearse: Rehearse;
}

export type Rehearse = (question: RehearsalQuestion, signal: AbortSignal) => Promise<Rehearsal>;

export interface CompiledGuardrails {
  /** To be used only when no problem is an error. */
  readonly guardrails: GuardrailSnapshot;
  readonly problems: readonly GuardrailProblem[];
}

/** What is found in a text is remembered over all documents that one engine compiles. */
export interface GuardrailEngine {
  /** As of a gateway: also what it cannot do yet is refused. */
  readonly compile: (document: Deployment) => CompiledGuardrails;
  /** Of no use where a problem is an error. `profiles`: those that rules are checked against. */
  readonly assemble: (guardrails: Guardrails, profiles: NonNullable<Deployment["profiles"]>) => AssembledGuardrails;
}

/** Detectors and rules, before they guard anybody. */
export interface AssembledGuardrails {
  /** Undefined where a detector could not be built. */
  readonly assembled:
    | {
        readonly ensemble: Ensemble;
        readonly policyOf: (profile: string | undefined) => GuardrailPolicy;
        readonly inForce: GuardrailsInForce;
        readonly rehearse: Rehearse;
      }
    | undefined;
  readonly problems: readonly GuardrailProblem[];
}

/** Nobody is inspected. */
export const UNGUARDED: GuardrailSnapshot = Object.freeze({
  of: () => undefined,
  inForce: NOTHING_IN_FORCE,
  rehearse: async (question: RehearsalQuestion) =>
    told({
      segments: rehearsedSegments(question),
      judgement: NOTHING_JUDGED,
      failures: [],
      removed: [],
      detectors: [],
      hidden: new Map(),
    }),
});

const NOTHING_JUDGED: Judgement = Object.freeze({
  outcome: "allow",
  rewrites: [],
  decisions: [],
  skipped: [],
  annotations: [],
  shadow: [],
  fpeDomainTooSmall: 0,
});

export function createGuard(ensemble: Ensemble, policy: GuardrailPolicy): Guard {
  const names = new Set(policy.detectors);
  const kinds = new Set(ensemble.members.filter(({ name }) => names.has(name)).flatMap((member) => [...member.kinds]));
  const judged = (segments: readonly Segment[], found: Found, judge: Inspection["judge"]): Guarded => {
    const { failures, byDetector } = found;
    const isRefused = failures.some(({ isFatal }) => isFatal);
    return { found, failures, judgement: isRefused ? undefined : judge({ segments, found: byDetector }) };
  };
  return Object.freeze({
    kinds,
    inspectsRequest: [...kinds].some((kind) => kind !== "output"),
    inspectsBody: REQUEST_KINDS.some((kind) => kinds.has(kind)),
    inspectsOutput: kinds.has("output"),
    open: policy.open,
    request(segments, occasion, signal) {
      const { judge } = policy.open(occasion);
      const found = ensemble.run(segments, { names, signal, schedule: "sync" });
      return found instanceof Promise
        ? found.then((all) => judged(segments, all, judge))
        : judged(segments, found, judge);
    },
    answer(segments, { judge }, signal) {
      // Schedules are of requests: whoever reads answers reads them now.
      const found = ensemble.run(segments, { names, signal });
      return found instanceof Promise
        ? found.then((all) => judged(segments, all, judge))
        : judged(segments, found, judge);
    },
  } satisfies Guard);
}

/**
 * `guardrails` and `profiles[].guardrails` to what guards each population. Loaded by `load-guardrails.ts`, and imported by
 * nothing else. Source: specification document 3; design decisions, section 11.
 */
import type { Instruments } from "../../base/index.ts";
import type { Deployment, DetectorConfig, Guardrails } from "../core/config/index.ts";
import type { DetectorFacts, GuardrailProblem, PolicyFacts } from "../core/guardrails/index.ts";
import { compilePolicy } from "../core/guardrails/policy/index.ts";
import {
  type BuildDetector,
  compileEnsemble,
  createEnsembleMetrics,
  createPiiDetector,
  createPoolMetrics,
  createScanCache,
  createScanPool,
  type EnsembleOptions,
  type ScanPool,
} from "../detectors/index.ts";
import {
  type AssembledGuardrails,
  type CompiledGuardrails,
  createGuard,
  type Guard,
  type GuardrailEngine,
  UNGUARDED,
} from "./guardrails.ts";
import { type GuardedProfile, inForceOf } from "./in-force.ts";
import { rehearse } from "./rehearse.ts";

export function openEngine(instruments: Instruments | undefined): GuardrailEngine {
  const cache = createScanCache();
  const metrics = instruments && createEnsembleMetrics(instruments);
  const pool = createScanPool(instruments && { metrics: (readings) => createPoolMetrics(instruments, readings) });
  const options = { pool, cache, ...(metrics !== undefined && { metrics }) };
  return {
    assemble: (guardrails, profiles) => assemble(guardrails, profiles, options),
    compile: (document) => compile(document, options),
  };
}

function compile({ guardrails, profiles = [] }: Deployment, options: Options): CompiledGuardrails {
  if (guardrails === undefined) return { guardrails: UNGUARDED, problems: [] };
  const { assembled, problems } = assemble(guardrails, profiles, options);
  const told = [...unbuiltKeys(guardrails), ...problems];
  if (assembled === undefined) return { guardrails: UNGUARDED, problems: told };
  const { ensemble, policyOf, inForce, rehearse } = assembled;
  const guardOf = (profile: string | undefined): Guard | undefined => {
    const policy = policyOf(profile);
    const isExempt = policy.detectors.length === 0 && policy.rules.length === 0;
    return isExempt ? undefined : createGuard(ensemble, policy, guardrails);
  };
  const everybody = guardOf(undefined);
  const guards = new Map(
    profiles.map(({ name, guardrails: own }) => [name, own?.detectors === undefined ? everybody : guardOf(name)]),
  );
  return {
    guardrails: Object.freeze({
      of: (profile: string | undefined) =>
        profile !== undefined && guards.has(profile) ? guards.get(profile) : everybody,
      inForce,
      rehearse,
    }),
    problems: told,
  };
}

type Options = Omit<EnsembleOptions, "build"> & { readonly pool: ScanPool };

function assemble(guardrails: Guardrails, profiles: readonly GuardedProfile[], options: Options): AssembledGuardrails {
  /** What each detector can give, by its name. */
  const gives = new Map<string, readonly string[]>();
  const compiled = compileEnsemble(guardrails, { ...options, build: builder(gives, options.pool) });
  if (compiled.kind === "refused") {
    const problems = compiled.problems.map((it): GuardrailProblem => ({ severity: "error", ...it }));
    return { assembled: undefined, problems };
  }
  const { ensemble } = compiled;
  const facts: PolicyFacts = {
    detectors: ensemble.members.map(
      ({ detector, name, kinds, mode, schedule }): DetectorFacts => ({
        name,
        type: detector.type,
        kinds: [...kinds],
        mode,
        schedule,
        gives: gives.get(name),
        hasHorizon: detector.horizon !== undefined,
      }),
    ),
    profiles: profiles.map(({ name, guardrails: own }) => ({ name, detectors: own?.detectors })),
  };
  const { of: policyOf, problems } = compilePolicy(guardrails, facts);
  const { explain: keepsTrace } = guardrails;
  const keyed = keyedRules(guardrails);
  return {
    assembled: {
      ensemble,
      policyOf,
      inForce: inForceOf(guardrails, profiles, ensemble, policyOf),
      rehearse: (question, signal) =>
        rehearse({ ensemble, policy: policyOf(question.profile), keyed, keepsTrace }, question, signal),
    },
    problems,
  };
}

/** Whoever may ask for their texts at will learns which value stands behind one. By name, the operator. */
function keyedRules({ rules, pseudonym_key: key }: Guardrails): ReadonlyMap<string, string> {
  const isKeyed = (operator: string): boolean =>
    operator === "pseudonym" || operator === "fpe" || (operator === "hash" && key !== undefined);
  return new Map(rules.flatMap(({ name, operator }) => (isKeyed(operator) ? [[name, operator] as const] : [])));
}

const builder =
  (gives: Map<string, readonly string[]>, pool: ScanPool): BuildDetector =>
  (config, name, { context_enhancement: usesContext }) => {
    if (config.type !== "pii") {
      const message = `detectors of type \`${config.type}\` are not supported by this version, only those of type \`pii\``;
      return { kind: "refused", problems: [{ path: ["type"], message }] };
    }
    const built = createPiiDetector(config, name, usesContext, pool);
    if (built.kind === "detector") gives.set(name, built.gives);
    return built;
  };

/** What a detector would seem to inspect, and would not. */
function unbuiltKeys({ detectors }: Guardrails): readonly GuardrailProblem[] {
  return detectors.flatMap(({ apply_to: kinds = [] }, at) => {
    const error = (path: readonly (string | number)[], message: string): GuardrailProblem => ({
      severity: "error",
      path: ["guardrails", "detectors", at, ...path],
      message,
    });
    return kinds.flatMap((kind, position) => {
      const what = UNREAD[kind];
      return what === undefined ? [] : [error(["apply_to", position], `this version does not inspect ${what}`)];
    });
  });
}

type Kind = NonNullable<DetectorConfig["apply_to"]>[number];

const UNREAD: Partial<Record<Kind, string>> = {
  output: "answers",
};

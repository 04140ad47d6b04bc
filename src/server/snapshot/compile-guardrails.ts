/**
 * Compiles `guardrails` and `profiles[].guardrails` to the guard of each population. Only `load-guardrails.ts` imports this
 * file, dynamically. Source: specification document 3; design decisions, section 11.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { runInSlices } from "../../base/index.ts";
import type { Deployment, Guardrails } from "../core/config/index.ts";
import type { DetectorFacts, Guard, GuardrailProblem, PolicyFacts } from "../core/guardrails/index.ts";
import { createIssuedValues, type IssuedValues } from "../core/guardrails/index.ts";
import { compilePolicy } from "../core/guardrails/policy/index.ts";
import {
  answerWith,
  type BuildDetector,
  type CallModel,
  compileEnsemble,
  compileFormats,
  createAwaitedDetector,
  createEndpointMetrics,
  createEndpoints,
  createEnsembleMetrics,
  createJudge,
  createModelDetector,
  createPiiDetector,
  createPoolMetrics,
  createRemoteDetector,
  createScanCache,
  createScanPool,
  createSessionMetrics,
  createSessions,
  type DetectorProbe,
  type Endpoints,
  type EnsembleOptions,
  isModelType,
  kindsOf,
  type ScanPool,
  type Sessions,
  type Views,
} from "../detectors/index.ts";
import { modelNeeds } from "../models/index.ts";
import type { Provider } from "../upstream/index.ts";
import {
  type AssembledGuardrails,
  type CompiledGuardrails,
  createGuard,
  type EngineOptions,
  type GuardrailEngine,
  type GuardrailSnapshot,
  type OpenResources,
  type Prepare,
  UNGUARDED,
} from "./compiled-guard.ts";
import { describeInForce, type GuardedProfile } from "./in-force.ts";
import { rehearse } from "./rehearse-texts.ts";
import { compileRestorer, restoreProblems } from "./restoring.ts";

export function openEngine(engineOptions: EngineOptions): GuardrailEngine {
  const { instruments, log, callModel, threads, preparesDetectorsLazily = false, askSession } = engineOptions;
  const cache = createScanCache();
  const metrics = instruments && createEnsembleMetrics(instruments);
  const pool = createScanPool({
    ...(threads !== undefined && { threads }),
    ...(instruments && { metrics: (readings) => createPoolMetrics(instruments, readings) }),
  });
  const sessions = createSessions({
    askOtherProcess: askSession,
    log,
    ...(instruments && { metrics: (readings) => createSessionMetrics(instruments, readings) }),
  });
  const endpoints = createEndpoints(
    instruments && { metrics: (readings) => createEndpointMetrics(instruments, readings) },
  );
  const issued = engineOptions.issued ?? createIssuedValues();
  const options = { pool, sessions, endpoints, cache, issued, ...(metrics !== undefined && { metrics }) };
  const resourcesOf = new WeakMap<GuardrailSnapshot, OpenResources>();
  /** Current guardrails. */
  let current: GuardrailSnapshot | undefined;
  let contacting = new AbortController();
  return {
    assemble: (guardrails, profiles, { models = NO_MODELS, providers = new Map() } = {}) =>
      assemble(guardrails, profiles, models, { ...options, callModel, providers }),
    compile(document, models = NO_MODELS, providers = new Map()) {
      const { resources, ...compiled } = compile(document, models, {
        ...options,
        callModel: callModel ?? UNAVAILABLE_MODEL,
        providers,
        awaited: missingModelNames(document, models),
      });
      resourcesOf.set(compiled.guardrails, resources);
      return compiled;
    },
    keep(guardrails) {
      const { sessions: keys, origins, warmUps, contactServers } = resourcesOf.get(guardrails) ?? NO_RESOURCES;
      sessions.keep(keys);
      endpoints.keep(origins);
      current = guardrails;
      contacting.abort();
      contacting = new AbortController();
      for (const contactServer of contactServers) void contactUntilAnswered(contactServer, contacting.signal);
      if (warmUps.length === 0 || preparesDetectorsLazily) return;
      pool.warmUp();
      runInSlices(runAllSteps(warmUps), () => current !== guardrails);
    },
    askSession: answerWith(sessions),
    close() {
      current = undefined;
      contacting.abort();
      pool.close();
      sessions.keep(NONE);
      endpoints.keep(NONE);
    },
  };
}

const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 60_000;

/** Retries a server until it has answered once, so that a server that starts late or slowly is known before requests need it. */
async function contactUntilAnswered(
  contactServer: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  for (let retryMs = FIRST_RETRY_MS; !signal.aborted; retryMs = Math.min(MAX_RETRY_MS, 2 * retryMs)) {
    try {
      return await contactServer(signal);
    } catch {
      await sleep(retryMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
}

/** Stub for commands that judge a document without serving. */
const UNAVAILABLE_MODEL: CallModel = async () => {
  throw new Error("models are only called by a running gateway");
};

const NO_MODELS: Views = new Map();
const NONE: ReadonlySet<string> = new Set();

const NO_RESOURCES: OpenResources = { sessions: NONE, origins: NONE, warmUps: [], contactServers: [] };

/** Runs the steps of several jobs, one job after the other. */
function* runAllSteps(jobs: readonly (() => Iterator<void>)[]): Generator<void> {
  for (const work of jobs) yield* { [Symbol.iterator]: work };
}

type Compiled = CompiledGuardrails & { readonly resources: OpenResources };

function compile(document: Deployment, models: Views, options: Options): Compiled {
  const { guardrails, profiles = [] } = document;
  if (guardrails === undefined) return { guardrails: UNGUARDED, problems: [], resources: NO_RESOURCES };
  const { assembled, problems } = assemble(guardrails, profiles, models, options);
  const formatOf = compileFormats(guardrails);
  const restoring = restoreProblems(document, formatOf);
  if (assembled === undefined)
    return { guardrails: UNGUARDED, problems: [...problems, ...restoring], resources: NO_RESOURCES };
  const { ensemble, policyOf, inForce, rehearse, prepare, probes, resources } = assembled;
  const guardOf = (profile: string | undefined): Guard | undefined => {
    const policy = policyOf(profile);
    const isExempt = policy.detectors.length === 0 && policy.rules.length === 0;
    return isExempt ? undefined : createGuard(ensemble, policy, guardrails);
  };
  const defaultGuard = guardOf(undefined);
  const guards = new Map(
    profiles.map(({ name, guardrails: own }) => [name, own?.detectors === undefined ? defaultGuard : guardOf(name)]),
  );
  return {
    guardrails: Object.freeze({
      of: (profile: string | undefined) =>
        profile !== undefined && guards.has(profile) ? guards.get(profile) : defaultGuard,
      restorer: compileRestorer(guardrails, formatOf, options.issued),
      inForce,
      readsHeaders: ensemble.members.some(({ kinds }) => kinds.has("header")),
      rehearse,
    }),
    problems: [...problems, ...restoring],
    prepare,
    probes,
    resources,
  };
}

interface Options extends Omit<EnsembleOptions, "build"> {
  readonly pool: ScanPool;
  readonly issued: IssuedValues;
  readonly sessions: Sessions;
  readonly endpoints: Endpoints;
  /** Calls a model; `undefined` if no gateway serves, and then judge models find nothing. */
  readonly callModel: CallModel | undefined;
  /** Providers by name; absent if they are not known. */
  readonly providers?: ReadonlyMap<string, Provider>;
  /** Names of models that are not in the cache. */
  readonly awaited?: ReadonlySet<string>;
}

function missingModelNames(document: Deployment, models: Views): ReadonlySet<string> {
  const names = modelNeeds(document).map(({ model: { name } }) => name);
  return new Set(names.filter((name) => !models.has(name)));
}

/** Replaces detectors whose model is missing, so that the rest can be judged. */
const withAwaitedDetectors =
  (build: BuildDetector, awaited = NONE): BuildDetector =>
  (config, name, guardrails) => {
    const ref = (config.nlp ?? config.classify ?? config.embed)?.ref;
    return ref !== undefined && awaited.has(ref)
      ? { kind: "detector", detector: createAwaitedDetector(name, config.type) }
      : build(config, name, guardrails);
  };

/** Facts learned while detectors are built. */
interface BuildNotes {
  /** Types that each detector can report, by its name. */
  readonly reportedTypes: Map<string, readonly string[]>;
  readonly resources: {
    readonly sessions: Set<string>;
    readonly origins: Set<string>;
    readonly warmUps: (() => Iterator<void>)[];
    readonly contactServers: ((signal: AbortSignal) => Promise<void>)[];
  };
  readonly prepares: Prepare[];
  readonly probes: DetectorProbe[];
}

function assemble(
  guardrails: Guardrails,
  profiles: readonly GuardedProfile[],
  models: Views,
  options: Options,
): AssembledGuardrails {
  const notes: BuildNotes = {
    reportedTypes: new Map(),
    resources: { sessions: new Set(), origins: new Set(), warmUps: [], contactServers: [] },
    prepares: [],
    probes: [],
  };
  const { reportedTypes, resources, prepares, probes } = notes;
  const compiled = compileEnsemble(guardrails, {
    ...options,
    build: withAwaitedDetectors(createDetectorBuilder(notes, models, options), options.awaited),
  });
  const { ensemble } = compiled;
  const formatOf = compileFormats(guardrails);
  const profileDetectors = profiles.map(({ name, guardrails: own }) => ({ name, detectors: own?.detectors }));
  if (ensemble === undefined) {
    // Rules are checked nevertheless, against the configuration of detectors that could not be built.
    const detectors = guardrails.detectors.map((config): DetectorFacts => {
      const { name = config.type, type, mode, schedule } = config;
      return {
        name,
        type,
        kinds: kindsOf(config),
        mode,
        schedule,
        findingTypes: reportedTypes.get(name),
        hasHorizon: true,
      };
    });
    const { problems } = compilePolicy(guardrails, { detectors, profiles: profileDetectors, formatOf });
    return {
      assembled: undefined,
      problems: [
        ...compiled.problems.map((it): GuardrailProblem => ({ severity: "error", ...it })),
        ...problems.filter(({ severity }) => severity === "error"),
      ],
    };
  }
  const facts: PolicyFacts = {
    detectors: ensemble.members.map(
      ({ detector, name, kinds, mode, schedule }): DetectorFacts => ({
        name,
        type: detector.type,
        kinds: [...kinds],
        mode,
        schedule,
        findingTypes: reportedTypes.get(name),
        hasHorizon: detector.horizon !== undefined,
      }),
    ),
    profiles: profileDetectors,
    formatOf,
    issued: options.issued,
  };
  const { of: policyOf, problems } = compilePolicy(guardrails, facts);
  const { explain: keepsTrace } = guardrails;
  const keyed = keyedRules(guardrails);
  return {
    assembled: {
      ensemble,
      policyOf,
      inForce: describeInForce(guardrails, profiles, ensemble, policyOf),
      rehearse: (question, signal) =>
        rehearse({ ensemble, policy: policyOf(question.profile), keyed, keepsTrace }, question, signal),
      prepare:
        prepares.length === 0
          ? undefined
          : async (signal) => (await Promise.all(prepares.map((prepare) => prepare(signal)))).flat(),
      probes,
      resources,
    },
    problems,
  };
}

/**
 * Returns operators that use a key, by rule name. A person who can request a rule's texts at will could learn the value behind
 * one.
 */
function keyedRules({ rules, pseudonym_key: key }: Guardrails): ReadonlyMap<string, string> {
  const isKeyed = (operator: string): boolean =>
    operator === "pseudonym" || operator === "fpe" || (operator === "hash" && key !== undefined);
  return new Map(rules.flatMap(({ name, operator }) => (isKeyed(operator) ? [[name, operator] as const] : [])));
}

const createDetectorBuilder =
  (
    { reportedTypes, resources, prepares, probes }: BuildNotes,
    views: Views,
    { pool, sessions, endpoints, callModel, providers }: Options,
  ): BuildDetector =>
  (config, name, { context_enhancement: usesContext, detectors }) => {
    const { type } = config;
    if (type === "pii") {
      const built = createPiiDetector(config, name, usesContext, pool);
      if (built.kind === "refused") return built;
      reportedTypes.set(name, built.gives);
      resources.warmUps.push(built.warmUp);
      return built;
    }
    if (isModelType(type)) {
      const built = createModelDetector(config, type, name, { sessions, endpoints, views });
      if (built.kind === "refused") return built;
      reportedTypes.set(name, built.gives);
      resources.sessions.add(built.session);
      if (built.origin !== undefined) resources.origins.add(built.origin);
      if (built.checkReachable !== undefined) resources.contactServers.push(built.checkReachable);
      if (built.probe !== undefined) probes.push(built.probe);
      const path = ["guardrails", "detectors", detectors.indexOf(config)];
      prepares.push(async (signal) =>
        (await built.prepare(signal)).map((it) => ({
          severity: "error",
          message: it.message,
          path: [...path, ...it.path],
        })),
      );
      return built;
    }
    if (type === "remote") {
      const built = createRemoteDetector(config, name, { endpoints });
      if (built.kind === "refused") return built;
      if (built.gives !== undefined) reportedTypes.set(name, built.gives);
      resources.origins.add(built.origin);
      probes.push(built.probe);
      return built;
    }
    if (callModel === undefined) {
      const message = "a judge needs a running gateway that calls its provider, and this command has none";
      return { kind: "refused", problems: [{ path: ["type"], message }] };
    }
    const channels = providers?.get(config.llm?.provider ?? "")?.channels;
    const speaksCompat = channels?.some(({ dialect }) => dialect === "compat");
    const built = createJudge(config, name, { callModel, speaksCompat });
    if (built.kind === "refused") return built;
    reportedTypes.set(name, built.gives);
    probes.push(built.probe);
    return built;
  };

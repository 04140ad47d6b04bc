/**
 * Guard of one population: its active detectors, and the policy over their findings. This is all that the data plane, the
 * inspector and rehearsals use. Source: design decisions, section 11.
 */
import type { Instruments, Log } from "../../base/index.ts";
import type { Deployment, Guardrails } from "../core/config/index.ts";
import {
  type AnswerTerms,
  addedJudgement,
  compileReaches,
  createRewriting,
  type DetectionResult,
  type Guard,
  type GuardResult,
  type GuardrailPolicy,
  type GuardrailProblem,
  type InspectionContext,
  type InspectOverlap,
  type IssuedValues,
  type Judgement,
  type OverlapOptions,
  REQUEST_KINDS,
  type Reach,
  type Rehearsal,
  type RehearsalQuestion,
  rehearsalOf,
  rehearsalSegments,
} from "../core/guardrails/index.ts";
import type { AskSession, CallModel, DetectorProbe, Ensemble, Member, Views } from "../detectors/index.ts";
import type { Provider } from "../upstream/index.ts";
import { type GuardedProfile, type GuardrailsInForce, NOTHING_IN_FORCE } from "./in-force.ts";

export interface GuardrailSnapshot {
  /**
   * Returns the guard of a profile (`undefined`: callers without one). Returns `undefined` if the caller is exempt or there are
   * no detectors.
   */
  readonly of: (profile: string | undefined) => Guard | undefined;
  /** Returns a restorer for the entity types that a fronted server or agent names. Returns `undefined` if nothing is restored. */
  readonly restorer: (types: ReadonlySet<string>) => Restorer | undefined;
  readonly inForce: GuardrailsInForce;
  /** True if a detector reads headers, for any population. */
  readonly readsHeaders: boolean;
  /** Judges texts without forwarding or recording. Rejects only with the signal's reason. */
  readonly rehearse: Rehearse;
}

export interface Restorer {
  /**
   * Restores the values that `fpe` wrote in each text of one message. `counts` is the number of values by type. Returns
   * `undefined` if there are more candidates than the maximum.
   */
  readonly restore: (
    texts: readonly string[],
  ) => { readonly texts: readonly string[]; readonly counts: Readonly<Record<string, number>> } | undefined;
  /** Returns the positions of values in a text that `fpe` provably wrote. */
  readonly placesIn: (text: string) => readonly { readonly start: number; readonly end: number }[];
}

export type Rehearse = (question: RehearsalQuestion, signal: AbortSignal) => Promise<Rehearsal>;

/** Loads what detectors need and is not loaded yet, and returns the problems found. Rejects with the signal's reason. */
export type Prepare = (signal: AbortSignal) => Promise<readonly GuardrailProblem[]>;

export interface CompiledGuardrails {
  /** Guardrails; use them only if no problem is an error. */
  readonly guardrails: GuardrailSnapshot;
  readonly problems: readonly GuardrailProblem[];
  /** Runs before the guardrails are put in force; `undefined` if there is nothing to load. */
  readonly prepare?: Prepare | undefined;
  /** Probes of the servers and judge models that detectors depend on. */
  readonly probes?: readonly DetectorProbe[];
}

export interface EngineOptions {
  /** Metrics of detectors; one set per process. */
  readonly instruments?: Instruments;
  /** Log; absent if no gateway serves. */
  readonly log?: Log | undefined;
  /** Calls a model for judge detectors; absent if no gateway serves, and then judges cannot run. */
  readonly callModel?: CallModel | undefined;
  /** Number of threads for long texts. */
  readonly threads?: number;
  /** True if other processes inspect the traffic; then nothing is prepared before it is needed. */
  readonly preparesDetectorsLazily?: boolean;
  /** Values that `fpe` wrote recently; if absent, this process remembers only its own. */
  readonly issued?: IssuedValues | undefined;
  /** Asks another process that has models in memory; if absent, this process loads them itself. */
  readonly askSession?: AskSession | undefined;
}

/** Compiles guardrails. Scan results are remembered across all documents that one engine compiles. */
export interface GuardrailEngine {
  /**
   * Compiles guardrails for serving. `models`: declared models in the cache; detectors with other models are not active.
   */
  readonly compile: (
    document: Deployment,
    models?: Views,
    providers?: ReadonlyMap<string, Provider>,
  ) => CompiledGuardrails;
  /** Builds detectors and rules. The result is not usable if a problem is an error. Rules are checked against `profiles`. */
  readonly assemble: (
    guardrails: Guardrails,
    profiles: readonly GuardedProfile[],
    at?: { readonly models?: Views; readonly providers?: ReadonlyMap<string, Provider> },
  ) => AssembledGuardrails;
  /** Notes that these guardrails are in use: models and connections that they do not use are closed once idle. */
  readonly keep: (guardrails: GuardrailSnapshot) => void;
  /** Answers other processes of this machine with the models in memory here. */
  readonly askSession: AskSession;
  /** Ends threads and connections; later calls fail. */
  readonly close: () => void;
}

/** Resources that are open for detectors and shared with other configurations. */
export interface OpenResources {
  /** Model sessions in use, in this process or on a server. */
  readonly sessions: ReadonlySet<string>;
  /** Origins of servers that are called. */
  readonly origins: ReadonlySet<string>;
  /** Steps that warm up the scanners of this thread, so that the first scan is as fast as later ones. */
  readonly warmUps: readonly (() => Iterator<void>)[];
  /** Functions that fetch information from servers before the first text needs it. */
  readonly contactServers: readonly ((signal: AbortSignal) => Promise<void>)[];
}

/** Detectors and rules that do not guard anyone yet. */
export interface AssembledGuardrails {
  /** Compiled parts; `undefined` if a detector could not be built. */
  readonly assembled:
    | {
        readonly ensemble: Ensemble;
        readonly policyOf: (profile: string | undefined) => GuardrailPolicy;
        readonly inForce: GuardrailsInForce;
        readonly rehearse: Rehearse;
        readonly prepare: Prepare | undefined;
        readonly probes: readonly DetectorProbe[];
        readonly resources: OpenResources;
      }
    | undefined;
  readonly problems: readonly GuardrailProblem[];
}

/** Guardrails that inspect no one. */
export const UNGUARDED: GuardrailSnapshot = Object.freeze({
  of: () => undefined,
  restorer: () => undefined,
  inForce: NOTHING_IN_FORCE,
  readsHeaders: false,
  rehearse: async (question: RehearsalQuestion) =>
    rehearsalOf({
      segments: rehearsalSegments(question),
      judgement: ALLOW_JUDGEMENT,
      failures: [],
      removed: [],
      detectors: [],
      hidden: new Map(),
    }),
});

const ALLOW_JUDGEMENT: Judgement = Object.freeze({
  outcome: "allow",
  rewrites: [],
  decisions: [],
  skipped: [],
  annotations: [],
  shadow: [],
  fpeDomainTooSmall: 0,
});

type GuardConfig = Pick<Guardrails, "stream" | "response" | "overlap">;

const DEFAULT_MAX_BODY_BYTES = 1 << 20;

export function createGuard(ensemble: Ensemble, policy: GuardrailPolicy, config: GuardConfig): Guard {
  const names = new Set(policy.detectors);
  const inForce = ensemble.members.filter(({ name }) => names.has(name));
  const kinds = new Set(inForce.flatMap((member) => [...member.kinds]));
  const answerDetectors = inForce.filter((member) => member.kinds.has("output"));
  const bounded = new Set(
    answerDetectors.filter(({ detector }) => detector.horizon !== undefined).map(({ name }) => name),
  );
  const readBounded = ensemble.stretchReader(bounded);
  const overlapping = new Set(inForce.filter(({ schedule }) => schedule === "overlap").map(({ name }) => name));
  const pending = overlapping.size === 0 ? undefined : overlapping;
  const inspectAsync: Guard["inspectAsync"] = (segments, { found }, tracer) =>
    ensemble.runLater(segments, found, names, tracer);
  return Object.freeze({
    kinds,
    readsRequests: [...kinds].some((kind) => kind !== "output"),
    readsBodies: REQUEST_KINDS.some((kind) => kinds.has(kind)),
    readsOutput: kinds.has("output"),
    readsAnswers: kinds.has("output") || kinds.has("tool_result"),
    open: policy.open,
    weigh: policy.weigh,
    answers: answerTerms(config, answerDetectors),
    scanStretch(segment, by, signal, except, tracer) {
      if (by === "bounded") return readBounded(segment, signal, tracer);
      const asked = except.size === 0 ? names : new Set([...names].filter((name) => !except.has(name)));
      const found = ensemble.run([segment], { names: asked, signal, tracer, isStreamSegment: true });
      return found instanceof Promise ? found.then((all) => without(all, bounded)) : without(found, bounded);
    },
    request(segments, occasion, signal, timeLeftMs) {
      const { judge } = policy.open(occasion);
      const found = ensemble.run(segments, { names, signal, schedule: "sync", timeLeftMs, tracer: occasion.tracer });
      return evaluateRules(found, ({ byDetector }) =>
        judge({ segments, found: byDetector, ...(pending !== undefined && { pending }) }),
      );
    },
    inspectOverlap:
      pending &&
      createOverlapInspection(ensemble, policy, { detectors: pending, onRedact: config.overlap?.on_redact ?? "deny" }),
    inspectMessage(segments, occasion, signal) {
      const { judge } = policy.open(occasion);
      const found = ensemble.run(segments, { names, signal, schedule: "alone", tracer: occasion.tracer });
      const runLaterIfAllowed = (guarded: GuardResult): GuardResult => {
        if (guarded.judgement?.outcome === "allow") inspectAsync(segments, guarded, occasion.tracer);
        return guarded;
      };
      const guarded = evaluateRules(found, ({ byDetector }) => judge({ segments, found: byDetector }));
      return guarded instanceof Promise ? guarded.then(runLaterIfAllowed) : runLaterIfAllowed(guarded);
    },
    inspectAsync,
    inspectAnswer(segments, { judge }, signal, tracer) {
      // Schedules concern requests only. On answers, every detector runs immediately.
      const found = ensemble.run(segments, { names, signal, tracer });
      return evaluateRules(found, ({ byDetector }) => judge({ segments, found: byDetector }));
    },
  } satisfies Guard);
}

/** Evaluates the rules, unless a detector that fails closed has failed. */
function evaluateRules(
  found: DetectionResult | Promise<DetectionResult>,
  judge: (found: DetectionResult) => Judgement,
): GuardResult | Promise<GuardResult> {
  if (found instanceof Promise) return found.then((all) => evaluateRules(all, judge));
  const isRefused = found.failures.some(({ isFatal }) => isFatal);
  return { found, failures: found.failures, judgement: isRefused ? undefined : judge(found) };
}

function createOverlapInspection(
  ensemble: Ensemble,
  policy: GuardrailPolicy,
  settings: OverlapOptions,
): InspectOverlap {
  const names = new Set(policy.detectors);
  return (segments, { variables, tracer }, earlier, signal) => {
    const found = ensemble.run(segments, { names, signal, schedule: "overlap", earlier: earlier.found, tracer });
    // This rewrites nothing and uses no placeholder number.
    const occasion: InspectionContext = { variables, rewriting: createRewriting() };
    const combined = evaluateRules(found, ({ byDetector }) => {
      const all = policy.judge({ segments, found: byDetector }, occasion);
      return earlier.judgement === undefined ? all : addedJudgement(earlier.judgement, all, settings);
    });
    const withoutEarlierFailures = (guarded: GuardResult): GuardResult => ({
      ...guarded,
      failures: guarded.failures.filter((failure) => !earlier.failures.includes(failure)),
    });
    return combined instanceof Promise ? combined.then(withoutEarlierFailures) : withoutEarlierFailures(combined);
  };
}

function answerTerms({ stream, response }: GuardConfig, readers: readonly Member[]): AnswerTerms {
  const maxBodyBytes = response?.max_body_bytes ?? DEFAULT_MAX_BODY_BYTES;
  return Object.freeze({
    policy: stream?.policy ?? "window",
    maxHoldBytes: stream?.max_hold_bytes ?? 512,
    onHoldOverflow: stream?.on_hold_overflow ?? "emit",
    liveHorizon: stream?.live_horizon ?? true,
    scanChunkBytes: stream?.scan_chunk_bytes,
    maxBufferBytes: maxBodyBytes,
    maxBodyBytes,
    onOversize: response?.on_oversize ?? "allow",
    reaches: compileReaches(
      readers.flatMap(({ name, detector }) =>
        (detector.horizon?.reaches ?? []).map((reach): Reach => ({ ...reach, name })),
      ),
    ),
    isOpenEnded: readers.some(({ detector }) => detector.horizon === undefined),
  } satisfies AnswerTerms);
}

const without = ({ byDetector, failures }: DetectionResult, names: ReadonlySet<string>): DetectionResult => ({
  byDetector: byDetector.filter(({ detector }) => !names.has(detector)),
  failures: failures.filter(({ detector }) => !names.has(detector)),
});

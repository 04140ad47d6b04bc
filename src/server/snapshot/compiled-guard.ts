/**
 * Guard of one population: its detectors in force, and the policy over their findings. This is everything that hops, the
 * inspector and rehearsals get. Source: design decisions, section 11.
 */
import type { Instruments, Log } from "../../base/index.ts";
import type { Deployment, Guardrails } from "../core/config/index.ts";
import {
  type AnswerTerms,
  type Beside,
  compileReaches,
  createRewriting,
  type Found,
  type Guard,
  type Guarded,
  type GuardrailPolicy,
  type GuardrailProblem,
  type InspectBeside,
  type Issued,
  type Judgement,
  judgedBeside,
  type Occasion,
  REQUEST_KINDS,
  type Reach,
  type Rehearsal,
  type RehearsalQuestion,
  rehearsalOf,
  rehearsedSegments,
} from "../core/guardrails/index.ts";
import type { AskSession, CallModel, DetectorProbe, Ensemble, Member, Views } from "../detectors/index.ts";
import type { Provider } from "../upstream/index.ts";
import { type GuardedProfile, type GuardrailsInForce, NOTHING_IN_FORCE } from "./in-force.ts";

export interface GuardrailSnapshot {
  /** `undefined` profile: a caller without one. Returns `undefined` if the caller is exempt or there are no detectors. */
  readonly of: (profile: string | undefined) => Guard | undefined;
  /** `types`: entity types as a fronted server or agent names them. Returns `undefined` if nothing is restored. */
  readonly restorer: (types: ReadonlySet<string>) => Restorer | undefined;
  readonly inForce: GuardrailsInForce;
  /** Whether some detector reads headers, for any population. */
  readonly readsHeaders: boolean;
  /** Judges texts without forwarding or recording. Rejects only with the signal's reason. */
  readonly rehearse: Rehearse;
}

export interface Restorer {
  /**
   * Restores the values that `fpe` wrote in each text of one message. `counts`: number of values by type. Returns `undefined`
   * if there are more candidates than are tried.
   */
  readonly restore: (
    texts: readonly string[],
  ) => { readonly texts: readonly string[]; readonly counts: Readonly<Record<string, number>> } | undefined;
  /** Places of values in a text of which it is proven that `fpe` wrote them. */
  readonly placesIn: (text: string) => readonly { readonly start: number; readonly end: number }[];
}

export type Rehearse = (question: RehearsalQuestion, signal: AbortSignal) => Promise<Rehearsal>;

/** Loads what detectors need and was not loaded yet, and answers what is wrong with it. Rejects with the signal's reason. */
export type Prepare = (signal: AbortSignal) => Promise<readonly GuardrailProblem[]>;

export interface CompiledGuardrails {
  /** Use it only if no problem is an error. */
  readonly guardrails: GuardrailSnapshot;
  readonly problems: readonly GuardrailProblem[];
  /** Runs before it is put in force; `undefined` if there is nothing to load. */
  readonly prepare?: Prepare | undefined;
  /** Probes of the servers and judge models that detectors depend on. */
  readonly probes?: readonly DetectorProbe[];
}

export interface EngineOptions {
  /** For counting detectors' work; one per process. */
  readonly instruments?: Instruments;
  /** Left out where no gateway serves. */
  readonly log?: Log | undefined;
  /** Left out where no gateway serves, and judges cannot be asked. */
  readonly callModel?: CallModel | undefined;
  /** Threads for long texts. */
  readonly threads?: number;
  /** Others inspect what flows: nothing is made ready before it is needed. */
  readonly isSpare?: boolean;
  /** Values that `fpe` wrote lately; if absent, this process remembers only its own. */
  readonly issued?: Issued | undefined;
  /** Another process has the models that others have in memory; left out, this one. */
  readonly askSession?: AskSession | undefined;
}

/** Compiles guardrails. Scan results are remembered across all documents that one engine compiles. */
export interface GuardrailEngine {
  /**
   * Compiles as a gateway does: also refuses what it cannot do yet. `models`: those in the cache; detectors of others are not
   * in force.
   */
  readonly compile: (
    document: Deployment,
    models?: Views,
    providers?: ReadonlyMap<string, Provider>,
  ) => CompiledGuardrails;
  /** Not usable if a problem is an error. `profiles`: those that rules are checked against. */
  readonly assemble: (
    guardrails: Guardrails,
    profiles: readonly GuardedProfile[],
    at?: { readonly models?: Views; readonly providers?: ReadonlyMap<string, Provider> },
  ) => AssembledGuardrails;
  /** Notes that compiled guardrails are in force: models and connections that they do not use are closed once idle. */
  readonly keep: (guardrails: GuardrailSnapshot) => void;
  /** Answers other processes of this machine with models in memory here. */
  readonly askSession: AskSession;
  /** Threads and connections end; what is asked of them from now on fails. */
  readonly close: () => void;
}

/** Resources open for detectors, shared with other configurations. */
export interface Held {
  /** Sessions of models, in this process or on a server. */
  readonly sessions: ReadonlySet<string>;
  /** Origins of servers that are called. */
  readonly origins: ReadonlySet<string>;
  /** Steps of what is scanned with on this thread, after which it is as fast as it ever is. */
  readonly warmUps: readonly (() => Iterator<void>)[];
  /** Fetch information from servers ahead of the first text, which gets the result. */
  readonly reaches: readonly ((signal: AbortSignal) => Promise<void>)[];
}

/** Detectors and rules, before they guard anybody. */
export interface AssembledGuardrails {
  /** `undefined` if a detector could not be built. */
  readonly assembled:
    | {
        readonly ensemble: Ensemble;
        readonly policyOf: (profile: string | undefined) => GuardrailPolicy;
        readonly inForce: GuardrailsInForce;
        readonly rehearse: Rehearse;
        readonly prepare: Prepare | undefined;
        readonly probes: readonly DetectorProbe[];
        readonly held: Held;
      }
    | undefined;
  readonly problems: readonly GuardrailProblem[];
}

/** Guardrails that inspect nobody. */
export const UNGUARDED: GuardrailSnapshot = Object.freeze({
  of: () => undefined,
  restorer: () => undefined,
  inForce: NOTHING_IN_FORCE,
  readsHeaders: false,
  rehearse: async (question: RehearsalQuestion) =>
    rehearsalOf({
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

export type GuardConfig = Pick<Guardrails, "stream" | "response" | "overlap">;

const DEFAULT_MAX_BODY_BYTES = 1 << 20;

export function createGuard(ensemble: Ensemble, policy: GuardrailPolicy, config: GuardConfig): Guard {
  const names = new Set(policy.detectors);
  const inForce = ensemble.members.filter(({ name }) => names.has(name));
  const kinds = new Set(inForce.flatMap((member) => [...member.kinds]));
  const readers = inForce.filter((member) => member.kinds.has("output"));
  const bounded = new Set(readers.filter(({ detector }) => detector.horizon !== undefined).map(({ name }) => name));
  const readBounded = ensemble.stretchReader(bounded);
  const overlapping = new Set(inForce.filter(({ schedule }) => schedule === "overlap").map(({ name }) => name));
  const pending = overlapping.size === 0 ? undefined : overlapping;
  const afterwards: Guard["afterwards"] = (segments, { found }, tracer) =>
    ensemble.runLater(segments, found, names, tracer);
  return Object.freeze({
    kinds,
    inspectsRequest: [...kinds].some((kind) => kind !== "output"),
    inspectsBody: REQUEST_KINDS.some((kind) => kinds.has(kind)),
    inspectsOutput: kinds.has("output"),
    inspectsAnswers: kinds.has("output") || kinds.has("tool_result"),
    open: policy.open,
    weigh: policy.weigh,
    answers: answerTerms(config, readers),
    stretch(segment, by, signal, except, tracer) {
      if (by === "bounded") return readBounded(segment, signal, tracer);
      const asked = except.size === 0 ? names : new Set([...names].filter((name) => !except.has(name)));
      const found = ensemble.run([segment], { names: asked, signal, tracer, isHere: true });
      return found instanceof Promise ? found.then((all) => without(all, bounded)) : without(found, bounded);
    },
    request(segments, occasion, signal, timeLeftMs) {
      const { judge } = policy.open(occasion);
      const found = ensemble.run(segments, { names, signal, schedule: "sync", timeLeftMs, tracer: occasion.tracer });
      return judged(found, ({ byDetector }) =>
        judge({ segments, found: byDetector, ...(pending !== undefined && { pending }) }),
      );
    },
    beside:
      pending && judgingBeside(ensemble, policy, { detectors: pending, onRedact: config.overlap?.on_redact ?? "deny" }),
    message(segments, occasion, signal) {
      const { judge } = policy.open(occasion);
      const found = ensemble.run(segments, { names, signal, schedule: "alone", tracer: occasion.tracer });
      const follow = (guarded: Guarded): Guarded => {
        if (guarded.judgement?.outcome === "allow") afterwards(segments, guarded, occasion.tracer);
        return guarded;
      };
      const guarded = judged(found, ({ byDetector }) => judge({ segments, found: byDetector }));
      return guarded instanceof Promise ? guarded.then(follow) : follow(guarded);
    },
    afterwards,
    answer(segments, { judge }, signal, tracer) {
      // Schedules concern requests only; answers are read at once.
      const found = ensemble.run(segments, { names, signal, tracer });
      return judged(found, ({ byDetector }) => judge({ segments, found: byDetector }));
    },
  } satisfies Guard);
}

/** If a detector that fails closed has failed, no rule is evaluated. */
function judged(found: Found | Promise<Found>, judge: (found: Found) => Judgement): Guarded | Promise<Guarded> {
  if (found instanceof Promise) return found.then((all) => judged(all, judge));
  const isRefused = found.failures.some(({ isFatal }) => isFatal);
  return { found, failures: found.failures, judgement: isRefused ? undefined : judge(found) };
}

function judgingBeside(ensemble: Ensemble, policy: GuardrailPolicy, how: Beside): InspectBeside {
  const names = new Set(policy.detectors);
  return (segments, { variables, tracer }, earlier, signal) => {
    const found = ensemble.run(segments, { names, signal, schedule: "overlap", earlier: earlier.found, tracer });
    // Rewrites nothing, and uses up no placeholder number.
    const occasion: Occasion = { variables, rewriting: createRewriting() };
    const again = judged(found, ({ byDetector }) => {
      const all = policy.judge({ segments, found: byDetector }, occasion);
      return earlier.judgement === undefined ? all : judgedBeside(earlier.judgement, all, how);
    });
    const newly = (guarded: Guarded): Guarded => ({
      ...guarded,
      failures: guarded.failures.filter((failure) => !earlier.failures.includes(failure)),
    });
    return again instanceof Promise ? again.then(newly) : newly(again);
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

const without = ({ byDetector, failures }: Found, names: ReadonlySet<string>): Found => ({
  byDetector: byDetector.filter(({ detector }) => !names.has(detector)),
  failures: failures.filter(({ detector }) => !names.has(detector)),
});

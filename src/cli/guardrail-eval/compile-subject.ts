/** Subject of an evaluation: the guardrails of a document, compiled as the gateway compiles them. */

import { anySignal } from "../../base/index.ts";
import { formatProblem, type Guardrails } from "../../server/core/config/index.ts";
import type { GuardrailPolicy } from "../../server/core/guardrails/index.ts";
import type { Ensemble } from "../../server/detectors/index.ts";
import {
  type ModelCallUsage,
  openStandaloneModelCalls,
  type ReadGuardrails,
  readGuardrailsAt,
  readGuardrailsIn,
  type StandaloneModelCalls,
} from "../../server/node/index.ts";
import {
  type AssembledGuardrails,
  type GuardrailEngine,
  loadGuardrailEngine,
  type Rehearse,
} from "../../server/snapshot/index.ts";
import { obtainModels } from "../models/obtain-models.ts";
import type { Io } from "../process-io.ts";

/** Timeout for loading models, in milliseconds; the largest take about ten seconds. */
const LOAD_LIMIT_MS = 180_000;

export interface Subject {
  readonly ensemble: Ensemble;
  /** Ensemble with every threshold at 0; `undefined` if not requested. */
  readonly unthresholdedEnsemble: Ensemble | undefined;
  /** Policy of a caller without a profile. */
  readonly policy: GuardrailPolicy;
  /** Configured threshold, or 0. */
  readonly scoreThreshold: number;
  readonly rehearse: Rehearse;
  /** Names of the profiles. */
  readonly profiles: readonly string[];
  readonly judges: readonly Judge[];
  /** Returns the calls of judge models so far. */
  readonly judgeCalls: () => readonly ModelCallUsage[];
  /** Ends threads and connections. */
  readonly close: () => Promise<void>;
}

/** Detector that sends texts to a paid model. */
interface Judge {
  readonly name: string;
  readonly provider: string;
  readonly model: string;
}

type CompiledSubject =
  | {
      readonly kind: "compiled";
      /** Configuration under test; it explains each finding. */
      readonly subject: Subject;
      readonly warnings: readonly string[];
    }
  /** Problems, one line each. */
  | { readonly kind: "refused"; readonly problems: readonly string[] };

/**
 * Compiles the configuration at `path`, an absolute path of a deployment document, or of a node file that names one.
 * Models that are not in the cache are fetched. Rejects with the signal's reason.
 */
export async function compileSubject(path: string, io: Io, { sweeps = false } = {}): Promise<CompiledSubject> {
  return await compileGuardrails(await readGuardrailsAt(path, io.env), io, { sweeps });
}

/** Compiles a deployment document that is already in memory. Files that it names are looked up in the folder of `path`. */
export async function compileSubjectIn(
  document: { readonly path: string; readonly name: string; readonly text: string },
  io: Io,
  sweeping: Sweeping = { sweeps: false },
): Promise<CompiledSubject> {
  return await compileGuardrails(await readGuardrailsIn(document, io.env), io, sweeping);
}

/** Options of a sweep. `detectorOfThreshold`: detector whose own threshold is swept. */
interface Sweeping {
  readonly sweeps: boolean;
  readonly detectorOfThreshold?: string | undefined;
}

async function compileGuardrails(read: ReadGuardrails, io: Io, sweeping: Sweeping): Promise<CompiledSubject> {
  if (read.kind === "refused") return read;
  const { warnings } = read;
  const obtained = await obtainModels(read, io);
  if (obtained.kind === "refused") return { kind: "refused", problems: [...warnings, ...obtained.problems] };
  const calls = read.judged && openStandaloneModelCalls(read.judged, io.env);
  const engine = await loadGuardrailEngine({ callModel: calls?.callModel });
  const close = async (): Promise<void> => {
    engine.close();
    await calls?.close();
  };
  try {
    const { subject, problems } = await compile(read, obtained.views, {
      engine,
      calls,
      close,
      ...sweeping,
      signal: io.signal,
    });
    if (subject === undefined) {
      await close();
      return { kind: "refused", problems: [...warnings, ...problems] };
    }
    return { kind: "compiled", subject, warnings: [...warnings, ...problems] };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Compiling extends Pick<Subject, "close">, Sweeping {
  readonly engine: GuardrailEngine;
  readonly calls: StandaloneModelCalls | undefined;
  readonly signal: AbortSignal;
}

/** Compiles the guardrails and loads the models. `problems`: one line each. `subject` is `undefined` if one is an error. */
async function compile(
  { guardrails, profiles, judged, problem }: Extract<ReadGuardrails, { kind: "read" }>,
  models: Extract<Awaited<ReturnType<typeof obtainModels>>, { kind: "obtained" }>["views"],
  { engine, calls, close, sweeps, detectorOfThreshold, signal }: Compiling,
): Promise<{ readonly subject: Subject | undefined; readonly problems: readonly string[] }> {
  type Problems = AssembledGuardrails["problems"];
  const linesOf = (problems: Problems) =>
    problems.map(({ path, message, severity }) => formatProblem(problem(path, message, severity)));
  const isRefused = ({ severity }: Problems[number]): boolean => severity === "error";
  const explainCase: Guardrails = { ...guardrails, explain: true };
  const at = { models, ...(judged !== undefined && { providers: judged.byName }) };
  const { assembled, problems: faults } = engine.assemble(explainCase, profiles, at);
  if (assembled === undefined || faults.some(isRefused)) return { subject: undefined, problems: linesOf(faults) };
  const limit = AbortSignal.timeout(LOAD_LIMIT_MS);
  const prepared = assembled.prepare?.(anySignal([signal, limit])).catch((error: unknown): Problems => {
    signal.throwIfAborted();
    if (!limit.aborted) throw error;
    const message = `the models of its detectors were not loaded within ${LOAD_LIMIT_MS / 1_000} s`;
    return [{ severity: "error", path: ["guardrails", "detectors"], message }];
  });
  const problems = [...faults, ...((await prepared) ?? [])];
  if (problems.some(isRefused)) return { subject: undefined, problems: linesOf(problems) };
  const { ensemble, policyOf, rehearse } = assembled;
  return {
    subject: {
      ensemble,
      unthresholdedEnsemble: sweeps
        ? engine.assemble(withoutThresholds(explainCase, detectorOfThreshold), profiles, at).assembled?.ensemble
        : undefined,
      policy: policyOf(undefined),
      scoreThreshold: guardrails.score_threshold ?? 0,
      rehearse,
      profiles: profiles.map(({ name }) => name),
      judges: judgesOf(guardrails),
      judgeCalls: () => calls?.usage() ?? [],
      close,
    },
    problems: linesOf(problems),
  };
}

/** Types of detectors that omit findings below their threshold themselves; without a threshold, below one half. */
const FILTERING_TYPES: ReadonlySet<string> = new Set(["classify", "embed", "remote"]);

const withoutThresholds = (guardrails: Guardrails, detectorOfThreshold: string | undefined): Guardrails => ({
  ...guardrails,
  detectors: guardrails.detectors.map((one) =>
    FILTERING_TYPES.has(one.type) || one.name === detectorOfThreshold ? { ...one, threshold: 0 } : one,
  ),
});

const judgesOf = ({ detectors }: Guardrails): readonly Judge[] =>
  detectors.flatMap(({ type, name = type, llm }) =>
    type === "llm" && llm !== undefined ? [{ name, provider: llm.provider, model: llm.model }] : [],
  );

/** Returns one notice per judge that will be called. `detector`: the only one that will run; `undefined` if all will. */
export const judgeNotices = ({ judges }: Subject, detector?: string): readonly string[] =>
  judges
    .filter(({ name }) => detector === undefined || name === detector)
    .map(
      ({ name, provider, model }) =>
        `note: the detector ${JSON.stringify(name)} sends texts to the model ${model} of ${provider}: each is a call like those of clients`,
    );

/** Returns one line per model that judges called. */
export const judgeCallTexts = ({ judgeCalls }: Subject): readonly string[] =>
  judgeCalls().map(
    ({ provider, model, calls, promptTokens }) =>
      `the model ${model} of ${provider} was called ${calls === 1 ? "once" : `${calls} times`}, with ${promptTokens} tokens`,
  );

/** What is evaluated: the guardrails of a document, compiled. The one place that knows how. */

import { formatProblem, type Guardrails, type Severity } from "../../server/core/config/index.ts";
import type { GuardrailPolicy, PolicyFacts } from "../../server/core/guardrails/index.ts";
import { compilePolicy } from "../../server/core/guardrails/policy/index.ts";
import {
  type BuildDetector,
  compileEnsemble,
  createPiiDetector,
  createScanCache,
  type Ensemble,
  type ScanCache,
} from "../../server/detectors/index.ts";
import { readGuardrailsAt } from "../../server/node/index.ts";

export interface Subject {
  readonly ensemble: Ensemble;
  readonly policy: GuardrailPolicy;
}

export type CompiledSubject =
  | {
      readonly kind: "compiled";
      /** As configured, with why each finding was made. */
      readonly configured: Subject;
      /** With every threshold at 0. */
      readonly lowered: Subject;
      readonly scoreThreshold: number;
      readonly warnings: readonly string[];
    }
  /** A line each. */
  | { readonly kind: "refused"; readonly problems: readonly string[] };

/** `path` is absolute: a deployment document, or a node file that names one. */
export async function compileSubject(
  path: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<CompiledSubject> {
  const read = await readGuardrailsAt(path, env);
  if (read.kind === "refused") return read;
  const { guardrails, problem, warnings } = read;
  const cache = createScanCache();
  const configured = compile({ ...guardrails, explain: true }, cache);
  const told = configured.problems.map((one) => formatProblem(problem(one.path, one.message, one.severity)));
  if (configured.subject === undefined) return { kind: "refused", problems: [...warnings, ...told] };
  const lowered = compile(withoutThresholds(guardrails), cache).subject ?? configured.subject;
  return {
    kind: "compiled",
    configured: configured.subject,
    lowered,
    scoreThreshold: guardrails.score_threshold ?? 0,
    warnings: [...warnings, ...told],
  };
}

const withoutThresholds = (guardrails: Guardrails): Guardrails => ({
  ...guardrails,
  explain: true,
  score_threshold: 0,
  detectors: guardrails.detectors.map((detector) => ({ ...detector, threshold: 0 })),
});

interface Attempt {
  /** Undefined where a problem is an error. */
  readonly subject: Subject | undefined;
  readonly problems: readonly {
    readonly path: readonly (string | number)[];
    readonly message: string;
    readonly severity: Severity;
  }[];
}

function compile(guardrails: Guardrails, cache: ScanCache): Attempt {
  const gives = new Map<string, readonly string[]>();
  const compiled = compileEnsemble(guardrails, { build: builder(gives), cache });
  if (compiled.kind === "refused") {
    return { subject: undefined, problems: compiled.problems.map((one) => ({ ...one, severity: "error" })) };
  }
  const { ensemble } = compiled;
  const { of, problems } = compilePolicy(guardrails, { detectors: factsOf(ensemble, gives), profiles: [] });
  const isSound = !problems.some(({ severity }) => severity === "error");
  return { subject: isSound ? { ensemble, policy: of(undefined) } : undefined, problems };
}

const factsOf = ({ members }: Ensemble, gives: ReadonlyMap<string, readonly string[]>): PolicyFacts["detectors"] =>
  members.map(({ detector, name, kinds, mode }) => ({
    name,
    type: detector.type,
    kinds: [...kinds],
    mode,
    gives: gives.get(name),
    hasHorizon: detector.horizon !== undefined,
  }));

/** `gives`: what each detector can find, by its name. */
const builder =
  (gives: Map<string, readonly string[]>): BuildDetector =>
  (config, name, guardrails) => {
    if (config.type !== "pii") {
      const message = `this version evaluates detectors of type \`pii\` alone, not \`${config.type}\``;
      return { kind: "refused", problems: [{ path: ["type"], message }] };
    }
    const built = createPiiDetector(config, name, guardrails.context_enhancement);
    if (built.kind === "detector") gives.set(name, built.gives);
    return built;
  };

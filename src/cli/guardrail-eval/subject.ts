/** What is evaluated: the guardrails of a document, compiled as the gateway compiles them. */

import { formatProblem, type Guardrails } from "../../server/core/config/index.ts";
import type { GuardrailPolicy } from "../../server/core/guardrails/index.ts";
import type { Ensemble } from "../../server/detectors/index.ts";
import { readGuardrailsAt } from "../../server/node/index.ts";
import {
  type AssembledGuardrails,
  type GuardedProfile,
  type GuardrailEngine,
  loadGuardrailEngine,
  type Rehearse,
} from "../../server/snapshot/index.ts";

/** For models, the largest of which take some ten seconds. */
const LOAD_LIMIT_MS = 180_000;

export interface Subject {
  readonly ensemble: Ensemble;
  /** Of a caller without a profile. */
  readonly policy: GuardrailPolicy;
  readonly rehearse: Rehearse;
  /** Names of the profiles. */
  readonly profiles: readonly string[];
}

export type CompiledSubject =
  | {
      readonly kind: "compiled";
      /** As configured, with why each finding was made. */
      readonly subject: Subject;
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
  const { guardrails, profiles, problem, warnings } = read;
  const engine = await loadGuardrailEngine();
  const configured = await compile(engine, { ...guardrails, explain: true }, profiles);
  const told = configured.problems.map((one) => formatProblem(problem(one.path, one.message, one.severity)));
  if (configured.subject === undefined) return { kind: "refused", problems: [...warnings, ...told] };
  return { kind: "compiled", subject: configured.subject, warnings: [...warnings, ...told] };
}

interface Attempt {
  /** Undefined where a problem is an error. */
  readonly subject: Subject | undefined;
  readonly problems: AssembledGuardrails["problems"];
}

/** Its models are loaded. */
async function compile(
  engine: GuardrailEngine,
  guardrails: Guardrails,
  profiles: readonly GuardedProfile[],
): Promise<Attempt> {
  const { assembled, problems: told } = engine.assemble(guardrails, profiles);
  const isRefused = ({ severity }: AssembledGuardrails["problems"][number]): boolean => severity === "error";
  if (assembled === undefined || told.some(isRefused)) return { subject: undefined, problems: told };
  const problems = [...told, ...((await assembled.prepare?.(AbortSignal.timeout(LOAD_LIMIT_MS))) ?? [])];
  if (problems.some(isRefused)) return { subject: undefined, problems };
  const { ensemble, policyOf, rehearse } = assembled;
  const names = profiles.map(({ name }) => name);
  return { subject: { ensemble, policy: policyOf(undefined), rehearse, profiles: names }, problems };
}

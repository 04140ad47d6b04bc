/** Checks of `guardrails`: detectors, their configuration and rules. Spec: document 3. */

import type { Path, Problem, ProblemAt } from "../../problem.ts";
import { DETECTOR_TYPES, type Detector } from "../guardrails/index.ts";
import { providerName } from "../providers.ts";
import { type Check, unknownName, unknownNames } from "./check.ts";

export const checkDetectors: Check = ({ guardrails, models, providers }, problem) => {
  const known = {
    models: new Set((models?.models ?? []).map(({ name }) => name)),
    providers: new Set(providers.flatMap((provider) => providerName(provider) ?? [])),
  };
  return (guardrails?.detectors ?? []).flatMap((detector, at) => {
    const path = ["guardrails", "detectors", at];
    return [
      ...configurationProblems(detector, problem, path),
      ...roleProblems(detector, problem, path),
      ...scheduleProblems(detector, problem, path),
      ...modelProblems(detector, known.models, problem, path),
      ...judgeProblems(detector, known.providers, problem, path),
    ];
  });
};

/** Checks that only the configuration object that belongs to `type` is present; others would be ignored silently. */
function configurationProblems(detector: Detector, problem: ProblemAt, path: Path): readonly Problem[] {
  const { type } = detector;
  const found: Problem[] = [];
  if (type !== "pii" && detector[type] === undefined) {
    found.push(problem(path, `a detector of type \`${type}\` needs the object \`${type}\``));
  }
  for (const other of DETECTOR_TYPES) {
    if (other === "pii" || other === type || detector[other] === undefined) continue;
    found.push(problem([...path, other], `\`${other}\` is not read by a detector of type \`${type}\``));
  }
  for (const key of ["custom_recognizers", "recognizers", "phone_regions"] as const) {
    if (type === "pii" || detector[key] === undefined) continue;
    found.push(problem([...path, key], `\`${key}\` is read only by a detector of type \`pii\``));
  }
  return found;
}

function roleProblems(detector: Detector, problem: ProblemAt, path: Path): readonly Problem[] {
  if (detector.role === "confirm") return [];
  return (["confirm_window", "narrow_spans"] as const)
    .filter((key) => detector[key] !== undefined && detector[key] !== false)
    .map((key) => problem([...path, key], `\`${key}\` is read only with \`role: confirm\``));
}

/** Warns if a schedule has no effect, since answers are inspected as they arrive whatever the schedule. */
function scheduleProblems({ schedule, apply_to: kinds }: Detector, problem: ProblemAt, path: Path): readonly Problem[] {
  if (schedule === "sync" || kinds === undefined || kinds.length === 0) return [];
  if (kinds.some((kind) => kind !== "output")) return [];
  const message = `\`${schedule}\` only applies to requests, but this detector only reads answers: it runs inline`;
  return [problem([...path, "schedule"], message, "warning")];
}

function modelProblems(
  detector: Detector,
  models: ReadonlySet<string>,
  problem: ProblemAt,
  path: Path,
): readonly Problem[] {
  return (["nlp", "classify", "embed"] as const).flatMap((type) => {
    const config = detector[type];
    if (config === undefined) return [];
    const at = [...path, type];
    const { ref, remote, model, library, tokenizer } = config;
    const found: Problem[] = [];
    if (ref !== undefined && !models.has(ref)) {
      found.push(problem([...at, "ref"], unknownName("declared model", ref, models)));
    }
    if (ref !== undefined && model !== undefined) {
      found.push(problem([...at, "model"], "with `ref` the graph comes from the declared model: remove `model`"));
    }
    if (remote !== undefined && model !== undefined) {
      found.push(problem([...at, "model"], "with `remote` the graph runs on the server: remove `model`"));
    }
    if (remote !== undefined && library !== undefined) {
      found.push(problem([...at, "library"], "with `remote` no graph runs on this machine: remove `library`"));
    }
    if (ref === undefined && tokenizer === undefined) found.push(problem(at, "this needs `tokenizer` or `ref`"));
    if (ref === undefined && remote === undefined && model === undefined) {
      found.push(problem(at, "this needs `model`, `ref` or `remote`"));
    }
    if ((config.stride ?? 0) >= config.max_tokens) {
      found.push(problem([...at, "stride"], "`stride` must be less than `max_tokens`"));
    }
    return found;
  });
}

function judgeProblems(
  { llm }: Detector,
  providers: ReadonlySet<string>,
  problem: ProblemAt,
  path: Path,
): readonly Problem[] {
  if (llm === undefined) return [];
  const found: Problem[] = [];
  if (!providers.has(llm.provider)) {
    found.push(problem([...path, "llm", "provider"], unknownName("provider", llm.provider, providers)));
  }
  if (llm.format === "guard_codes" && (llm.context ?? []).length > 0) {
    found.push(problem([...path, "llm", "context"], "a judge with `format: guard_codes` does not support `context`"));
  }
  return found;
}

/** Keys of a validator that only one kind reads. */
const READ_BY = {
  mod: "iso7064",
  weights: "weighted",
  modulus: "weighted",
  prefix: "crc32_base62",
  sum_len: "crc32_base62",
} as const;

export const checkRecognizers: Check = ({ guardrails }, problem) =>
  (guardrails?.detectors ?? []).flatMap((detector, at) =>
    (detector.custom_recognizers ?? []).flatMap(({ patterns, deny_list, validator }, position) => {
      const path = ["guardrails", "detectors", at, "custom_recognizers", position];
      const found: Problem[] = [];
      if ((patterns ?? []).length === 0 && (deny_list ?? []).length === 0) {
        found.push(problem(path, "a recognizer needs `patterns` or a `deny_list`"));
      }
      if (validator?.kind === "weighted" && (validator.weights === undefined || validator.modulus === undefined)) {
        found.push(problem([...path, "validator"], "a validator of kind `weighted` needs `weights` and `modulus`"));
      }
      if (validator?.kind === "crc32_base62" && validator.sum_len === undefined) {
        found.push(problem([...path, "validator"], "a validator of kind `crc32_base62` needs `sum_len`"));
      }
      for (const [key, kind] of Object.entries(READ_BY)) {
        if (validator === undefined || validator.kind === kind || !Object.hasOwn(validator, key)) continue;
        const message = `is read only by a validator of kind \`${kind}\``;
        found.push(problem([...path, "validator", key], message, "warning"));
      }
      return found;
    }),
  );

export const checkGuardrailRules: Check = ({ guardrails }, problem) => {
  if (guardrails === undefined) return [];
  const detectors = new Set(guardrails.detectors.map(({ name, type }) => name ?? type));
  return guardrails.rules.flatMap(({ requires, action, operator }, at) => {
    const path = ["guardrails", "rules", at];
    const found: Problem[] = [...unknownNames("detector", requires ?? [], detectors, [...path, "requires"], problem)];
    if (action !== "redact") return found;
    const key = operator === "pseudonym" ? "pseudonym_key" : operator === "fpe" ? "fpe_key" : undefined;
    if (key !== undefined && guardrails[key] === undefined) {
      found.push(problem([...path, "operator"], `the operator \`${operator}\` needs \`guardrails.${key}\``));
    }
    return found;
  });
};

/** Guards built from a document as in a gateway, with the test's own detectors beside the configured ones. */
import { createInstruments, nullLog } from "../../../../src/base/index.ts";
import { readDeployment } from "../../../../src/server/core/config/index.ts";
import {
  createGuardrailMetrics,
  createRewriting,
  type Detector,
  type GuardrailMetrics,
  type InspectionContext,
} from "../../../../src/server/core/guardrails/index.ts";
import { compilePolicy } from "../../../../src/server/core/guardrails/policy/index.ts";
import { compileEnsemble, createPiiDetector } from "../../../../src/server/detectors/index.ts";
import { createGuard, type Guard } from "../../../../src/server/snapshot/index.ts";

const NOTHING = { kind: "problem", message: "there are no secrets here" } as const;

/** `guardrails` of a document, as JSON. `own` has detectors by name, which have any type in the document. */
export function guardOf(guardrails: object, own: Readonly<Record<string, Detector>> = {}): Guard {
  const text = JSON.stringify({ providers: [{ preset: "openai" }], guardrails });
  const read = readDeployment(
    { name: "d", text },
    { env: () => undefined, secret: () => NOTHING, file: () => NOTHING },
  );
  const config = read.document?.guardrails;
  if (config === undefined) throw new Error(JSON.stringify(read.problems));
  const compiled = compileEnsemble(config, {
    build: (detector, name) => {
      const detectorInput = own[name];
      return detectorInput === undefined
        ? createPiiDetector(detector, name, true)
        : { kind: "detector", detector: detectorInput };
    },
  });
  if (compiled.kind === "refused") throw new Error(JSON.stringify(compiled.problems));
  const { ensemble } = compiled;
  const detectors = ensemble.members.map(({ name, detector, kinds, mode, schedule }) => ({
    name,
    type: detector.type,
    kinds: [...kinds],
    mode,
    schedule,
    findingTypes: undefined,
    hasHorizon: detector.horizon !== undefined,
  }));
  const { of } = compilePolicy(config, { detectors, profiles: [] });
  return createGuard(ensemble, of(undefined), config);
}

export const occasion = (): InspectionContext => ({
  variables: {
    key: { name: "", metadata: {} },
    agent: { name: "", issuer: "", subject: "" },
    user: { name: "", issuer: "", subject: "", email: "" },
    direction: "request",
    hop: "llm",
    profile: "",
    model: "m",
    route: "chat_completions",
    server: "",
    method: "",
    name: "",
    peer: "",
  },
  rewriting: createRewriting(),
});

/** Counters by series, as an operator reads them. */
export function countedMetrics(): { readonly metrics: GuardrailMetrics; readonly counted: Record<string, number> } {
  const counted: Record<string, number> = {};
  const metrics = createGuardrailMetrics(createInstruments(), nullLog, () => performance.now());
  const count = (name: string): void => {
    counted[name] = (counted[name] ?? 0) + 1;
  };
  return {
    counted,
    metrics: {
      ...metrics,
      countUnproven: (detector) => count(`unproven ${detector}`),
      countOversize: () => count("oversize"),
      uninspected: (what) => count(`uninspected ${what}`),
      observeHeldBytes: (bytes) => count(`held ${bytes > 0}`),
    },
  };
}

/**
 * Lists the models that a document's detectors need, and which parts of them. Models without a detector are not
 * fetched.
 */
import type { Deployment } from "../core/config/index.ts";
import type { ModelDeclaration, ModelParts } from "./types.ts";

export interface ModelNeed {
  readonly model: ModelDeclaration;
  readonly parts: ModelParts;
}

const TYPES = ["nlp", "classify", "embed"] as const;

/** Returns one entry per referenced model, in order of reference; `whole` if at least one detector runs its graph locally. */
export function modelNeeds({ guardrails, models }: Pick<Deployment, "guardrails" | "models">): readonly ModelNeed[] {
  const declared = new Map((models?.models ?? []).map((model) => [model.name, model]));
  const needs = new Map<string, ModelNeed>();
  for (const detector of guardrails?.detectors ?? []) {
    for (const type of TYPES) {
      const model = declared.get(detector[type]?.ref ?? "");
      if (model === undefined || detector.type !== type) continue;
      const isRemote = detector[type]?.remote !== undefined;
      const before = needs.get(model.name)?.parts;
      needs.set(model.name, { model, parts: isRemote && before !== "whole" ? "text" : "whole" });
    }
  }
  return [...needs.values()];
}

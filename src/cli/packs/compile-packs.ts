/** Adds packs to a document and compiles the result as the gateway does. */

import { formatProblem, type Source } from "../../server/core/config/index.ts";
import { type AddedObject, addPacks, type BaseOf, type Pack } from "../../server/core/packs/index.ts";
import { compileWithoutNode } from "../../server/node/index.ts";
import type { Io } from "../process-io.ts";

type Compiled = Awaited<ReturnType<typeof compileWithoutNode>>;

export type CompiledPacks =
  | {
      readonly kind: "compiled";
      readonly text: string;
      readonly objects: readonly AddedObject[];
      readonly compiled: Exclude<Compiled["compiled"], { readonly kind: "refused" }>;
      readonly deployment: Compiled["deployment"];
    }
  /** Problems, one line each. */
  | { readonly kind: "refused"; readonly problems: readonly string[] };

/** Adds the packs to the document and compiles it. */
export async function compileWith(
  source: Source,
  packs: readonly Pack[],
  baseOf: BaseOf,
  io: Io,
): Promise<CompiledPacks> {
  const adding = addPacks(source, packs, baseOf);
  if (adding.kind === "refused") return adding;
  const { text, objects } = adding;
  // A pack with nothing but control identifiers adds no text, and an empty document must be written as `{}`.
  const whole = text.trim() === "" ? "{}\n" : text;
  const { compiled, deployment } = await compileWithoutNode({ name: source.name, text: whole }, io.env);
  if (compiled.kind === "refused") {
    const errors = compiled.problems.filter(({ severity }) => severity === "error");
    return { kind: "refused", problems: errors.map(formatProblem) };
  }
  return { kind: "compiled", text: whole, objects, compiled, deployment };
}

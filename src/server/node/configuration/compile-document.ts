/** Compiles a deployment document without a node file, the way the gateway compiles it. */

import type { Source } from "../../core/config/index.ts";
import { PLACEHOLDER_SECRET } from "../../secrets/index.ts";
import { loadGuardrails, loadRules } from "../../snapshot/index.ts";
import { type CompiledSources, compileSources } from "./compile-sources.ts";

/**
 * Compiles one document. Variables must be set; secrets and files belong to the nodes, and are assumed to exist. Names of
 * issuers, and overlay files, are not checked.
 */
export async function compileWithoutNode(
  source: Source,
  env: Readonly<Record<string, string | undefined>>,
): Promise<CompiledSources> {
  const standIn = () => ({ kind: "value", value: PLACEHOLDER_SECRET }) as const;
  return compileSources({
    sources: [source],
    env,
    secrets: { secret: standIn, file: standIn },
    fileOverlays: [],
    rules: await loadRules([source.text]),
    guardrails: await loadGuardrails([source.text]),
  });
}

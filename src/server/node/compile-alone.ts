/** Compiles a deployment document without a node file, the way the gateway compiles it. */

import type { Source } from "../core/config/index.ts";
import { STAND_IN } from "../secrets/index.ts";
import { loadGuardrails, loadRules } from "../snapshot/index.ts";
import { type CompiledSources, compileSources } from "./sources.ts";

/**
 * Variables must be set; secrets and files are the nodes' to have, and are taken to be there. Names of issuers, and overlays
 * of files, are not looked up.
 */
export async function compileAlone(
  source: Source,
  env: Readonly<Record<string, string | undefined>>,
): Promise<CompiledSources> {
  const standIn = () => ({ kind: "value", value: STAND_IN }) as const;
  return compileSources({
    sources: [source],
    env,
    secrets: { secret: standIn, file: standIn },
    fileOverlays: [],
    rules: await loadRules([source.text]),
    guardrails: await loadGuardrails([source.text]),
  });
}

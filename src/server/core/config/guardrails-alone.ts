/**
 * `guardrails` of a deployment document and nothing else of it: what evaluation needs, so that a machine without the keys of
 * the providers can evaluate.
 */

import { guardrails } from "./deployment/guardrails/index.ts";
import { type Deployment, deploymentChecks, type Guardrails } from "./deployment/index.ts";
import { readDeployment } from "./documents.ts";
import { type Read, readParsed } from "./read.ts";
import type { References } from "./references.ts";
import { object } from "./schema.ts";
import { parseTree, type Source } from "./tree.ts";

interface GuardrailsAlone {
  readonly guardrails?: Guardrails;
}

const alone = object("The part of a deployment document that is evaluated.", { guardrails });

/** References that stand elsewhere in the document are not resolved, and mistakes elsewhere are not told. */
export function readGuardrails(source: Source, references: References): Read<GuardrailsAlone> {
  const parsed = parseTree(source);
  const { tree } = parsed;
  const part =
    tree?.kind === "map"
      ? { ...tree, entries: new Map([...tree.entries].filter(([key]) => key === "guardrails")) }
      : tree;
  return readParsed<GuardrailsAlone>(alone, { ...parsed, tree: part }, references, {
    fileAllowed: true,
    warnOfLiterals: true,
    whenEmpty: "the deployment document is empty",
    checks: ({ guardrails: own }, problem) => {
      const empty: Deployment | undefined = readDeployment({ name: source.name, text: "{}" }, references).document;
      return empty === undefined || own === undefined ? [] : deploymentChecks({ ...empty, guardrails: own }, problem);
    },
  });
}

/**
 * `guardrails` of a deployment document, which detectors its profiles select, and nothing else of it: what evaluation and
 * rehearsals need, so that a machine without the keys of the providers can do them.
 */

import { guardrails } from "./deployment/guardrails/index.ts";
import { type Deployment, deploymentChecks, type Guardrails } from "./deployment/index.ts";
import { guardedProfiles } from "./deployment/profiles.ts";
import { readDeployment } from "./documents.ts";
import { type Read, readParsed } from "./read.ts";
import type { References } from "./references.ts";
import { object, type TypeOf } from "./schema.ts";
import { parseTree, type Source, type Tree } from "./tree.ts";

interface GuardrailsAlone {
  readonly guardrails?: Guardrails;
  readonly profiles?: TypeOf<typeof guardedProfiles>;
}

const alone = object("The part of a deployment document that is evaluated.", {
  guardrails,
  profiles: guardedProfiles,
});

const only = (tree: Tree, ...keys: readonly string[]): Tree =>
  tree.kind === "map" ? { ...tree, entries: new Map([...tree.entries].filter(([key]) => keys.includes(key))) } : tree;

/** What is read of the document. */
function partOf(tree: Tree): Tree {
  const part = only(tree, "guardrails", "profiles");
  const profiles = part.kind === "map" ? part.entries.get("profiles") : undefined;
  if (part.kind !== "map" || profiles?.value.kind !== "list") return part;
  const { value } = profiles;
  const items = value.items.map((item) => only(item, "name", "guardrails"));
  return { ...part, entries: new Map([...part.entries, ["profiles", { ...profiles, value: { ...value, items } }]]) };
}

/** Who has a profile, and what it spends from, stands elsewhere in the document. */
const IS_READ = /^(guardrails|profiles\[\d+\]\.guardrails)\b/;

/** References that stand elsewhere in the document are not resolved, and mistakes elsewhere are not told. */
export function readGuardrails(source: Source, references: References): Read<GuardrailsAlone> {
  const parsed = parseTree(source);
  const { tree } = parsed;
  return readParsed<GuardrailsAlone>(alone, { ...parsed, tree: tree && partOf(tree) }, references, {
    fileAllowed: true,
    warnOfLiterals: true,
    whenEmpty: "the deployment document is empty",
    checks: ({ guardrails: own, profiles = [] }, problem) => {
      const empty: Deployment | undefined = readDeployment({ name: source.name, text: "{}" }, references).document;
      if (empty === undefined || own === undefined) return [];
      return deploymentChecks({ ...empty, guardrails: own, profiles }, problem).filter(({ path }) =>
        IS_READ.test(path),
      );
    },
  });
}

/** Checks that no two entries of a named list have the same name. */

import { type Path, type Problem, type ProblemAt, shown } from "../../problem.ts";
import type { Deployment } from "../deployment.ts";
import { providerName } from "../providers.ts";
import type { Check } from "./check.ts";

interface NamedList {
  readonly path: Path;
  /** Noun that completes "two … have the name". */
  readonly what: string;
  /** Names of the entries; `undefined` for an entry without a name, which another check reports. */
  readonly names: readonly (string | undefined)[];
}

interface Named {
  readonly name: string;
}

export const checkNames: Check = (document, problem) =>
  namedLists(document).flatMap((namedList) => repeatedNames(namedList, problem));

export function repeatedNames({ path, what, names }: NamedList, problem: ProblemAt): readonly Problem[] {
  const first = new Map<string, number>();
  const found: Problem[] = [];
  for (const [at, name] of names.entries()) {
    if (name === undefined) continue;
    const before = first.get(name);
    if (before === undefined) first.set(name, at);
    else
      found.push(
        problem(
          [...path, at],
          `two ${what} have the name ${shown(name)}, the first is entry ${before + 1} of this list`,
        ),
      );
  }
  return found;
}

function namedLists(document: Deployment): readonly NamedList[] {
  const guardrails = document.guardrails;
  return [
    named(["credentials"], "credentials", document.credentials),
    named(["catalog_overlays"], "catalog overlays", document.catalog_overlays),
    {
      path: ["providers"],
      what: "providers (one without a name has the name of its preset)",
      names: document.providers.map(providerName),
    },
    ...document.providers.map((provider, at) =>
      named(["providers", at, "pool", "subsets"], "subsets of this pool", provider.pool?.subsets),
    ),
    named(["budgets"], "budgets", document.budgets),
    named(["profiles"], "profiles", document.profiles),
    ...(document.profiles ?? []).map((profile, at) =>
      named(["profiles", at, "access_rules"], "access rules of this profile", profile.access_rules),
    ),
    named(["access_rules"], "access rules", document.access_rules),
    named(["mcp"], "MCP servers", document.mcp),
    named(["a2a"], "agents", document.a2a),
    {
      path: ["reconcile", "providers"],
      what: "audited providers",
      names: (document.reconcile?.providers ?? []).map(({ provider }) => provider),
    },
    {
      path: ["guardrails", "detectors"],
      what: "detectors (one without a name has its type for a name)",
      names: (guardrails?.detectors ?? []).map(({ name, type }) => name ?? type),
    },
    ...(guardrails?.detectors ?? []).flatMap((detector, at) => [
      named(["guardrails", "detectors", at, "custom_recognizers"], "recognizers", detector.custom_recognizers),
      named(["guardrails", "detectors", at, "embed", "topics"], "topics", detector.embed?.topics),
    ]),
    named(["guardrails", "rules"], "guardrail rules", guardrails?.rules),
    named(["models", "models"], "models", document.models?.models),
  ];
}

function named(path: Path, what: string, entries: readonly Named[] = []): NamedList {
  return { path, what, names: entries.map(({ name }) => name) };
}

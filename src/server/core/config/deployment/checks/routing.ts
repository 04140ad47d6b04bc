/** Checks of routing: the default provider, models that two providers claim, and models that no provider claims. */

import { closestName } from "../../../../../base/index.ts";
import { type Path, type Problem, shown } from "../../problem.ts";
import { type ProviderConfig, providerName } from "../providers.ts";
import { type Check, COMPARED_NAMES, unknownName } from "./check.ts";

export const checkDefaultProvider: Check = ({ default_provider, providers }, problem) => {
  const names = providers.flatMap((provider) => providerName(provider) ?? []);
  if (default_provider !== undefined) {
    return names.includes(default_provider)
      ? []
      : [problem(["default_provider"], unknownName("provider", default_provider, names))];
  }
  if (providers.length < 2 || providers.some((provider) => claimsOf(provider).length > 0)) return [];
  return [
    problem(
      ["providers"],
      "no request can be routed: no provider has `models` or `model_aliases`, and `default_provider` is not set",
      "warning",
    ),
  ];
};

/** Reports providers that serve no request; most likely they lack `models`. Skipped if routing does not work at all. */
export const checkReachable: Check = ({ default_provider, providers, guardrails }, problem) => {
  if (providers.length < 2 || providers.every((provider) => claimsOf(provider).length === 0)) return [];
  const reached = new Set([
    default_provider,
    ...providers.flatMap((provider) => provider.failover?.to ?? []),
    ...(guardrails?.detectors ?? []).map((detector) => detector.llm?.provider),
  ]);
  return providers.flatMap((provider, at) => {
    if (claimsOf(provider).length > 0 || reached.has(providerName(provider))) return [];
    return [
      problem(
        ["providers", at],
        "no request reaches this provider: it has no `models` or `model_aliases`, it is not the `default_provider`, and no `failover.to` names it",
        "warning",
      ),
    ];
  });
};

interface Claim {
  /** Model name, or a prefix that ends in `*`. */
  readonly model: string;
  readonly path: Path;
}

function claimsOf(provider: ProviderConfig): readonly Claim[] {
  return [
    ...(provider.models ?? []).map((model, at) => ({ model, path: ["models", at] })),
    ...Object.keys(provider.model_aliases ?? {}).map((model) => ({ model, path: ["model_aliases", model] })),
  ];
}

/**
 * Reports model claims without effect, because an earlier provider claims the same models or more. Claims are looked up by each
 * of their prefixes, so that the work is linear in the size of the text.
 */
export const checkShadowedModels: Check = ({ providers }, problem) => {
  const owners = new Map<string, string>();
  const failovers = new Map(providers.map((it) => [providerName(it) ?? "", new Set(it.failover?.to)]));
  const isFailoverOf = (owner: string, provider: ProviderConfig): boolean =>
    failovers.get(owner)?.has(providerName(provider) ?? "") === true;
  const found: Problem[] = [];
  for (const [at, provider] of providers.entries()) {
    const claims = claimsOf(provider);
    for (const { model, path } of claims) {
      const earlier = coveringClaim(model, owners);
      if (earlier === undefined) continue;
      const owner = owners.get(earlier) ?? "";
      // The alias translates the model's name when the owner fails over to this provider.
      if (path[0] === "model_aliases" && isFailoverOf(owner, provider)) continue;
      const what = path[0] === "model_aliases" ? "this alias" : "this model";
      found.push(
        problem(
          ["providers", at, ...path],
          `${what} is never served here: provider ${shown(owner)} comes first and claims ${shown(earlier)}`,
          "warning",
        ),
      );
    }
    for (const { model } of claims) {
      if (!owners.has(model)) owners.set(model, providerName(provider) ?? "");
    }
  }
  return found;
};

function coveringClaim(model: string, owners: { has(claim: string): boolean }): string | undefined {
  if (owners.has(model)) return model;
  const literal = model.endsWith("*") ? model.slice(0, -1) : model;
  for (let length = 0; length <= literal.length; length++) {
    const prefix = `${literal.slice(0, length)}*`;
    if (owners.has(prefix)) return prefix;
  }
  return undefined;
}

/** Reports allowed models that no provider serves. With a default provider, every model is served. */
export const checkAllowedModels: Check = ({ default_provider, providers, profiles }, problem) => {
  if (default_provider !== undefined || providers.length === 1) return [];
  const claims = new Set(providers.flatMap((provider) => claimsOf(provider).map(({ model }) => model)));
  const literals = [...claims].map((model) => (model.endsWith("*") ? model.slice(0, -1) : model)).sort();
  const isRouted = (model: string): boolean =>
    coveringClaim(model, claims) !== undefined || (model.endsWith("*") && hasBeginning(model.slice(0, -1), literals));
  return (profiles ?? []).flatMap(({ allowed_models = [] }, at) =>
    allowed_models.flatMap((model, position) => {
      if (isRouted(model)) return [];
      const meant = closestName(model, [...claims].slice(0, COMPARED_NAMES));
      const hint = meant === undefined ? "" : `; did you mean ${shown(meant)}?`;
      const message = `allows nothing: no provider lists such a model, and there is no \`default_provider\`${hint}`;
      return [problem(["profiles", at, "allowed_models", position], message, "warning")];
    }),
  );
};

/** Returns true if one of the sorted texts begins with `beginning`. */
function hasBeginning(beginning: string, sorted: readonly string[]): boolean {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? "") < beginning) low = middle + 1;
    else high = middle;
  }
  return sorted[low]?.startsWith(beginning) === true;
}

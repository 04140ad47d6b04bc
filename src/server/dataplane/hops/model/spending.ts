/** Calculates the budget demand of a request before it is forwarded. Source: cluster reference, 7.2 rule 1. */
import type { TokenBounds } from "../../../core/budgets/index.ts";
import { tokenBounds } from "../../../core/dialects/index.ts";
import type { Spending } from "../../budgets/index.ts";
import type { EffectiveProfile } from "../../governance/effective-profile.ts";
import type { RequestNames } from "../../governance/request-cache.ts";
import type { AdmittedProvider } from "./admit.ts";
import type { Target } from "./resolve-target.ts";
import type { TranslatedCall } from "./translated-call.ts";

/** Returns the demand, or `undefined` if the route costs nothing or the caller has no budget. */
export function requestSpending(
  target: Target,
  { provider, model = "", translated }: AdmittedProvider,
  effective: EffectiveProfile,
): Spending | undefined {
  const { budget } = effective.profile;
  const { route } = target;
  if (budget === undefined || route.usage === "none") return undefined;
  // Without a body no cost can be estimated, but usage that the answer reports is charged.
  const bounds = route.usage === "always" || target.plain.length > 0 ? boundsOf(target, translated) : undefined;
  return {
    rule: budget,
    bucket: effective.bucket,
    averageKey: averageKeyOf(target, { provider, upstreamModel: model }, effective, bounds),
    at: { model, backend: provider.name },
    demand: bounds === undefined ? { kind: "atLeast", units: 1 } : { kind: "tokens", bounds },
  };
}

/** Returns the bounds of the request as it is sent: translation may have raised or added the output limit. */
function boundsOf({ plain, isJson, route }: Target, translated: TranslatedCall | undefined): TokenBounds {
  if (translated === undefined) return tokenBounds(plain, isJson, route);
  return tokenBounds(translated.body, true, translated.route);
}

/** Returns the name under which costs of similar requests are averaged. Each name is built once, because it is a map key. */
function averageKeyOf(
  { route, model, label }: Target,
  { provider, upstreamModel }: Pick<RequestNames, "provider" | "upstreamModel">,
  { profile, requests }: EffectiveProfile,
  bounds: TokenBounds | undefined,
): string {
  const request = requests.entryFor({ provider, route: route.name, model, upstreamModel });
  if (request.averageKeys === undefined || request.label !== label) {
    request.label = label;
    request.averageKeys = new Map();
  }
  const size = bounds === undefined ? NO_SIZE : sizeClassOf(bounds);
  let name = request.averageKeys.get(size);
  if (name === undefined) {
    name = `${profile.name ?? ""}\0${route.name}\0${label}\0${size}`;
    request.averageKeys.set(size, name);
  }
  return name;
}

const NO_SIZE = -1;
/** Factor that is larger than any size class of a token count. */
const SIZES = 32;

/**
 * Returns the size class of a request. Requests of very different sizes must not share an estimate: the small cost would be
 * reserved for large ones, and charged if those break off. Classes are powers of four, so there are few.
 */
function sizeClassOf({ input, output, hasOutputLimit }: TokenBounds): number {
  const power = (tokens: number): number => Math.ceil(Math.log2(tokens + 1) / 2);
  return power(input) * SIZES + (hasOutputLimit ? power(output) + 1 : 0);
}

/** Returns the demand of a WebSocket session at this provider. */
export function sessionSpending(
  target: Target,
  { provider, model = "" }: AdmittedProvider,
  { profile, bucket }: EffectiveProfile,
): Spending | undefined {
  if (profile.budget === undefined) return undefined;
  return {
    rule: profile.budget,
    bucket,
    averageKey: `${profile.name ?? ""}\0${target.route.name}\0${target.label}`,
    at: { model, backend: provider.name },
    demand: { kind: "flat", units: provider.costPerSession },
  };
}

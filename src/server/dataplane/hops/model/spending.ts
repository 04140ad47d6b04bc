/** What a request asks of its caller's budget, before it goes anywhere. Source: cluster reference, 7.2 rule 1. */
import type { TokenBounds } from "../../../core/budgets/index.ts";
import { tokenBounds } from "../../../core/dialects/index.ts";
import type { Spending } from "../../budgets/index.ts";
import type { Standing } from "../../governance/standing.ts";
import type { Target } from "./address.ts";
import type { Admitted } from "./admit.ts";
import type { TranslatedCall } from "./translated-call.ts";

/** Undefined: nothing is spent on this route, or nobody counts. */
export function spendingOf(
  target: Target,
  { provider, model = "", translated }: Admitted,
  standing: Standing,
): Spending | undefined {
  const { budget, name = "" } = standing.profile;
  const { route } = target;
  if (budget === undefined || route.usage === "none") return undefined;
  // Without a body there is nothing to work on, though the answer may tell of usage and is charged what it tells.
  const bounds = route.usage === "always" || target.plain.length > 0 ? boundsOf(target, translated) : undefined;
  return {
    rule: budget,
    bucket: standing.bucket,
    like: `${name}\0${route.name}\0${target.label}${bounds === undefined ? "" : sizeOf(bounds)}`,
    at: { model, backend: provider.name },
    demand: bounds === undefined ? { kind: "atLeast", units: 1 } : { kind: "tokens", bounds },
  };
}

/** Of what is sent: translation may have to raise or to state the bound of the output. */
function boundsOf({ plain, isJson, route }: Target, translated: TranslatedCall | undefined): TokenBounds {
  if (translated === undefined) return tokenBounds(plain, isJson, route);
  return tokenBounds(translated.body, true, translated.route);
}

/**
 * Requests of very different sizes are not alike: what small ones cost would be held for large ones, and charged for those
 * that break off. Powers of four, of which there are few.
 */
function sizeOf({ input, output, isOutputStated }: TokenBounds): string {
  const power = (tokens: number): number => Math.ceil(Math.log2(tokens + 1) / 2);
  return `\0${power(input)}\0${isOutputStated ? power(output) : ""}`;
}

/** Of a WebSocket session at this provider. */
export function sessionSpending(
  target: Target,
  { provider, model = "" }: Admitted,
  { profile, bucket }: Standing,
): Spending | undefined {
  if (profile.budget === undefined) return undefined;
  return {
    rule: profile.budget,
    bucket,
    like: `${profile.name ?? ""}\0${target.route.name}\0${target.label}`,
    at: { model, backend: provider.name },
    demand: { kind: "flat", units: provider.costPerSession },
  };
}

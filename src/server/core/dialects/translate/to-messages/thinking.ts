/**
 * Determines how much a model thinks. The compat dialect sets it by effort, and its extensions by budgets in tokens. Source:
 * dialects reference, 8.1; 10.3 (24).
 *
 * A channel that claims `effort` decides itself how long it thinks; every other channel gets a budget.
 */
import type { Values } from "../../json/json-values.ts";
import { effortOf } from "../effort.ts";
import { isAbsent, optionalFlag, optionalNumber, optionalObject, optionalText, refuse } from "../required-members.ts";
import type { Scope } from "./block-types.ts";

type Effort = "low" | "medium" | "high" | "xhigh" | "max";

/** Effort in the request. `some` stands for a value that the other dialect does not have; it also asks for thinking. */
type RequestedEffort = Effort | "none" | "some";

const EFFORTS: ReadonlyMap<string, RequestedEffort> = new Map<string, RequestedEffort>([
  ["none", "none"],
  ["minimal", "low"],
  ["low", "low"],
  ["medium", "medium"],
  ["high", "high"],
  ["xhigh", "xhigh"],
  ["max", "max"],
]);

const BUDGETS: Readonly<Record<Effort, number>> = { low: 1024, medium: 2048, high: 4096, xhigh: 8192, max: 8192 };

const MIN_BUDGET = 1024;

/** Effort for requests that ask for thinking without an amount. */
const DEFAULT_EFFORT: Effort = "medium";

type RequestedThinking =
  | { readonly kind: "unspecified" }
  | { readonly kind: "off" }
  | { readonly kind: "on" }
  | { readonly kind: "budget"; readonly tokens: number; readonly display: unknown }
  | { readonly kind: "as_requested"; readonly type: "adaptive" | "between_tools"; readonly display: unknown };

interface ThinkingSettings {
  readonly thinking: { readonly type: string; readonly budget_tokens?: number; readonly display?: unknown } | undefined;
  readonly effort: Effort | undefined;
}

/** Conditions under which the API refuses a thinking budget. They do not affect a model that chooses its own budget. */
interface BudgetObstacles {
  /** Whether a tool must be called. */
  readonly isForced: boolean;
  /** Whether the conversation lacks thinking. */
  readonly lacksThinking: boolean;
}

export function thinkingOf(request: Values, hindrances: BudgetObstacles, { claims }: Scope): ThinkingSettings {
  const reasoning = optionalObject(request["reasoning"], "reasoning");
  const requested = isAbsent(request["reasoning_effort"])
    ? effortAt(reasoning?.["effort"], "reasoning.effort")
    : effortAt(request["reasoning_effort"], "reasoning_effort");
  const wish = requestedThinking(request, reasoning, requested);
  const level = requested === "none" || requested === "some" ? undefined : requested;
  const thinking = claims("thinking") ? thinkingToSend(wish, level, hindrances, claims) : undefined;
  if (!claims("effort")) return { thinking, effort: undefined };
  // The budget itself is not sent to a channel that claims `effort`.
  return {
    thinking,
    effort: level ?? (thinking?.type === "adaptive" && wish.kind === "budget" ? effortOf(wish.tokens) : undefined),
  };
}

function thinkingToSend(
  wish: RequestedThinking,
  level: Effort | undefined,
  { isForced, lacksThinking }: BudgetObstacles,
  claims: Scope["claims"],
): ThinkingSettings["thinking"] {
  if (wish.kind === "unspecified") return undefined;
  if (wish.kind === "off") return { type: "disabled" };
  if (wish.kind === "as_requested") return { type: wish.type, display: wish.display };
  const sendsBudget = wish.kind === "budget" && claims("thinking_budget");
  if (!sendsBudget && claims("effort")) return { type: "adaptive" };
  if (isForced || lacksThinking) return undefined;
  if (wish.kind === "on") return { type: "enabled", budget_tokens: BUDGETS[level ?? DEFAULT_EFFORT] };
  return { type: "enabled", budget_tokens: wish.tokens, display: wish.display };
}

/**
 * Returns the requested thinking. The `thinking` extension has the API's own form and comes first; a budget is next, since it
 * is more precise than an effort.
 */
function requestedThinking(
  request: Values,
  reasoning: Values | undefined,
  requested: RequestedEffort | undefined,
): RequestedThinking {
  const own = optionalObject(request["thinking"], "thinking");
  const ownWish = own === undefined ? undefined : extensionThinking(own);
  if (ownWish !== undefined) return ownWish;
  const tokens = budgetAt(reasoning?.["max_tokens"], "reasoning.max_tokens");
  if (tokens !== undefined) return { kind: "budget", tokens, display: undefined };
  const enabled = reasoning?.["enabled"];
  const isEnabled = isAbsent(enabled) ? undefined : optionalFlag(enabled, "reasoning.enabled");
  if (requested === "none" || isEnabled === false) return { kind: "off" };
  return { kind: requested !== undefined || isEnabled === true ? "on" : "unspecified" };
}

/** Returns the requested thinking, or `undefined` if the API has no such type. */
function extensionThinking(thinking: Values): RequestedThinking | undefined {
  const { type, display } = thinking;
  switch (type) {
    case "disabled":
      return { kind: "off" };
    case "adaptive":
    case "between_tools":
      return { kind: "as_requested", type, display };
    case "enabled": {
      const tokens = budgetAt(thinking["budget_tokens"], "thinking.budget_tokens");
      return tokens === undefined ? { kind: "on" } : { kind: "budget", tokens, display };
    }
    default:
      return undefined;
  }
}

function effortAt(value: unknown, place: string): RequestedEffort | undefined {
  const word = optionalText(value, place);
  return word === undefined ? undefined : (EFFORTS.get(word) ?? "some");
}

/** Returns a budget, raised to the minimum of the API. */
function budgetAt(value: unknown, place: string): number | undefined {
  const tokens = optionalNumber(value, place);
  if (tokens === undefined) return undefined;
  return Number.isSafeInteger(tokens) ? Math.max(MIN_BUDGET, tokens) : refuse(place, "must be a whole number");
}

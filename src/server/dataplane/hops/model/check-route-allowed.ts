/**
 * Refuses routes that would bypass a profile's limits: a batch file or a stored object names models that the gateway does not
 * see, and an ephemeral credential calls the provider directly. Source: design decisions, section 6.
 */
import { GatewayError } from "../../../../base/index.ts";
import {
  isForBatch,
  type Member,
  memberValue,
  type Route,
  shownModelName,
  uninspectedReason,
} from "../../../core/dialects/index.ts";
import type { EffectiveProfile } from "../../governance/effective-profile.ts";
import type { Target } from "./resolve-target.ts";

/** Properties of the caller that decide which routes are allowed. */
export interface RouteCaller {
  readonly effective: EffectiveProfile;
  /** Whether guardrails apply to the caller. */
  readonly isInspected: boolean;
}

/** Cause that lists of refusals show for a caller with guardrails. */
const NOT_INSPECTED = { kind: "guardrail", name: "sessions and batches are not inspected" } as const;

/**
 * Checks whether the caller may use the route. `otherModels`: result of `otherModelNames`. Throws `policy_denied`, `model_not_allowed` or
 * `invalid_request`.
 */
export function checkRouteAllowed(
  target: Target,
  otherModels: readonly string[],
  { effective, isInspected }: RouteCaller,
): void {
  const { route, model, plain, isUnread } = target;
  const { isRestricted, profile, governance } = effective;
  const { allows, policy, budget } = profile;
  if (route.name === "realtime_client_secrets" && governance.auth !== undefined) {
    throw new GatewayError(
      "policy_denied",
      "Ephemeral credentials of a provider are not issued: call the realtime route with the gateway's own credential.",
    );
  }
  if (isRestricted) {
    if (route.guard === "grants_credential") throw bypassError(route, "issues a credential of the provider");
    if (route.guard === "hides_models" || isForBatch(target)) throw bypassError(route, "hides which models it uses");
  }
  if (isInspected && (route.hidesTexts || isForBatch(target))) {
    throw new GatewayError("policy_denied", `Guardrails apply to this caller, and ${uninspectedReason(route)}`, {
      by: NOT_INSPECTED,
    });
  }
  // Rules were evaluated for one model only, so no other model is allowed if a rule reads the model.
  const mayFallBack = policy.readsModel ? NO_MODEL : allows;
  if (mayFallBack !== undefined && !target.fallbacks.every((it) => areAllowed(plain, it, mayFallBack))) {
    throw new GatewayError("model_not_allowed", FALLBACKS_NOT_ALLOWED, { param: "model" });
  }
  if (isUnread && (policy.readsModel || (budget !== undefined && route.usage !== "none"))) {
    throw new GatewayError("invalid_request", BODY_UNREADABLE);
  }
  if (allows === undefined) return;
  const unlisted = otherModels.find((named) => !allows(named));
  if (unlisted !== undefined) throw modelNotAllowed(unlisted);
  if (model !== undefined) {
    if (!allows(model)) throw modelNotAllowed(model);
  } else if (route.model !== "none" && plain.length > 0) {
    throw new GatewayError("model_not_allowed", NO_MODEL_NAMED, { param: "model" });
  }
}

const NO_MODEL = (): boolean => false;

/** Returns whether the member is `null` or a list of allowed names. */
function areAllowed(plain: Buffer, member: Member, allows: (model: string) => boolean): boolean {
  try {
    const names = memberValue(plain, member) ?? [];
    return Array.isArray(names) && names.every((name) => typeof name === "string" && allows(name));
  } catch {
    return false; // invalid escape
  }
}

const FALLBACKS_NOT_ALLOWED = "The request names fallback models that the caller's profile or a rule does not allow.";
const BODY_UNREADABLE =
  "The body is neither JSON nor the form that its Content-Type names, so the caller's limits cannot be checked. Send valid JSON or a valid form.";
const NO_MODEL_NAMED = "The request names no model, and the caller's profile allows only certain models.";

function modelNotAllowed(model: string): GatewayError {
  const message = `The model ${shownModelName(model)} is not among those that the caller's profile allows.`;
  return new GatewayError("model_not_allowed", message, { param: "model" });
}

function bypassError({ name }: Route, reason: string): GatewayError {
  return new GatewayError("policy_denied", `The ${name} route ${reason}, which the caller's profile does not allow.`);
}

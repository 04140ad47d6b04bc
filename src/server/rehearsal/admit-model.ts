/** Routing, rules, lists and capabilities of a recorded model request, decided by the functions of the data plane. */
import { GatewayError } from "../../base/index.ts";
import { routeOfKey } from "../core/dialects/index.ts";
import { llmVariables } from "../core/policy/variables/index.ts";
import { type Admission, FACT, type RecordedRequest, type Resolve, type Step } from "../core/rehearsal/index.ts";
import { causeOf, checkRouteAllowed, type EffectiveProfile, type Target } from "../dataplane/index.ts";
import type { Snapshot } from "../snapshot/index.ts";
import type { Provider } from "../upstream/index.ts";
import { rulesStep } from "./access-stage.ts";
import { channelStep, type EarlierRoute } from "./channels.ts";

interface AdmissionContext {
  readonly snapshot: Snapshot;
  readonly effective: EffectiveProfile;
  readonly request: RecordedRequest;
  readonly resolve: Resolve;
  readonly before: EarlierRoute | undefined;
}

type Outcome =
  | { readonly kind: "admitted"; readonly provider: Provider }
  /** Another provider may replace this one. */
  | { readonly kind: "passed_over"; readonly step: Step }
  | { readonly kind: "ended"; readonly step: Step };

const PASSED = { kind: "passed" } as const;
const NO_BODY = Buffer.alloc(0);
const SOME_BODY = Buffer.from("{}");

/** Decides admission like `admit` of the data plane: the routed provider, or the one that replaces it. */
export function admitModel(context: AdmissionContext): Admission {
  const { request, snapshot, resolve } = context;
  const stopAt = (step: Step): Admission => ({ step, to: "" });
  const route = routeOfKey(request.route);
  if (route === undefined || request.dialect === "") {
    return stopAt(resolve("routing", ENDED_BEFORE_ROUTING));
  }
  const isBatch = route.model === "batch";
  const routed = isBatch ? undefined : routedProvider(request, snapshot);
  const routing = resolve("routing", isBatch ? BATCH_MODELS_UNKNOWN : routed === undefined ? MODEL_NOT_FOUND : PASSED);
  if (routing.kind !== "passed") return stopAt(routing);
  const addressed = routed ?? snapshot.byName.get(request.routed);
  if (addressed === undefined) return stopAt({ kind: "unknown", reason: "its provider no longer exists" });
  const target = recordedTarget(request, route, addressed);
  const names = addressed.failover?.to ?? [];
  const candidates = [addressed, ...names.flatMap((name) => snapshot.byName.get(name) ?? [])];
  let routedStep: Step | undefined;
  for (const provider of candidates) {
    const outcome = judgeProvider(provider, target, context);
    if (outcome.kind === "admitted") return { step: PASSED, to: provider.name };
    if (provider === addressed) {
      if (outcome.kind === "ended") return stopAt(outcome.step);
      const guarded = guardStep(target, context);
      if (guarded.kind !== "passed") return stopAt(guarded);
      routedStep = outcome.step;
    } else if (outcome.step.kind === "unknown") return stopAt(outcome.step);
  }
  return stopAt(routedStep ?? MODEL_NOT_FOUND);
}

/** Returns the names of the providers that are admitted, in order; `undefined` if one of them is unknown. */
export function admittedNames(context: AdmissionContext): readonly string[] | undefined {
  const { request, snapshot } = context;
  const route = routeOfKey(request.route);
  const addressed = route === undefined || route.model === "batch" ? undefined : routedProvider(request, snapshot);
  if (route === undefined || addressed === undefined) return undefined;
  const target = recordedTarget(request, route, addressed);
  const names = addressed.failover?.to ?? [];
  const admitted: string[] = [];
  for (const provider of [addressed, ...names.flatMap((name) => snapshot.byName.get(name) ?? [])]) {
    const outcome = judgeRules(provider, target, context);
    if (outcome.kind === "unknown") return undefined;
    if (outcome.kind === "passed") admitted.push(provider.name);
  }
  return admitted;
}

const ENDED_BEFORE_ROUTING: Step = { kind: "unknown", reason: "it ended before it was routed", decidedBy: [""] };
const BATCH_MODELS_UNKNOWN: Step = {
  kind: "unknown",
  reason: "the models of its batch are not recorded",
  decidedBy: ["providers", "default_provider"],
};
const MODEL_NOT_FOUND: Step = { kind: "refused", code: "model_not_found", by: "" };

const routedProvider = ({ facts, model }: RecordedRequest, snapshot: Snapshot): Provider | undefined =>
  ((facts & FACT.namesModel) === 0 ? snapshot.modelless : snapshot.route(model))?.provider;

/** Returns the fields of a target that route rules read. */
function recordedTarget(request: RecordedRequest, route: Target["route"], provider: Provider): Target {
  const { facts, model } = request;
  const plain = (facts & FACT.hasBody) === 0 ? NO_BODY : SOME_BODY;
  return {
    provider,
    label: "",
    route,
    dialect: request.dialect === "messages" ? "messages" : "compat",
    path: "/",
    query: "",
    model: (facts & FACT.namesModel) === 0 ? undefined : model,
    modelLocation: { kind: "none" },
    contentType: "application/json",
    original: plain,
    plain,
    isJson: true,
    isUnread: (facts & FACT.isUnread) !== 0,
    streams: false,
    streamOptions: undefined,
    content: undefined,
    thread: "none",
    fallbacks: [],
    isRewritten: false,
  };
}

function judgeProvider(provider: Provider, target: Target, context: AdmissionContext): Outcome {
  const { request, effective, resolve, before } = context;
  if ((request.facts & FACT.metSuspension) !== 0) {
    return { kind: "ended", step: resolve("rules", SUSPENDED) };
  }
  const { poolSubset } = effective.profile;
  if (poolSubset !== undefined && provider.pool?.subsets.has(poolSubset) === false) {
    return { kind: "passed_over", step: { kind: "refused", code: "no_pool_subset", by: profileOf(effective) } };
  }
  const ruled = judgeRules(provider, target, context);
  if (ruled.kind !== "passed") return { kind: "ended", step: ruled };
  if (provider === target.provider) {
    const guarded = guardStep(target, context);
    if (guarded.kind !== "passed") return { kind: "ended", step: guarded };
  }
  const { model: requestedModel } = target;
  const model = requestedModel === undefined ? undefined : (provider.aliases.get(requestedModel) ?? requestedModel);
  const carried = { request, route: target.route, dialect: target.dialect, model, profile: effective.profile };
  const step = resolve("channel", channelStep(provider, carried, before));
  return step.kind === "passed" ? { kind: "admitted", provider } : { kind: "ended", step };
}

const SUSPENDED: Step = {
  kind: "unknown",
  reason: "a provider or model was suspended",
  decidedBy: ["access_rules", "profiles", "providers", "default_provider"],
};

function judgeRules(
  provider: Provider,
  { route, model: requestedModel }: Target,
  { effective, request, resolve }: AdmissionContext,
): Step {
  const { profile, variables } = effective;
  const model = requestedModel === undefined ? undefined : (provider.aliases.get(requestedModel) ?? requestedModel);
  const step = rulesStep(
    profile.policy,
    "llm",
    llmVariables(variables, { model: requestedModel ?? "", upstreamModel: model ?? "", provider, route: route.name }),
  );
  if (step.kind !== "passed" || !profile.policy.readsModel) return resolve("rules", step);
  return (request.facts & FACT.mayNameOthers) === 0 ? step : resolve("rules", MAY_NAME_MODELS);
}

const MAY_NAME_MODELS: Step = {
  kind: "unknown",
  reason: "it may name further models",
  decidedBy: ["access_rules", "profiles", "providers", "default_provider"],
};
const MAY_BE_BATCH: Step = { ...MAY_NAME_MODELS, reason: "it may be a batch" };

/** Checks routes that may name further models, and the model list. */
function guardStep(target: Target, { effective, request, snapshot, resolve }: AdmissionContext): Step {
  const { facts } = request;
  const { isRestricted, profile } = effective;
  const isInspected = snapshot.guardrails.of(profile.name) !== undefined;
  if ((facts & FACT.isBatch) !== 0 && (isRestricted || isInspected)) return resolve("rules", MAY_BE_BATCH);
  if ((facts & FACT.mayNameOthers) !== 0 && isRestricted) return resolve("rules", MAY_NAME_MODELS);
  const limitsFallbacks = profile.allows !== undefined || profile.policy.readsModel;
  if ((facts & FACT.hasFallbacks) !== 0 && limitsFallbacks) return resolve("rules", MAY_NAME_MODELS);
  try {
    checkRouteAllowed(target, [], { effective, isInspected });
    return PASSED;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { code, by } = error;
    const cause = causeOf({ caller: effective.caller, code, by });
    return { kind: "refused", code, by: cause === undefined ? "" : `${cause.kind} ${cause.name}` };
  }
}

const profileOf = ({ caller }: EffectiveProfile): string =>
  caller.profile === undefined ? "" : `profile ${caller.profile}`;

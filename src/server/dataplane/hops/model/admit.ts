/**
 * Decides which channels may serve a request of this caller. A failover candidate is checked like the first provider, when it is
 * needed; one that may not be used is skipped. Source: specification document 3 (`failover`, `access_rules[]`, `profiles[]`);
 * design decisions, section 2 (`suspended`).
 */
import { GatewayError } from "../../../../base/index.ts";
import type { Loss } from "../../../core/dialects/index.ts";
import { llmVariables } from "../../../core/policy/variables/index.ts";
import type { Snapshot } from "../../../snapshot/index.ts";
import type { Provider, Trigger, UpstreamChannel } from "../../../upstream/index.ts";
import { type DecisionSinks, settleVerdict } from "../../governance/decide.ts";
import type { DecidedRequest } from "../../governance/decided-request.ts";
import type { RequestNames } from "../../governance/request-cache.ts";
import { refuseSuspended, suspendedError } from "../../governance/suspended.ts";
import type { Suspensions } from "../../ports.ts";
import { checkRouteAllowed, type RouteCaller } from "./check-route-allowed.ts";
import { chooseChannel } from "./choose-channel.ts";
import { otherModelNames } from "./other-models.ts";
import type { Target } from "./resolve-target.ts";
import { type CreateSeal, type TranslatedCall, translateCall } from "./translated-call.ts";

export interface AdmittedProvider {
  readonly provider: Provider;
  readonly channel: UpstreamChannel;
  /** Model name sent to this provider; `undefined` on a route without a model. */
  readonly model: string | undefined;
  /** Capabilities that the request uses but that the channel cannot express. */
  readonly losses: readonly Loss[];
  /** Translated request; `undefined` if the channel speaks the client's dialect. */
  readonly translated: TranslatedCall | undefined;
}

/** Admitted candidates: the addressed provider, or its replacement, then its failover list without skipped providers. */
export interface AdmittedProviders {
  readonly first: AdmittedProvider;
  /** Returns the candidate at a position, counted from 0. Checks as many providers as needed, each of them once. */
  at(position: number): AdmittedProvider | undefined;
  /** Returns false if `at` returns `undefined` for the position. */
  mayExist(position: number): boolean;
  /** Failover triggers of the addressed provider. */
  readonly failoverWhen: ReadonlySet<Trigger> | undefined;
  /**
   * Returns the same list for a rewritten request: admitted providers stay admitted, and their channels are chosen and prepared
   * again. Throws as `admit` does if a channel cannot carry it. The original list must not be used afterwards.
   */
  withRewrittenTarget(target: Target): AdmittedProviders;
}

export interface AdmissionContext extends RouteCaller {
  readonly requestId: string;
  /** Current suspensions; `undefined` if nothing can be suspended (flag mode). */
  readonly suspensions: Suspensions | undefined;
  /** Seals reasoning for the caller; `undefined` unless the request is for the Responses API. */
  readonly createSeal: CreateSeal | undefined;
  readonly sinks: DecisionSinks;
}

type Outcome =
  | { readonly kind: "admitted"; readonly admitted: AdmittedProvider }
  /**
   * Refusal by a provider. `passed`: the next provider may replace it. `refused`: the refusal of the first provider ends the
   * request.
   */
  | { readonly kind: "passed" | "refused"; readonly error: GatewayError };

const NONE: readonly string[] = [];

const isGoverned = ({ effective, suspensions }: AdmissionContext): boolean =>
  effective.isRestricted || suspensions?.any === true;

/** Returns the admitted providers of a request, or throws its refusal. */
export function admit(snapshot: Snapshot, target: Target, governed: AdmissionContext): AdmittedProviders {
  const otherModels = isGoverned(governed) ? otherModelNames(target) : NONE;
  if (governed.suspensions?.any === true) {
    if (target.model !== undefined) refuseSuspended("model", target.model, governed.suspensions);
    for (const named of otherModels) refuseSuspended("model", named, governed.suspensions);
  }
  const { failover } = target.provider;
  const names = failover?.to ?? [];
  const admitted: AdmittedProvider[] = [];
  let currentTarget = target;
  let checkedCount = 0;
  const at = (position: number): AdmittedProvider | undefined => {
    while (admitted.length <= position && checkedCount < names.length) {
      const provider = snapshot.byName.get(names[checkedCount++] as string);
      const outcome = provider && checkFailoverProvider(provider, currentTarget, otherModels, governed);
      if (outcome?.kind === "admitted") admitted.push(outcome.admitted);
    }
    return admitted[position];
  };

  const primary = checkProvider(target.provider, target, otherModels, governed);
  if (primary.kind === "refused") throw primary.error;
  if (primary.kind === "admitted") admitted.push(primary.admitted);
  else checkRouteAllowed(target, otherModels, governed);
  const listOf = (first: AdmittedProvider): AdmittedProviders => ({
    first,
    at,
    mayExist: (position) => position < admitted.length || checkedCount < names.length,
    failoverWhen: failover?.when,
    withRewrittenTarget(rewritten) {
      currentTarget = rewritten;
      for (const [position, { provider, model }] of admitted.entries()) {
        admitted[position] = prepareProvider(provider, rewritten, model, governed);
      }
      return listOf(admitted[0] ?? first);
    },
  });
  const first = at(0);
  if (first !== undefined) return listOf(first);
  throw primary.kind === "passed" ? primary.error : new Error("a candidate that was admitted is not there");
}

/** Checks a failover candidate between attempts. A candidate whose decision cannot be recorded is skipped as well. */
function checkFailoverProvider(
  provider: Provider,
  target: Target,
  otherModels: readonly string[],
  governed: AdmissionContext,
): Outcome {
  try {
    return checkProvider(provider, target, otherModels, governed);
  } catch (error) {
    if (error instanceof GatewayError) return { kind: "refused", error };
    throw error;
  }
}

/** Checks one provider. The order is: suspensions, pool subset, access rules, model list, capabilities. */
function checkProvider(
  provider: Provider,
  target: Target,
  otherModels: readonly string[],
  governed: AdmissionContext,
): Outcome {
  const { effective, requestId, suspensions, sinks } = governed;
  const { model: asked } = target;
  const model = asked === undefined ? undefined : (provider.aliases.get(asked) ?? asked);
  if (suspensions?.any === true) {
    const suspension = suspensions.of("provider", provider.name);
    const ofModel = model === undefined || model === asked ? undefined : suspensions.of("model", model);
    if (suspension !== undefined || ofModel !== undefined) sinks.facts.trace?.recordSuspension();
    if (suspension !== undefined)
      return { kind: "passed", error: suspendedError("provider", provider.name, suspension, suspensions.now()) };
    if (ofModel !== undefined)
      return { kind: "refused", error: suspendedError("model", asked ?? "", ofModel, suspensions.now()) };
  }
  const { poolSubset } = effective.profile;
  if (poolSubset !== undefined && provider.pool?.subsets.has(poolSubset) === false) {
    return { kind: "passed", error: noSubsetError(provider, poolSubset) };
  }
  const error = deniedByRules(
    provider,
    target,
    { model: asked, upstreamModel: model },
    { effective, requestId, sinks },
  );
  if (error !== undefined) return { kind: "refused", error };
  for (const named of effective.profile.policy.readsModel ? otherModels : NONE) {
    const asNamed = { model: named, upstreamModel: named };
    const deniedToo = deniedByRules(provider, target, asNamed, { effective, requestId, sinks });
    if (deniedToo !== undefined) return { kind: "refused", error: deniedToo };
  }
  if (provider === target.provider) checkRouteAllowed(target, otherModels, governed);
  return { kind: "admitted", admitted: prepareProvider(provider, target, model, governed) };
}

/**
 * Returns the refusal for a pool without the required subset. The rest of the pool must not serve the request, and neither must a
 * failover provider.
 */
const noSubsetError = ({ name }: Provider, subset: string): GatewayError =>
  new GatewayError(
    "no_pool_subset",
    `The caller's profile is confined to the pool subset ${subset}, which provider ${name} does not have: ask for a model that a pool with this subset serves.`,
    { param: "model" },
  );

/** Chooses and prepares the channel. Throws `fidelity_loss` or `invalid_request`. */
function prepareProvider(
  provider: Provider,
  target: Target,
  model: string | undefined,
  { effective: { profile }, createSeal }: AdmissionContext,
): AdmittedProvider {
  const { channel, counterpart, losses } = chooseChannel(provider, target, model, profile);
  if (counterpart === undefined) return { provider, channel, model, losses, translated: undefined };
  const { call, lateLosses } = translateCall(target, { provider, channel, counterpart, model }, createSeal);
  return {
    provider,
    channel,
    model,
    losses: lateLosses.length === 0 ? losses : [...losses, ...lateLosses],
    translated: call,
  };
}

/** Model named by a request or by an event of a session; `undefined` without one. */
interface NamedModel {
  readonly model: string | undefined;
  readonly upstreamModel: string | undefined;
}

/** Evaluates the access rules and records their decision. Returns the refusal, if any. */
export function deniedByRules(
  provider: Provider,
  { route }: Target,
  { model, upstreamModel }: NamedModel,
  { effective, requestId, sinks }: Pick<AdmissionContext, "effective" | "requestId" | "sinks">,
): GatewayError | undefined {
  const { policy } = effective.profile;
  if (policy.count.llm === 0) return undefined;
  const known = effective.requests.entryFor({ provider, route: route.name, model, upstreamModel });
  known.verdict ??= policy.decide("llm", llmVariables(effective.variables, variablesOf(known)));
  const decided: DecidedRequest = {
    requestId,
    hop: "llm",
    route: route.name,
    to: provider.name,
    model,
  };
  return settleVerdict(known.verdict, decided, effective, sinks);
}

const variablesOf = ({ provider, route, model = "", upstreamModel = "" }: RequestNames) => ({
  provider,
  route,
  model,
  upstreamModel,
});

/**
 * Which channels may carry a request, for this caller. Each failover candidate is admitted like the first, when it is
 * needed; one that may not be used is passed over. Source: specification document 3 (`failover`, `access_rules[]`,
 * `profiles[]`); design decisions, section 2 (`suspended`).
 */
import { GatewayError } from "../../../../base/index.ts";
import type { Loss } from "../../../core/dialects/index.ts";
import { llmVariables } from "../../../core/policy/variables/index.ts";
import type { Snapshot } from "../../../snapshot/index.ts";
import type { Provider, Trigger, UpstreamChannel } from "../../../upstream/index.ts";
import { type DecisionSinks, settleVerdict } from "../../governance/decide.ts";
import type { DecidedRequest } from "../../governance/decided-request.ts";
import { refuseSuspended, suspendedError } from "../../governance/suspended.ts";
import type { Suspensions } from "../../ports.ts";
import type { Target } from "./address.ts";
import { chooseChannel } from "./choose-channel.ts";
import { guardRoute, type RouteCaller } from "./guard.ts";
import { namedBeside } from "./other-readings.ts";
import { type Sealing, type TranslatedCall, translateCall } from "./translated-call.ts";

export interface Admitted {
  readonly provider: Provider;
  readonly channel: UpstreamChannel;
  /** The model as this provider is sent it; undefined on a modelless route. */
  readonly model: string | undefined;
  /** What the request uses and the channel cannot be told. */
  readonly lost: readonly Loss[];
  /** Undefined: the channel speaks the client's dialect. */
  readonly translated: TranslatedCall | undefined;
}

/** The addressed provider, or whoever stands in for it, then its failover list, without those that were passed over. */
export interface AdmittedList {
  readonly first: Admitted;
  /** Counted from 0. Judges as many as it takes, each once. */
  at(position: number): Admitted | undefined;
  /** False: `at` answers undefined. */
  mayHave(position: number): boolean;
  /** Of the addressed provider. */
  readonly failoverWhen: ReadonlySet<Trigger> | undefined;
  /**
   * The same list for a request whose texts were rewritten: whoever was admitted stays so, and channels are chosen and
   * prepared for what it says now. Throws as `admit` does where a channel cannot carry it. This one is used no more.
   */
  readdressed(target: Target): AdmittedList;
}

export interface Governed extends RouteCaller {
  readonly requestId: string;
  /** Undefined where nothing can be suspended. */
  readonly suspensions: Suspensions | undefined;
  /** Of the caller; undefined: the request is none for a response. */
  readonly sealing: Sealing | undefined;
  readonly sinks: DecisionSinks;
}

type Outcome =
  | { readonly kind: "admitted"; readonly admitted: Admitted }
  /** Another may stand in for who is passed over, and for nobody who is refused. */
  | { readonly kind: "passed" | "refused"; readonly error: GatewayError };

const NONE: readonly string[] = [];

const isGoverned = ({ standing, suspensions }: Governed): boolean => standing.isRestricted || suspensions?.any === true;

/** Throws what the request is refused for. */
export function admit(snapshot: Snapshot, target: Target, governed: Governed): AdmittedList {
  const beside = isGoverned(governed) ? namedBeside(target) : NONE;
  if (governed.suspensions?.any === true) {
    if (target.model !== undefined) refuseSuspended("model", target.model, governed.suspensions);
    for (const named of beside) refuseSuspended("model", named, governed.suspensions);
  }
  const { failover } = target.provider;
  const names = failover?.to ?? [];
  const admitted: Admitted[] = [];
  let addressed = target;
  let judged = 0;
  const at = (position: number): Admitted | undefined => {
    while (admitted.length <= position && judged < names.length) {
      const provider = snapshot.byName.get(names[judged++] as string);
      const outcome = provider && judgeNext(provider, addressed, beside, governed);
      if (outcome?.kind === "admitted") admitted.push(outcome.admitted);
    }
    return admitted[position];
  };

  const primary = judge(target.provider, target, beside, governed);
  if (primary.kind === "refused") throw primary.error;
  if (primary.kind === "admitted") admitted.push(primary.admitted);
  else guardRoute(target, beside, governed);
  const listOf = (first: Admitted): AdmittedList => ({
    first,
    at,
    mayHave: (position) => position < admitted.length || judged < names.length,
    failoverWhen: failover?.when,
    readdressed(rewritten) {
      addressed = rewritten;
      for (const [position, { provider, model }] of admitted.entries()) {
        admitted[position] = admittedTo(provider, rewritten, model, governed);
      }
      return listOf(admitted[0] ?? first);
    },
  });
  const first = at(0);
  if (first !== undefined) return listOf(first);
  throw primary.kind === "passed" ? primary.error : new Error("a candidate that was admitted is not there");
}

/** Of a failover candidate, in the midst of an attempt: one whose decision cannot be recorded is passed over too. */
function judgeNext(provider: Provider, target: Target, beside: readonly string[], governed: Governed): Outcome {
  try {
    return judge(provider, target, beside, governed);
  } catch (error) {
    if (error instanceof GatewayError) return { kind: "refused", error };
    throw error;
  }
}

/** In the order of the decisions: suspensions, subset of the pool, access rules, model list, capabilities. */
function judge(provider: Provider, target: Target, beside: readonly string[], governed: Governed): Outcome {
  const { standing, requestId, suspensions, sinks } = governed;
  const { model: asked } = target;
  const model = asked === undefined ? undefined : (provider.aliases.get(asked) ?? asked);
  if (suspensions?.any === true) {
    const suspension = suspensions.of("provider", provider.name);
    const ofModel = model === undefined || model === asked ? undefined : suspensions.of("model", model);
    if (suspension !== undefined || ofModel !== undefined) sinks.facts.trace?.suspended();
    if (suspension !== undefined)
      return { kind: "passed", error: suspendedError("provider", provider.name, suspension, suspensions.now()) };
    if (ofModel !== undefined)
      return { kind: "refused", error: suspendedError("model", asked ?? "", ofModel, suspensions.now()) };
  }
  const { poolSubset } = standing.profile;
  if (poolSubset !== undefined && provider.pool?.subsets.has(poolSubset) === false) {
    return { kind: "passed", error: withoutSubset(provider, poolSubset) };
  }
  const error = deniedByRules(provider, target, { model: asked, upstreamModel: model }, { standing, requestId, sinks });
  if (error !== undefined) return { kind: "refused", error };
  for (const named of standing.profile.policy.readsModel ? beside : NONE) {
    const asNamed = { model: named, upstreamModel: named };
    const deniedToo = deniedByRules(provider, target, asNamed, { standing, requestId, sinks });
    if (deniedToo !== undefined) return { kind: "refused", error: deniedToo };
  }
  if (provider === target.provider) guardRoute(target, beside, governed);
  return { kind: "admitted", admitted: admittedTo(provider, target, model, governed) };
}

/** Where the whole pool would serve, it may not: what is confined stays so wherever a request goes. */
const withoutSubset = ({ name }: Provider, subset: string): GatewayError =>
  new GatewayError(
    "no_pool_subset",
    `The caller's profile is confined to the pool subset ${subset}, which provider ${name} does not have: ask for a model that a pool with this subset serves.`,
    { param: "model" },
  );

/** Throws `fidelity_loss` or `invalid_request`. */
function admittedTo(
  provider: Provider,
  target: Target,
  model: string | undefined,
  { standing: { profile }, sealing }: Governed,
): Admitted {
  const { channel, counterpart, lost } = chooseChannel(provider, target, model, profile);
  if (counterpart === undefined) return { provider, channel, model, lost, translated: undefined };
  const { call, alsoLost } = translateCall(target, { provider, channel, counterpart, model }, sealing);
  return { provider, channel, model, lost: alsoLost.length === 0 ? lost : [...lost, ...alsoLost], translated: call };
}

/** Of a request, or of an event within its session; undefined where there is none. */
export interface NamedModel {
  readonly model: string | undefined;
  readonly upstreamModel: string | undefined;
}

/** Records what a rule decided. */
export function deniedByRules(
  provider: Provider,
  { route }: Target,
  { model, upstreamModel }: NamedModel,
  { standing, requestId, sinks }: Pick<Governed, "standing" | "requestId" | "sinks">,
): GatewayError | undefined {
  const { policy } = standing.profile;
  if (policy.count.llm === 0) return undefined;
  const variables = llmVariables(standing.variables, {
    model: model ?? "",
    upstreamModel: upstreamModel ?? "",
    provider,
    route: route.name,
  });
  const decided: DecidedRequest = {
    requestId,
    hop: "llm",
    route: route.name,
    to: provider.name,
    model,
  };
  return settleVerdict(policy.decide("llm", variables), decided, standing, sinks);
}

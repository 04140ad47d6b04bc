/**
 * Checks what a session may be opened to, which models its messages may name, and whether its caller may still use it while it is
 * open.
 */
import type { IncomingMessage } from "node:http";
import type { Caller } from "../../../auth/index.ts";
import type { Snapshot } from "../../../snapshot/index.ts";
import { crossOriginDecisionOf, originNotAllowed } from "../../cross-origin.ts";
import { isRegistryRequest } from "../../discovery/registry.ts";
import { removedError } from "../../governance/removed.ts";
import { admitCaller } from "../../governance/suspended.ts";
import { matchRoute, webSocketRefusal } from "../../match-route.ts";
import type { GovernancePorts, Ports } from "../../ports.ts";
import { parseAgentPath } from "../agents/agent-path.ts";
import { type AdmissionContext, type AdmittedProvider, deniedByRules } from "../model/admit.ts";
import { type IsMessageAllowed, modelGate } from "../model/model-gate.ts";
import type { RouteMatch, Target } from "../model/resolve-target.ts";

/** Returns the route of a handshake. Throws if its origin is not allowed, or if no session can be opened at its path. */
export function matchSessionRoute(request: IncomingMessage, snapshot: Snapshot, ports: Ports): RouteMatch {
  // A browser sends no preflight before it opens a session, so a page of an unlisted origin is refused here.
  const crossing = crossOriginDecisionOf(request, snapshot, ports);
  if (crossing !== undefined && crossing.kind !== "allowed") throw originNotAllowed(snapshot);
  if (!isModelPath(request, snapshot)) throw webSocketRefusal();
  if (ports.governancePorts?.isRemoved() === true) throw removedError();
  return matchRoute("UPGRADE", request);
}

/**
 * Returns whether the path can be used for a session. Only models have sessions; servers, agents, the registry and documents use
 * HTTP.
 */
function isModelPath(request: IncomingMessage, { fronted }: Snapshot): boolean {
  const { url = "/" } = request;
  return parseAgentPath(url, fronted) === undefined && !isRegistryRequest(request) && !url.startsWith("/.well-known/");
}

/**
 * Returns the check for models that the client's messages name, which are also subject to model lists, rules and suspensions.
 * Returns `undefined` if any model is allowed.
 */
export function createModelGate(
  { provider }: AdmittedProvider,
  target: Target,
  snapshot: Snapshot,
  governed: AdmissionContext,
): IsMessageAllowed | undefined {
  const { effective, suspensions } = governed;
  const { allows, policy } = effective.profile;
  if (allows === undefined && suspensions === undefined && !policy.readsModel) return undefined;
  const gate = modelGate((model) => {
    if (allows?.(model) === false) return false;
    if (suspensions?.of("model", model) !== undefined) return false;
    if (!policy.readsModel) return true;
    const named: Target = { ...target, label: snapshot.route(model)?.label ?? target.label };
    // Aliases only apply in the handshake. A model named in an event is sent unchanged.
    return deniedByRules(provider, named, { model, upstreamModel: model }, governed) === undefined;
  });
  if (allows !== undefined || policy.readsModel) return gate;
  return (message, isBinary) => suspensions?.any !== true || gate(message, isBinary);
}

/**
 * Returns whether a running session is still allowed. It is checked after each change of keys and suspensions: a session can last
 * an hour, but an operator who revokes a key expects an immediate effect.
 */
export function isStillAllowed(
  caller: Caller,
  provider: string,
  models: readonly string[],
  { callers, suspensions, isRemoved }: GovernancePorts,
): boolean {
  if (isRemoved()) return false;
  if (!callers.isUnchanged(caller) || suspensions.of("provider", provider) !== undefined) return false;
  if (models.some((model) => suspensions.of("model", model) !== undefined)) return false;
  try {
    admitCaller(caller, suspensions);
    return true;
  } catch {
    return false;
  }
}

/**
 * Serves a WebSocket handshake: it is identified, addressed, admitted and charged like any request, then tunneled. A session has
 * no failover. Source: specification document 3, `cost_per_session`; design decisions, section 1 (the subprotocol credential).
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { asRefusal, type RefusalCause, type RefusalCode } from "../../base/index.ts";
import type { Caller } from "../auth/index.ts";
import { createSessionWork, refusalBody, refusalHeaders } from "../core/dialects/index.ts";
import { RequestMemory } from "../memory/index.ts";
import type { Guard, Snapshot } from "../snapshot/index.ts";
import type { PickerFeedback } from "../upstream/index.ts";
import type { SessionCharge } from "./budgets/index.ts";
import { callerLabels } from "./caller-label.ts";
import { errorOf, modelSpanNaming, requestSpanNaming } from "./conventions/index.ts";
import { crossOriginDecisionOf, originNotAllowed } from "./cross-origin.ts";
import { isRegistryRequest } from "./discovery/registry.ts";
import { effectiveProfileOf } from "./governance/effective-profile.ts";
import { identify, recheckCredential } from "./governance/identify.ts";
import { removedError } from "./governance/removed.ts";
import { type SessionTrail, sessionTrail } from "./governance/session-trail.ts";
import { admitCaller } from "./governance/suspended.ts";
import { parseAgentPath } from "./hops/agents/agent-path.ts";
import { type AdmissionContext, type AdmittedProvider, admit, deniedByRules } from "./hops/model/admit.ts";
import { type IsMessageAllowed, modelGate } from "./hops/model/model-gate.ts";
import { prepareRequest } from "./hops/model/prepare-request.ts";
import { resolveTarget, type Target } from "./hops/model/resolve-target.ts";
import { sessionSpending } from "./hops/model/spending.ts";
import { inspectSession } from "./hops/websocket/inspect-session.ts";
import { type SessionAttempt, startSessionAttempt } from "./hops/websocket/session-attempt.ts";
import {
  closeTunnel,
  offeredProtocols,
  prepareUpgradeHeaders,
  protocolCredential,
  refuseUpgrade,
  tunnel,
  withoutProtocolCredential,
} from "./hops/websocket/tunnel.ts";
import { asWebSocketRefusal, providerWithoutModel, refusalInsteadOf } from "./hops/websocket/websocket-refusals.ts";
import { matchRoute, webSocketRefusal } from "./match-route.ts";
import { beginUse, createSessionMeter, type RequestUse } from "./metering/index.ts";
import type { GovernancePorts, Ports } from "./ports.ts";
import { causeOf } from "./refusals/index.ts";
import { requestIdOf } from "./request-id.ts";
import { createFacts, sendSummary } from "./send-summary.ts";
import { startSpan } from "./tracing.ts";
import { logUpstreamFault } from "./upstream-faults.ts";

const NO_BODY = Buffer.alloc(0);

/** Signals that end sessions when the process stops. Each session is closed with 1001. */
interface Shutdown {
  /** Ends sessions in which no response is being generated. The others end once their response is complete. */
  readonly draining: AbortSignal;
  /** Ends all remaining sessions. */
  readonly drainEnded: AbortSignal;
}

export async function serveUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  ports: Ports,
  { draining, drainEnded }: Shutdown,
): Promise<void> {
  const { governancePorts } = ports;
  const requestId = requestIdOf(request, ports.snapshot());
  const span = ports.tracing && startSpan(ports.tracing, request);
  let labels = ports.metrics.labels("none");
  const memory = new RequestMemory(ports.admission);
  let isAdmitted = false;
  let caller: Caller | undefined;
  let closeSession: (() => void) | undefined;
  let attempt: SessionAttempt | undefined;
  let guardrailNames = "";
  let charge: SessionCharge | undefined;
  let unwatch: (() => void) | undefined;
  let trail: SessionTrail | undefined;
  let schedulerWatch: PickerFeedback | undefined;
  let closeInspection: (() => void) | undefined;
  let use: RequestUse | undefined;
  const ending = new AbortController();
  const inspectionController = new AbortController();
  const work = createSessionWork();
  // `AbortSignal.any` is not used: on Node 20 a combined signal stays in memory as long as the longest-lived of its sources.
  const stop = (): void => ending.abort();
  const stopUnlessBusy = (): void => {
    if (draining.aborted && !work.isInProgress) stop();
  };
  const facts = createFacts(ports, ports.snapshot());
  facts.hop = "websocket";
  const startedAt = performance.now();
  let openedAt: number | undefined;
  /** Code of the refusal that ended a running session. */
  let endedBy = "";
  const recordRefusal = (code: RefusalCode, by: RefusalCause | undefined): void => {
    facts.refusedBy = causeOf({ caller, code, by });
    endedBy = code;
    ports.refusals?.refused({ caller, code, by, requestId });
  };
  const finish = (status: number, code: string): void => {
    ports.metrics.countRequest(labels, status, code);
    const naming = span && requestSpanNaming({ labels, streams: false, usage: facts.usage, reportedAnswer: undefined });
    span?.end({ labels, status, code, spanNaming: naming });
    const now = performance.now();
    const error = errorOf(status, code === "" ? endedBy : code);
    ports.metrics.conventions.recordRequest(labels, (now - startedAt) / 1_000, error, undefined);
    if (attempt?.isBegun === true) ports.metrics.conventions.recordAttempt(labels, attempt.elapsedMs / 1_000, error);
    const ending = {
      at: Date.now() - (now - startedAt),
      requestId,
      caller,
      route: labels.route,
      provider: labels.provider,
      status,
      code: code === "" ? endedBy : code,
      attempts: attempt?.isBegun === true ? 1 : 0,
      firstByteMs: openedAt === undefined ? undefined : openedAt - startedAt,
      totalMs: now - startedAt,
      guardrails: guardrailNames,
      urlLength: request.url?.length ?? 0,
    };
    sendSummary(facts, ending, ports);
  };
  try {
    socket.on("error", () => undefined); // node:http stops handling errors at the upgrade; `close` follows an error
    const snapshot = ports.snapshot();
    // A browser sends no preflight before it opens a session, so a page of an unlisted origin is refused here.
    const crossing = crossOriginDecisionOf(request, snapshot, ports);
    if (crossing !== undefined && crossing.kind !== "allowed") throw originNotAllowed(snapshot);
    if (!isModelPath(request, snapshot)) throw webSocketRefusal();
    if (governancePorts?.isRemoved() === true) throw removedError();
    const place = matchRoute("UPGRADE", request);
    labels = ports.metrics.labels(place.route.name);
    ports.admission.enter();
    isAdmitted = true;
    const offered = offeredProtocols(request);
    const protocolToken = protocolCredential(offered);
    const found = identify(request, snapshot.governance, governancePorts, { requestId, protocolToken });
    caller = found instanceof Promise ? await found : found;
    const effective = effectiveProfileOf(caller, snapshot.governance);
    facts.profile = effective.profile.name;
    if (governancePorts !== undefined) admitCaller(effective.caller, governancePorts.suspensions);
    const guard = (): Guard | undefined => ports.snapshot().guardrails.of(effective.profile.name);
    const modelless = () => providerWithoutModel(snapshot, place); // refuses with 426
    const nothing = { contentType: "", original: NO_BODY, plain: NO_BODY };
    const target = resolveTarget(snapshot, place, { ...nothing, memory, facts, routeWithoutModel: modelless });
    facts.trace?.recordRoute(place);
    facts.trace?.recordTarget(target);
    const governed: AdmissionContext = {
      effective,
      isInspected: guard() !== undefined,
      requestId,
      suspensions: governancePorts?.suspensions,
      createSeal: undefined,
      sinks: { trail: governancePorts?.trail, metrics: ports.metrics.decisions, log: ports.log, facts },
    };
    const { first: admitted } = refusingAsNotSupported(() => admit(snapshot, target, governed)); // refuses with 403 or 426
    facts.trace?.recordAdmission(admitted);
    const { provider, channel } = admitted;
    labels = ports.metrics.labels(place.route.name, provider.name, target.label, provider.maker);
    const { label, route: named, model } = target;
    const ledgerEntry = { hop: "llm", provider: provider.name, label, route: named.name, isSession: true } as const;
    use = beginUse(governancePorts?.ledger, effective, ledgerEntry);
    trail = governancePorts && sessionTrail(governancePorts.trail);
    const { inspector, inspectHandshake } = inspectSession({
      target,
      effective,
      guard,
      request: { requestId, hop: "llm", route: place.route.name, to: provider.name, model },
      sinks: { trail, metrics: ports.metrics.guardrails, log: ports.log },
      memory,
      span,
      endedSignal: inspectionController.signal,
      recordRefusal({ code, by, cause }) {
        if (code === "internal") ports.log.error("session failed", { request: requestId, error: cause });
        recordRefusal(code, by);
      },
    });
    closeInspection = inspector.close;
    guardrailNames = await inspectHandshake(request); // refuses with 403 or 503
    const spending = sessionSpending(target, admitted, effective);
    if (spending !== undefined && governancePorts !== undefined) {
      // The session is closed after the answer that exhausted the budget, which is charged and on its way to the client.
      const by = { kind: "budget", name: spending.rule.name, bucket: spending.bucket } as const;
      const onBudgetExhausted = (): void => {
        recordRefusal("budget_exhausted", by);
        queueMicrotask(() => ending.abort(closeTunnel(1008, "budget exhausted")));
      };
      const reserved = governancePorts.budgets.reserveSession(spending, onBudgetExhausted);
      charge = reserved instanceof Promise ? await reserved : reserved;
      facts.trace?.recordCharge(charge);
    }
    if (governancePorts !== undefined) {
      // Access may have been withdrawn while the budget was reserved.
      recheckCredential(effective.caller, snapshot.governance, governancePorts);
      admitCaller(effective.caller, governancePorts.suspensions);
    }
    const models = [target.model, admitted.model].filter((it) => it !== undefined);
    const recheckAccess = (): void => {
      const isAllowed =
        governancePorts === undefined || isStillAllowed(effective.caller, provider.name, models, governancePorts);
      if (!isAllowed) ending.abort(closeTunnel(1008, "no longer allowed"));
    };
    unwatch = governancePorts?.onWithdrawal(recheckAccess);
    recheckAccess();
    const client = { method: "GET", rawHeaders: request.rawHeaders, connection: undefined };
    const { request: prepared } = prepareRequest(client, target, admitted, { reads: false, inspects: false });
    closeSession = ports.metrics.trackSession(provider.name);
    const attemptSpan = span?.startAttempt({
      method: prepared.method,
      provider: provider.name,
      channel: channel.id,
      origin: channel.shownOrigin,
      naming: modelSpanNaming(labels, false),
    });
    attempt = startSessionAttempt(provider.name, ports, attemptSpan, callerLabels({ requestId, caller }, target.model));
    const meter = snapshot.governance.meters
      ? createSessionMeter({
          charge,
          provider: provider.name,
          route: place.route.name,
          label: target.label,
          metrics: ports.metrics.usage,
          onUnits: (units) => ports.statistics?.of(provider.name)?.addUnits(units),
          onUsage(usage) {
            facts.addUsage(usage);
            ports.metrics.conventions.recordUsage(labels, usage);
          },
          account: use,
          model: admitted.model ?? "",
        })
      : undefined;
    draining.addEventListener("abort", stopUnlessBusy, { once: true });
    drainEnded.addEventListener("abort", stop, { once: true });
    stopUnlessBusy();
    if (drainEnded.aborted) stop();
    const route = await ports.origins.route(channel, effective.profile.poolSubset, { request: prepared, requestId });
    if (route.kind === "answered") {
      const { status, contentType, body } = route.answer;
      attempt.begin();
      attempt.recordAnswer(status);
      finish(status, "");
      refuseUpgrade(socket, status, ["content-type", contentType, "x-gateway-request-id", requestId], body);
      return;
    }
    schedulerWatch = route.feedback;
    schedulerWatch?.onEvicted(() => ending.abort(closeTunnel(1013, "taken back by the scheduler")));
    const gate = createModelGate(admitted, target, snapshot, governed);
    const { credential, host, origin } = channel;
    const { path } = prepared;
    const carried = attemptSpan?.injectContext(prepared.headers) ?? prepared.headers;
    const presenting =
      credential && ports.presenter.present(credential, { method: "GET", path, host, headers: carried, body: null });
    const presented = presenting instanceof Promise ? await presenting : presenting; // refuses with 502
    const result = await tunnel({
      request,
      socket,
      head,
      upstream: {
        url: origin.replace(/^http/, "ws") + path,
        headers: prepareUpgradeHeaders(presented?.headers ?? carried),
        route,
        protocols: presented !== undefined ? withoutProtocolCredential(offered) : offered,
      },
      observe: {
        message(from, data, isBinary) {
          work.read(from, data, isBinary);
          if (from === "upstream") meter?.readMessage(data, isBinary);
          else if (gate?.(data, isBinary) === false) {
            recordRefusal("model_not_allowed", undefined);
            ending.abort(closeTunnel(1008, "model not allowed"));
          }
          // The session is stopped after this message, which may be the last of the answer.
          if (draining.aborted) queueMicrotask(stopUnlessBusy);
        },
      },
      inspect: inspector,
      isHidden: presented?.containsCredential,
      passesRedirects: governancePorts === undefined && presented === undefined,
      refusalInsteadOf: (status) => refusalInsteadOf(status, place),
      account: memory,
      responseHeaders: [
        ...["x-gateway-request-id", requestId, "x-gateway-provider", provider.name],
        ...(guardrailNames === "" ? [] : ["x-gateway-guardrails", guardrailNames]),
      ],
      handshake: {
        onDialed: attempt.begin,
        onAnswered(status) {
          openedAt = performance.now();
          attempt?.recordAnswer(status);
        },
      },
      signal: ending.signal,
    });
    route.feedback?.end(false);
    meter?.close();
    if (result.kind === "closed") charge?.settle();
    use?.recordAttempt(provider.name, admitted.model ?? "");
    use?.end(result.kind === "refused");
    finish(result.kind === "refused" ? result.status : 101, "");
  } catch (error) {
    const refusal = asRefusal(error);
    if (refusal.code === "internal") ports.log.error("session failed", { request: requestId, error: refusal.cause });
    const kind = attempt?.recordRefusal(refusal.code, refusal.message);
    if (kind === "invalid" || kind === "redirect") {
      const { provider: upstream, route } = labels;
      logUpstreamFault(ports.log, {
        upstream,
        route,
        request: requestId,
        kind,
        status: null,
        reason: refusal.message,
      });
    }
    recordRefusal(refusal.code, refusal.by);
    finish(refusal.status, refusal.code);
    const headers = [...refusalHeaders(refusal, requestId), "content-type", "application/json"];
    refuseUpgrade(socket, refusal.status, headers, refusalBody("compat", refusal, requestId));
  } finally {
    draining.removeEventListener("abort", stopUnlessBusy);
    drainEnded.removeEventListener("abort", stop);
    unwatch?.();
    schedulerWatch?.end(true);
    closeInspection?.();
    inspectionController.abort();
    trail?.close();
    charge?.release(); // has no effect if the charge was settled
    attempt?.end();
    closeSession?.();
    use?.end(true); // has no effect if the entry has ended
    memory.close();
    if (isAdmitted) ports.admission.leave();
  }
}

/**
 * Returns whether the path can be used for a session. Only models have sessions; servers, agents, the registry and documents use
 * HTTP.
 */
function isModelPath(request: IncomingMessage, { fronted }: Snapshot): boolean {
  const { url = "/" } = request;
  return parseAgentPath(url, fronted) === undefined && !isRegistryRequest(request) && !url.startsWith("/.well-known/");
}

function refusingAsNotSupported<T>(admitting: () => T): T {
  try {
    return admitting();
  } catch (error) {
    throw asWebSocketRefusal(error);
  }
}

/**
 * Returns the check for models that the client's messages name, which are also subject to model lists, rules and suspensions.
 * Returns `undefined` if any model is allowed.
 */
function createModelGate(
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
function isStillAllowed(
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

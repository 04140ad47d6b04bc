/**
 * Serves a WebSocket handshake: it is identified, addressed, admitted and charged like any request, then tunneled. A session has
 * no failover. Source: specification document 3, `cost_per_session`; design decisions, section 1 (the subprotocol credential).
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type AttemptSpan, asRefusal, type GatewayError } from "../../base/index.ts";
import { createSessionWork, refusalBody, refusalHeaders } from "../core/dialects/index.ts";
import { RequestMemory } from "../memory/index.ts";
import type { Guard, Snapshot } from "../snapshot/index.ts";
import type { PickerFeedback, UpstreamRequest } from "../upstream/index.ts";
import type { SessionCharge } from "./budgets/index.ts";
import { callerLabels } from "./caller-label.ts";
import { modelSpanNaming } from "./conventions/index.ts";
import { type EffectiveProfile, effectiveProfileOf } from "./governance/effective-profile.ts";
import { identify, recheckCredential } from "./governance/identify.ts";
import { type SessionTrail, sessionTrail } from "./governance/session-trail.ts";
import { admitCaller } from "./governance/suspended.ts";
import { type AdmissionContext, type AdmittedProvider, admit } from "./hops/model/admit.ts";
import { prepareRequest } from "./hops/model/prepare-request.ts";
import { type RouteMatch, resolveTarget, type Target } from "./hops/model/resolve-target.ts";
import { sessionSpending } from "./hops/model/spending.ts";
import { inspectSession } from "./hops/websocket/inspect-session.ts";
import { createModelGate, isStillAllowed, matchSessionRoute } from "./hops/websocket/session-access.ts";
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
import type { TunnelInspector } from "./hops/websocket/tunnel-types.ts";
import { providerWithoutModel, refusalInsteadOf, refusingAsNotSupported } from "./hops/websocket/websocket-refusals.ts";
import { beginUse, createSessionMeter, type RequestUse, type SessionMeter } from "./metering/index.ts";
import type { Ports } from "./ports.ts";
import { SessionRecord } from "./session-record.ts";
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
  shutdown: Shutdown,
): Promise<void> {
  await new UpgradeRequest(request, socket, head, ports, shutdown).serve();
}

/** A client that may open a session, and the provider that it is opened to. */
interface Access {
  readonly snapshot: Snapshot;
  readonly match: RouteMatch;
  readonly protocols: readonly string[];
  readonly effective: EffectiveProfile;
  readonly target: Target;
  readonly governed: AdmissionContext;
  readonly admitted: AdmittedProvider;
}

/** Upstream handshake of an admitted session. */
interface UpstreamHandshake {
  readonly prepared: UpstreamRequest;
  readonly attempt: SessionAttempt;
  readonly span: AttemptSpan | undefined;
}

/** A handshake and the session that it opens. Everything that it holds is released when the session ends. */
class UpgradeRequest {
  readonly #request: IncomingMessage;
  readonly #socket: Duplex;
  readonly #head: Buffer;
  readonly #ports: Ports;
  readonly #shutdown: Shutdown;
  readonly #record: SessionRecord;
  readonly #memory: RequestMemory;
  readonly #ending = new AbortController();
  readonly #inspectionController = new AbortController();
  readonly #work = createSessionWork();
  #isAdmitted = false;
  #use: RequestUse | undefined;
  #trail: SessionTrail | undefined;
  #closeInspection: (() => void) | undefined;
  #charge: SessionCharge | undefined;
  #unwatch: (() => void) | undefined;
  #closeSession: (() => void) | undefined;
  #schedulerWatch: PickerFeedback | undefined;

  constructor(request: IncomingMessage, socket: Duplex, head: Buffer, ports: Ports, shutdown: Shutdown) {
    this.#request = request;
    this.#socket = socket;
    this.#head = head;
    this.#ports = ports;
    this.#shutdown = shutdown;
    this.#record = new SessionRecord(request, ports);
    this.#memory = new RequestMemory(ports.admission);
  }

  async serve(): Promise<void> {
    this.#socket.on("error", () => undefined); // node:http stops handling errors at the upgrade; `close` follows an error
    try {
      const access = await this.#admit();
      const inspector = await this.#inspectHandshake(access); // refuses with 403 or 503
      await this.#reserveBudget(access);
      this.#watchAccess(access);
      const handshake = this.#startAttempt(access);
      this.#watchShutdown();
      await this.#openSession(access, handshake, inspector);
    } catch (error) {
      this.#refuse(asRefusal(error));
    } finally {
      this.#release();
    }
  }

  /** Identifies and addresses the request, and checks that the caller may open the session. */
  async #admit(): Promise<Access> {
    const ports = this.#ports;
    const { governancePorts } = ports;
    const snapshot = ports.snapshot();
    const match = matchSessionRoute(this.#request, snapshot, ports);
    this.#record.labels = ports.metrics.labels(match.route.name);
    ports.admission.enter();
    this.#isAdmitted = true;
    const protocols = offeredProtocols(this.#request);
    const credential = { requestId: this.#record.requestId, protocolToken: protocolCredential(protocols) };
    const identified = identify(this.#request, snapshot.governance, governancePorts, credential);
    this.#record.caller = identified instanceof Promise ? await identified : identified;
    const effective = effectiveProfileOf(this.#record.caller, snapshot.governance);
    this.#record.facts.profile = effective.profile.name;
    if (governancePorts !== undefined) admitCaller(effective.caller, governancePorts.suspensions);
    const isInspected = this.#guardOf(effective) !== undefined;
    const target = resolveTarget(snapshot, match, {
      contentType: "",
      original: NO_BODY,
      plain: NO_BODY,
      memory: this.#memory,
      facts: this.#record.facts,
      routeWithoutModel: () => providerWithoutModel(snapshot, match), // refuses with 426
    });
    this.#record.facts.trace?.recordRoute(match);
    this.#record.facts.trace?.recordTarget(target);
    const governed: AdmissionContext = {
      effective,
      isInspected,
      requestId: this.#record.requestId,
      suspensions: governancePorts?.suspensions,
      createSeal: undefined,
      sinks: {
        trail: governancePorts?.trail,
        metrics: ports.metrics.decisions,
        log: ports.log,
        facts: this.#record.facts,
      },
    };
    const { first: admitted } = refusingAsNotSupported(() => admit(snapshot, target, governed)); // refuses with 403 or 426
    this.#record.facts.trace?.recordAdmission(admitted);
    const { provider } = admitted;
    const { label, route } = target;
    this.#record.labels = ports.metrics.labels(match.route.name, provider.name, label, provider.maker);
    const ledgerEntry = { hop: "llm", provider: provider.name, label, route: route.name, isSession: true } as const;
    this.#use = beginUse(governancePorts?.ledger, effective, ledgerEntry);
    return { snapshot, match, protocols, effective, target, governed, admitted };
  }

  #guardOf({ profile }: EffectiveProfile): Guard | undefined {
    return this.#ports.snapshot().guardrails.of(profile.name);
  }

  /** Inspects the headers of the handshake. Returns the inspector of the session's messages. */
  async #inspectHandshake({ match, effective, target, admitted }: Access): Promise<TunnelInspector> {
    const { governancePorts, metrics, log } = this.#ports;
    const requestId = this.#record.requestId;
    this.#trail = governancePorts && sessionTrail(governancePorts.trail);
    const { inspector, inspectHandshake } = inspectSession({
      target,
      effective,
      guard: () => this.#guardOf(effective),
      request: { requestId, hop: "llm", route: match.route.name, to: admitted.provider.name, model: target.model },
      sinks: { trail: this.#trail, metrics: metrics.guardrails, log },
      memory: this.#memory,
      span: this.#record.span,
      endedSignal: this.#inspectionController.signal,
      recordRefusal: ({ code, by, cause }) => {
        if (code === "internal") log.error("session failed", { request: requestId, error: cause });
        this.#record.addRefusal(code, by);
      },
    });
    this.#closeInspection = inspector.close;
    this.#record.guardrailNames = await inspectHandshake(this.#request);
    return inspector;
  }

  async #reserveBudget({ snapshot, effective, target, admitted }: Access): Promise<void> {
    const { governancePorts } = this.#ports;
    if (governancePorts === undefined) return;
    const spending = sessionSpending(target, admitted, effective);
    if (spending !== undefined) {
      const by = { kind: "budget", name: spending.rule.name, bucket: spending.bucket } as const;
      const onBudgetExhausted = (): void => {
        this.#record.addRefusal("budget_exhausted", by);
        // The session is closed after the answer that exhausted the budget, which is charged and on its way to the client.
        queueMicrotask(() => this.#ending.abort(closeTunnel(1008, "budget exhausted")));
      };
      const reserved = governancePorts.budgets.reserveSession(spending, onBudgetExhausted);
      this.#charge = reserved instanceof Promise ? await reserved : reserved;
      this.#record.facts.trace?.recordCharge(this.#charge);
    }
    // Access may have been withdrawn while the budget was reserved.
    recheckCredential(effective.caller, snapshot.governance, governancePorts);
    admitCaller(effective.caller, governancePorts.suspensions);
  }

  /** Closes the session when the caller, the provider or a model is no longer allowed. */
  #watchAccess({ effective, target, admitted }: Access): void {
    const { governancePorts } = this.#ports;
    if (governancePorts === undefined) return;
    const models = [target.model, admitted.model].filter((it) => it !== undefined);
    const recheck = (): void => {
      if (!isStillAllowed(effective.caller, admitted.provider.name, models, governancePorts))
        this.#ending.abort(closeTunnel(1008, "no longer allowed"));
    };
    this.#unwatch = governancePorts.onWithdrawal(recheck);
    recheck();
  }

  #startAttempt({ target, admitted }: Access): UpstreamHandshake {
    const ports = this.#ports;
    const { provider, channel } = admitted;
    const client = { method: "GET", rawHeaders: this.#request.rawHeaders, connection: undefined };
    const { request: prepared } = prepareRequest(client, target, admitted, { reads: false, inspects: false });
    this.#closeSession = ports.metrics.trackSession(provider.name);
    const span = this.#record.span?.startAttempt({
      method: prepared.method,
      provider: provider.name,
      channel: channel.id,
      origin: channel.shownOrigin,
      naming: modelSpanNaming(this.#record.labels, false),
    });
    const labels = callerLabels({ requestId: this.#record.requestId, caller: this.#record.caller }, target.model);
    this.#record.attempt = startSessionAttempt(provider.name, ports, span, labels);
    return { prepared, attempt: this.#record.attempt, span };
  }

  // `AbortSignal.any` is not used: on Node 20 a combined signal stays in memory as long as the longest-lived of its sources.
  readonly #stop = (): void => this.#ending.abort();
  readonly #stopUnlessBusy = (): void => {
    if (this.#shutdown.draining.aborted && !this.#work.isInProgress) this.#stop();
  };

  #watchShutdown(): void {
    const { draining, drainEnded } = this.#shutdown;
    draining.addEventListener("abort", this.#stopUnlessBusy, { once: true });
    drainEnded.addEventListener("abort", this.#stop, { once: true });
    this.#stopUnlessBusy();
    if (drainEnded.aborted) this.#stop();
  }

  /** Opens the session, and carries its messages until it ends. */
  async #openSession(
    access: Access,
    { prepared, attempt, span }: UpstreamHandshake,
    inspector: TunnelInspector,
  ): Promise<void> {
    const ports = this.#ports;
    const requestId = this.#record.requestId;
    const { snapshot, match, protocols, effective, target, governed, admitted } = access;
    const { provider, channel } = admitted;
    const meter = this.#createMeter(access);
    const route = await ports.origins.route(channel, effective.profile.poolSubset, { request: prepared, requestId });
    if (route.kind === "answered") {
      const { status, contentType, body } = route.answer;
      attempt.begin();
      attempt.recordAnswer(status);
      this.#record.finish(status, "");
      refuseUpgrade(this.#socket, status, ["content-type", contentType, "x-gateway-request-id", requestId], body);
      return;
    }
    this.#schedulerWatch = route.feedback;
    route.feedback?.onEvicted(() => this.#ending.abort(closeTunnel(1013, "taken back by the scheduler")));
    const allowsModels = createModelGate(admitted, target, snapshot, governed);
    const { credential, host, origin } = channel;
    const { path } = prepared;
    const headers = span?.injectContext(prepared.headers) ?? prepared.headers;
    const presenting =
      credential && ports.presenter.present(credential, { method: "GET", path, host, headers, body: null });
    const presented = presenting instanceof Promise ? await presenting : presenting; // refuses with 502
    const result = await tunnel({
      request: this.#request,
      socket: this.#socket,
      head: this.#head,
      upstream: {
        url: origin.replace(/^http/, "ws") + path,
        headers: prepareUpgradeHeaders(presented?.headers ?? headers),
        route,
        protocols: presented !== undefined ? withoutProtocolCredential(protocols) : protocols,
      },
      observe: {
        message: (from, data, isBinary) => {
          this.#work.read(from, data, isBinary);
          if (from === "upstream") meter?.readMessage(data, isBinary);
          else if (allowsModels?.(data, isBinary) === false) {
            this.#record.addRefusal("model_not_allowed", undefined);
            this.#ending.abort(closeTunnel(1008, "model not allowed"));
          }
          // The session is stopped after this message, which may be the last of the answer.
          if (this.#shutdown.draining.aborted) queueMicrotask(this.#stopUnlessBusy);
        },
      },
      inspect: inspector,
      isHidden: presented?.containsCredential,
      passesRedirects: ports.governancePorts === undefined && presented === undefined,
      refusalInsteadOf: (status) => refusalInsteadOf(status, match),
      account: this.#memory,
      responseHeaders: [
        ...["x-gateway-request-id", requestId, "x-gateway-provider", provider.name],
        ...(this.#record.guardrailNames === "" ? [] : ["x-gateway-guardrails", this.#record.guardrailNames]),
      ],
      handshake: {
        onDialed: attempt.begin,
        onAnswered: (status) => {
          this.#record.openedAt = performance.now();
          attempt.recordAnswer(status);
        },
      },
      signal: this.#ending.signal,
    });
    route.feedback?.end(false);
    meter?.close();
    if (result.kind === "closed") this.#charge?.settle();
    this.#use?.recordAttempt(provider.name, admitted.model ?? "");
    this.#use?.end(result.kind === "refused");
    this.#record.finish(result.kind === "refused" ? result.status : 101, "");
  }

  #createMeter({ snapshot, match, target, admitted }: Access): SessionMeter | undefined {
    if (!snapshot.governance.meters) return undefined;
    const { metrics, statistics } = this.#ports;
    const { name } = admitted.provider;
    return createSessionMeter({
      charge: this.#charge,
      provider: name,
      route: match.route.name,
      label: target.label,
      metrics: metrics.usage,
      onUnits: (units) => statistics?.of(name)?.addUnits(units),
      onUsage: (usage) => {
        this.#record.facts.addUsage(usage);
        metrics.conventions.recordUsage(this.#record.labels, usage);
      },
      account: this.#use,
      model: admitted.model ?? "",
    });
  }

  /** Answers the handshake with a refusal, or records the refusal if the session had begun. */
  #refuse(refusal: GatewayError): void {
    const { log } = this.#ports;
    const { requestId } = this.#record;
    const { code, status } = refusal;
    if (code === "internal") log.error("session failed", { request: requestId, error: refusal.cause });
    const fault = this.#record.attempt?.recordRefusal(refusal);
    if (fault !== undefined && fault.reason !== "") {
      const { provider: upstream, route } = this.#record.labels;
      logUpstreamFault(log, { upstream, route, request: requestId, status: null, ...fault });
    }
    this.#record.addRefusal(code, refusal.by);
    this.#record.finish(status, code);
    const headers = [...refusalHeaders(refusal, requestId), "content-type", "application/json"];
    refuseUpgrade(this.#socket, status, headers, refusalBody("compat", refusal, requestId));
  }

  #release(): void {
    this.#shutdown.draining.removeEventListener("abort", this.#stopUnlessBusy);
    this.#shutdown.drainEnded.removeEventListener("abort", this.#stop);
    this.#unwatch?.();
    this.#schedulerWatch?.end(true);
    this.#closeInspection?.();
    this.#inspectionController.abort();
    this.#trail?.close();
    this.#charge?.release(); // has no effect if the charge was settled
    this.#record.attempt?.end();
    this.#closeSession?.();
    this.#use?.end(true); // has no effect if the entry has ended
    this.#memory.close();
    if (this.#isAdmitted) this.#ports.admission.leave();
  }
}

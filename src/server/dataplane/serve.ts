/**
 * Serves a request. Every HTTP request to the data plane passes through these stages: identify, read, address, admit, reserve,
 * inspect, forward, settle. A stage throws a refusal; `#end` turns it into an answer.
 *
 * Each stage calls the next one. An ordinary request finds its data in memory or gets it through a callback, so it is served
 * without a promise. Only a stage that must wait continues from a promise.
 */
import { awaitCompletion, GatewayError } from "../../base/index.ts";
import type { Caller } from "../auth/index.ts";
import { decode, layersIn } from "../coding/index.ts";
import { NOT_A_POST } from "../core/agents/index.ts";
import type { CrossOriginDecision } from "../core/cross-origin/index.ts";
import { mayBeForBatch, responsesFailure, wrongPathMessage } from "../core/dialects/index.ts";
import { RequestMemory } from "../memory/index.ts";
import type { Guard, Snapshot } from "../snapshot/index.ts";
import { readBody } from "./body.ts";
import { originNotAllowed, preflightOf } from "./cross-origin.ts";
import { cardDocument } from "./discovery/card-document.ts";
import { isRegistryRequest, PREFLIGHT, registryDocument, SHARED_HEADERS } from "./discovery/registry.ts";
import { wellKnown } from "./discovery/well-known.ts";
import type { Exchange } from "./exchange.ts";
import { type EffectiveProfile, effectiveProfileOf } from "./governance/effective-profile.ts";
import { type IdentifyOptions, identify, recheckCredential } from "./governance/identify.ts";
import { removedError } from "./governance/removed.ts";
import { admitCaller } from "./governance/suspended.ts";
import { type AgentPath, parseAgentPath } from "./hops/agents/agent-path.ts";
import { resolveAgent } from "./hops/agents/resolve-agent.ts";
import { serveAgent } from "./hops/agents/serve-agent.ts";
import { HEARTBEAT_MS } from "./hops/heartbeat.ts";
import { type AdmittedProviders, admit } from "./hops/model/admit.ts";
import { type ForwardingOptions, forwardRequest } from "./hops/model/forward-request.ts";
import { forwardDuringVerdict } from "./hops/model/hold-back-answer.ts";
import { inspectRequest } from "./hops/model/inspect-request.ts";
import { allowedModels, localModelsAnswer } from "./hops/model/models-list.ts";
import {
  localResponse,
  type ResponseCaller,
  responseCallerOf,
  sealFactoryFor,
  withReferences,
} from "./hops/model/own-responses.ts";
import { reserve, usageDestination } from "./hops/model/reserve.ts";
import { type RouteMatch, resolveTarget, type Target } from "./hops/model/resolve-target.ts";
import { dialectOf, matchRoute, routeDialect } from "./match-route.ts";
import { beginUse, type Meter, type RequestUse } from "./metering/index.ts";
import type { OwnDocument } from "./own-document.ts";
import type { Ports } from "./ports.ts";
import { dialectForm, responsesForm, rpcForm } from "./refusal-form.ts";

/** Serves the request. It may be answered after the call returns; every failure becomes an answer. */
export function serve(exchange: Exchange, ports: Ports): void {
  new RequestHandler(exchange, ports).begin();
}

/** Facts from the head of a request. */
interface RequestHead {
  readonly snapshot: Snapshot;
  readonly isRegistry: boolean;
  /** Place of the MCP server or agent; `undefined` if the path names none. */
  readonly agent: AgentPath | undefined;
  /** Place of the model route; `undefined` if the request is not for one. */
  readonly place: RouteMatch | undefined;
  readonly asked: IdentifyOptions;
}

/** Request on a model route whose caller is known. */
interface ModelCall {
  readonly snapshot: Snapshot;
  readonly place: RouteMatch;
  readonly effective: EffectiveProfile;
  readonly original: Buffer;
  /** Caller of the Responses API; `undefined` for other requests. */
  readonly asResponse: ResponseCaller | undefined;
  readonly guard: Guard | undefined;
}

/** Routes whose answers contain model names but no text to inspect. */
const ROUTES_WITHOUT_TEXT: ReadonlySet<string> = new Set(["models", "model"]);

class RequestHandler {
  readonly #exchange: Exchange;
  readonly #ports: Ports;
  readonly #memory: RequestMemory;
  #isAdmitted = false;
  #meter: Meter | undefined;
  /** Entry of the usage ledger; `undefined` until caller and upstream are known, and if no ledger is kept. */
  #use: RequestUse | undefined;
  #hasEnded = false;

  constructor(exchange: Exchange, ports: Ports) {
    this.#exchange = exchange;
    this.#ports = ports;
    this.#memory = new RequestMemory(ports.admission);
  }

  begin(): void {
    try {
      this.#locate();
    } catch (error) {
      this.#end(error);
    }
  }

  /**
   * Continues with a stage that had to wait, and ends the request if it fails. `after` of guardrails does the same for values
   * that are returned; here a stage calls the next one instead, because `after` needs a closure even if nothing has to wait.
   */
  #endIfFails(stage: Promise<void>): void {
    stage.catch((error: unknown) => this.#end(error));
  }

  readonly #onDone = (error?: unknown): void => this.#end(error);

  #answer(document: OwnDocument): void {
    this.#exchange.answerDocument(document);
    this.#end();
  }

  /**
   * Ends the request; only the first call has an effect. A failure of one step must not keep the other resources from being
   * released.
   */
  #end(error?: unknown): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const exchange = this.#exchange;
    if (error !== undefined) this.#runLogged(() => exchange.refuse(error));
    if (this.#meter !== undefined) this.#runLogged(() => this.#meter?.close());
    if (this.#use !== undefined) this.#runLogged(() => this.#use?.end(exchange.hasFailed));
    this.#memory.close();
    if (this.#isAdmitted) this.#ports.admission.leave();
    this.#runLogged(() => exchange.report.markServed());
  }

  #runLogged(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#ports.log.error("a request failed while it ended", { request: this.#exchange.requestId, error });
    }
  }

  #locate(): void {
    const exchange = this.#exchange;
    const { admission, governancePorts, metrics, snapshot: inForce } = this.#ports;
    const { request, report, requestId } = exchange;
    const snapshot = inForce(); // the whole request uses this configuration
    if (exchange.crossOrigin !== undefined && this.#handleCrossOrigin(exchange.crossOrigin, snapshot)) return; // refuses with 403
    if (governancePorts?.isRemoved() === true) {
      exchange.form = dialectForm(dialectOf(request));
      throw removedError(); // refuses with 503
    }
    const wellKnownDocument = wellKnown(request, snapshot, governancePorts); // refuses with 404
    if (wellKnownDocument !== undefined) {
      report.labels = metrics.labels(wellKnownDocument.route);
      this.#answer(wellKnownDocument.document);
      return;
    }
    const dialect = dialectOf(request);
    exchange.form = dialectForm(dialect);
    const isRegistry = isRegistryRequest(request);
    if (isRegistry) {
      report.labels = metrics.labels("registry");
      exchange.form = dialectForm(dialect, SHARED_HEADERS);
      if (request.method === "OPTIONS") {
        this.#answer(PREFLIGHT);
        return;
      }
    }
    const agent = isRegistry ? undefined : resolveAgent(exchange, snapshot, this.#ports); // refuses with 403
    const place = isRegistry || agent !== undefined ? undefined : matchRoute(request.method ?? "GET", request); // refuses with 404, before a byte of the body is read
    if (place !== undefined) {
      report.facts.hop = "llm";
      exchange.form = dialectForm(place.dialect);
      report.labels = metrics.labels(place.route.name);
    }
    admission.enter(); // refuses with 503
    this.#isAdmitted = true;
    if (agent?.resource === "card") {
      const card = cardDocument(agent, snapshot, request.method ?? "GET", this.#ports); // refuses with 404, 405, 502 or 503
      this.#endIfFails(card.then((document) => this.#answer(document)));
      return;
    }
    const server = agent?.kind === "mcp" ? agent : undefined;
    const asked: IdentifyOptions = {
      requestId,
      serverNames: server?.fronted?.pathNames,
      challengedServer: server?.fronted && server.name,
    };
    const arrival = { snapshot, isRegistry, agent, place, asked };
    const found = identify(request, snapshot.governance, governancePorts, asked); // refuses with 401
    if (found instanceof Promise) this.#endIfFails(found.then((caller) => this.#readBody(caller, arrival)));
    else this.#readBody(found, arrival);
  }

  /**
   * Handles a request of another origin's page. Returns whether it has been answered, as for a preflight. Throws
   * `origin_not_allowed`.
   */
  #handleCrossOrigin(crossing: CrossOriginDecision, snapshot: Snapshot): boolean {
    const exchange = this.#exchange;
    const { request } = exchange;
    if (crossing.kind === "refused") {
      const agent = parseAgentPath(request.url ?? "/", snapshot.fronted);
      if (agent?.resource === "call") exchange.form = rpcForm(agent.kind);
      else exchange.form = dialectForm(routeDialect(request));
      throw originNotAllowed(snapshot);
    }
    const pairs = preflightOf(request, crossing, snapshot);
    if (pairs === undefined) return false;
    exchange.report.labels = this.#ports.metrics.labels("preflight");
    this.#answer({ status: 204, body: "", headers: pairs });
    return true;
  }

  #readBody(caller: Caller, arrival: RequestHead): void {
    const exchange = this.#exchange;
    const { request } = exchange;
    const { snapshot, agent } = arrival;
    const { governancePorts } = this.#ports;
    exchange.report.caller = caller;
    const effective = effectiveProfileOf(caller, snapshot.governance); // refuses with 403
    exchange.report.facts.profile = effective.profile.name;
    if (governancePorts !== undefined) admitCaller(effective.caller, governancePorts.suspensions); // refuses with 403
    if (arrival.isRegistry) {
      this.#answer(registryDocument(request, snapshot.fronted, effective));
      return;
    }
    if (agent?.name === "") throw new GatewayError("not_found", wrongPathMessage("POST", `/${agent.kind}`));
    if (agent !== undefined && request.method !== "POST") {
      exchange.answerFault(NOT_A_POST);
      this.#end();
      return;
    }
    // Failures here are answered with 408, 413 or 503.
    readBody(request, snapshot.maxBodyBytes, this.#memory, {
      onStart: () => exchange.sendContinue(),
      onError: this.#onDone,
      onBody: (original) => {
        try {
          this.#dispatch(original, effective, arrival);
        } catch (error) {
          this.#end(error);
        }
      },
    });
  }

  #dispatch(original: Buffer, effective: EffectiveProfile, { snapshot, agent, place, asked }: RequestHead): void {
    const exchange = this.#exchange;
    const { request } = exchange;
    const ports = this.#ports;
    const { governancePorts } = ports;
    exchange.markBodyRead();
    if (governancePorts !== undefined) {
      recheckCredential(effective.caller, snapshot.governance, governancePorts, asked.challengedServer); // refuses with 401
      admitCaller(effective.caller, governancePorts.suspensions); // refuses with 403
    }
    if (place === undefined) {
      if (agent === undefined) this.#end();
      else {
        const { kind, fronted } = agent;
        const use = fronted && beginUse(governancePorts?.ledger, effective, { hop: kind, provider: fronted.name });
        this.#use = use;
        const call = { exchange, path: agent, effective, snapshot, original, memory: this.#memory, usage: use, ports };
        this.#endIfFails(serveAgent(call).then(() => this.#end()));
      }
      return;
    }
    const allowed = () => allowedModels(snapshot, effective, governancePorts?.suspensions);
    const models = localModelsAnswer(snapshot, request.method, place, allowed);
    if (models !== undefined) {
      this.#answer({ body: models });
      return;
    }
    const asResponse = responseCallerOf(place, effective, request, ports.responses);
    const guard = snapshot.guardrails.of(effective.profile.name);
    const call = { snapshot, place, effective, original, asResponse, guard };
    if (asResponse === undefined) {
      this.#decodeBody(call);
      return;
    }
    exchange.form = responsesForm(place.dialect, responsesFailure);
    const localAnswer = localResponse(request.method ?? "GET", place, asResponse); // refuses with 404
    this.#endIfFails(
      localAnswer.then((body) => (body === undefined ? this.#decodeBody(call) : this.#answer({ body }))),
    );
  }

  #decodeBody(call: ModelCall): void {
    const { place, effective, original, snapshot, guard } = call;
    const layers = layersIn(this.#exchange.request.headers["content-encoding"]);
    const isRead =
      guard !== undefined || place.route.model !== "none" || (effective.isRestricted && mayBeForBatch(place.route));
    if (layers.length === 0 || !isRead) {
      this.#resolveTarget(original, call);
      return;
    }
    const decoded = decode(original, layers.join(), snapshot.maxBodyBytes, this.#memory); // refuses with 400, 413 or 503
    this.#endIfFails(decoded.then((plain) => this.#resolveTarget(plain, call)));
  }

  #resolveTarget(plain: Buffer, call: ModelCall): void {
    const { snapshot, place, original, asResponse } = call;
    const { request, report } = this.#exchange;
    const { facts } = report;
    const memory = this.#memory;
    const { "content-type": contentType = "" } = request.headers;
    facts.trace?.recordRoute(place);
    const addressed = resolveTarget(snapshot, place, { contentType, original, plain, memory, facts }); // refuses with 400, 404, 413 or 503
    const target = asResponse === undefined ? addressed : withReferences(addressed, asResponse, snapshot, memory);
    if (target instanceof Promise) this.#endIfFails(target.then((referred) => this.#admit(referred, call)));
    else this.#admit(target, call);
  }

  #admit(target: Target, call: ModelCall): void {
    const { report } = this.#exchange;
    const { snapshot, place, effective, asResponse, guard } = call;
    const { governancePorts, metrics, log } = this.#ports;
    const { provider } = target;
    report.facts.trace?.recordTarget(target);
    report.labels = metrics.labels(place.route.name, provider.name, target.label, provider.maker);
    const usage = beginUse(governancePorts?.ledger, effective, usageDestination(target));
    this.#use = usage;
    const admitted = admit(snapshot, target, {
      effective,
      isInspected: guard !== undefined,
      requestId: report.requestId,
      suspensions: governancePorts?.suspensions,
      createSeal: asResponse && sealFactoryFor(asResponse),
      sinks: { trail: governancePorts?.trail, metrics: metrics.decisions, log, facts: report.facts },
    }); // refuses with 400 (fidelity), 403 or 503
    report.facts.trace?.recordAdmission(admitted.first);
    const meter = reserve(target, admitted.first, effective, { report, usage }, this.#ports); // refuses with 429 or 503
    if (meter instanceof Promise) this.#endIfFails(meter.then((held) => this.#forward(held, admitted, target, call)));
    else this.#forward(meter, admitted, target, call);
  }

  #forward(meter: Meter | undefined, admitted: AdmittedProviders, target: Target, call: ModelCall): void {
    this.#meter = meter;
    const exchange = this.#exchange;
    if (exchange.isGone) {
      this.#end();
      return;
    }
    const { snapshot, effective, asResponse, guard } = call;
    const forwarding = {
      exchange,
      downstream: exchange,
      target,
      snapshot,
      effective,
      meter,
      usage: this.#use,
      memory: this.#memory,
      responseCaller: asResponse,
      ports: this.#ports,
    };
    if (guard === undefined)
      forwardRequest(admitted, forwarding, this.#onDone); // refuses with 502 or 504
    else this.#endIfFails(this.#inspect(guard, admitted, forwarding).then(() => this.#end()));
  }

  async #inspect(guard: Guard, admitted: AdmittedProviders, forwarding: ForwardingOptions): Promise<void> {
    const exchange = this.#exchange;
    const { target, snapshot, effective, memory, ports } = forwarding;
    const sinks = { trail: ports.governancePorts?.trail, metrics: ports.metrics.guardrails, log: ports.log };
    const inspected = await inspectRequest(guard, target, { snapshot, exchange, effective, memory, sinks }); // refuses with 400, 403 or 503
    const { verdict } = inspected;
    if (exchange.isGone) {
      await verdict;
      return;
    }
    const candidates = inspected.target === target ? admitted : admitted.withRewrittenTarget(inspected.target);
    const isInspected = guard.readsOutput && !ROUTES_WITHOUT_TEXT.has(target.route.name);
    const { heartbeatMs = HEARTBEAT_MS } = ports;
    const { inspectionContext } = inspected;
    const answerInspection = { guard, inspectionContext, target: inspected.target, effective, sinks, heartbeatMs };
    // The members are written out, because spreading the object is slower than the work done with it.
    const forwardInspected = (downstream: ForwardingOptions["downstream"]): Promise<void> => {
      const further: ForwardingOptions = {
        exchange,
        downstream,
        target: inspected.target,
        snapshot,
        effective,
        meter: forwarding.meter,
        usage: forwarding.usage,
        memory,
        responseCaller: forwarding.responseCaller,
        ports,
        answerInspection: isInspected ? answerInspection : undefined,
      };
      return awaitCompletion((done) => forwardRequest(candidates, further, done)); // refuses with 403, 502, 503 or 504
    };
    if (verdict === undefined) await forwardInspected(forwarding.downstream);
    else await forwardDuringVerdict(exchange, verdict, forwardInspected);
  }
}

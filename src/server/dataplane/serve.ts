/**
 * The life of a request, top to bottom: identify, read, address, admit, reserve, inspect, forward, settle. Every route passes here;
 * there is no second way in. A stage throws a refusal; the one catch turns it into an answer.
 */
import { GatewayError } from "../../base/index.ts";
import { decode } from "../coding/index.ts";
import { isForeignPage, NOT_A_POST } from "../core/agents/index.ts";
import { mayNameBatch, responsesFailure, type StreamTranslation } from "../core/dialects/index.ts";
import { Holding } from "../memory/index.ts";
import type { Snapshot } from "../snapshot/index.ts";
import {
  type Candidate,
  type Candidates,
  type Downstream,
  forward,
  forwardedTo,
  isFailure,
} from "../upstream/index.ts";
import { readBody } from "./body.ts";
import { attemptErrorOf } from "./conventions/index.ts";
import { CARD_HEADERS, cardDocument } from "./discovery/card-document.ts";
import { isRegistryRequest, PREFLIGHT, registryDocument, SHARED_HEADERS } from "./discovery/registry.ts";
import { wellKnown } from "./discovery/well-known.ts";
import type { Exchange } from "./exchange.ts";
import { identify, recogniseAgain } from "./governance/identify.ts";
import { type Standing, standingOf } from "./governance/standing.ts";
import { admitCaller } from "./governance/suspended.ts";
import { type AgentPlace, agentPlace } from "./hops/agents/place.ts";
import { serveAgent } from "./hops/agents/serve-agent.ts";
import { address, type Target } from "./hops/model/address.ts";
import { type Admitted, type AdmittedList, admit } from "./hops/model/admit.ts";
import { rewriting } from "./hops/model/answer.ts";
import type { Inspecting } from "./hops/model/answer-record.ts";
import { whileJudged } from "./hops/model/awaiting.ts";
import { leftOut } from "./hops/model/choose-channel.ts";
import { inspectRequest } from "./hops/model/inspect-request.ts";
import { type InspectedDownstream, inspecting } from "./hops/model/inspecting.ts";
import { advertise, allowedModels, namedAs, ownAnswer } from "./hops/model/models-list.ts";
import {
  ownResponse,
  type ResponseCaller,
  rememberingFor,
  responseCaller,
  sealingFor,
  withReferences,
} from "./hops/model/own-responses.ts";
import { prepare } from "./hops/model/prepare.ts";
import { prepareTranslated } from "./hops/model/prepare-translated.ts";
import { rememberingShown } from "./hops/model/remembering-shown.ts";
import { reserve, usedAt } from "./hops/model/reserve.ts";
import { tracedAttempts, watched } from "./hops/model/traced.ts";
import { type Remembering, translating } from "./hops/model/translating.ts";
import { dialectOf, locate } from "./locate.ts";
import { beginUse, type Meter } from "./metering/index.ts";
import type { Ports } from "./ports.ts";
import type { ProviderStatistics } from "./statistics.ts";
import { waitOf } from "./wait-of.ts";
import { whose } from "./whose.ts";

export async function serve(exchange: Exchange, ports: Ports): Promise<void> {
  const { request, facts } = exchange;
  const { governing } = ports;
  let isAdmitted = false;
  const held = new Holding(ports.admission);
  let meter: Meter | undefined;
  try {
    const snapshot = ports.snapshot(); // one configuration for the whole request
    const own = wellKnown(request, snapshot, governing); // 404
    if (own !== undefined) {
      exchange.labels = ports.metrics.labels(own.route);
      exchange.answer(own.document);
      return;
    }
    exchange.dialect = dialectOf(request);
    const isRegistry = isRegistryRequest(request);
    if (isRegistry) {
      exchange.labels = ports.metrics.labels("registry");
      exchange.shared = SHARED_HEADERS;
      if (request.method === "OPTIONS") {
        exchange.answer(PREFLIGHT);
        return;
      }
    }
    const agent = isRegistry ? undefined : agentAt(exchange, snapshot, ports); // 403
    const place = isRegistry || agent !== undefined ? undefined : locate(request.method ?? "GET", request); // 404, before a byte of the body is read
    if (place !== undefined) {
      facts.hop = "llm";
      exchange.dialect = place.dialect;
      exchange.labels = ports.metrics.labels(place.route.name);
    }
    ports.admission.enter(); // 503
    isAdmitted = true;
    if (agent?.wants === "card") {
      exchange.answer(await cardDocument(agent, snapshot, request.method ?? "GET", ports)); // 404, 405, 502, 503
      return;
    }
    const { requestId } = exchange;
    const server = agent?.kind === "mcp" ? agent : undefined;
    const asked = { requestId, servers: server?.fronted?.paths, challenged: server?.fronted && server.asked };
    const found = identify(request, snapshot.governance, governing, asked); // 401
    const caller = found instanceof Promise ? await found : found;
    exchange.caller = caller;
    const standing = standingOf(caller, snapshot.governance); // 403
    facts.profile = standing.profile.name;
    if (governing !== undefined) admitCaller(standing.caller, governing.suspensions); // 403
    if (isRegistry) {
      exchange.answer(registryDocument(request, snapshot.fronted, standing));
      return;
    }
    if (agent !== undefined && request.method !== "POST") {
      exchange.fault(NOT_A_POST);
      return;
    }
    const reading = readBody(request, snapshot.maxBodyBytes, held); // 408, 413, 503
    const original = reading instanceof Promise ? await reading : reading;
    exchange.bodyRead();
    if (governing !== undefined) {
      recogniseAgain(standing.caller, snapshot.governance, governing, asked.challenged); // 401
      admitCaller(standing.caller, governing.suspensions); // 403
    }
    if (place === undefined) {
      if (agent !== undefined) await serveAgent({ exchange, place: agent, standing, snapshot, original, held, ports });
      return;
    }
    const allowed = () => allowedModels(snapshot, standing, governing?.suspensions);
    const models = ownAnswer(snapshot, request.method, place, allowed);
    if (models !== undefined) {
      exchange.answer({ body: models });
      return;
    }
    const asResponse = responseCaller(place, standing, request, ports.responses);
    if (asResponse !== undefined) exchange.failing = responsesFailure;
    const forgotten = asResponse && (await ownResponse(request.method ?? "GET", place, asResponse)); // 404
    if (forgotten !== undefined) {
      exchange.answer({ body: forgotten });
      return;
    }
    const { "content-encoding": encoding, "content-type": contentType = "" } = request.headers;
    const guard = snapshot.guardrails.of(standing.profile.name);
    const isRead =
      guard !== undefined || place.route.model !== "none" || (standing.isRestricted && mayNameBatch(place.route));
    const isPlain = encoding === undefined || encoding.toLowerCase() === "identity" || !isRead;
    const plain = isPlain ? original : await decode(original, encoding, snapshot.maxBodyBytes, held); // 400, 413, 503
    const addressed = address(snapshot, place, { contentType, original, plain, held, facts }); // 400, 404, 413, 503
    const target = asResponse === undefined ? addressed : await withReferences(addressed, asResponse, snapshot, held);
    const { provider } = target;
    exchange.labels = ports.metrics.labels(place.route.name, provider.name, target.label, provider.maker);
    exchange.use = beginUse(governing?.ledger, standing, usedAt(target));
    const admitted = admit(snapshot, target, {
      standing,
      requestId: exchange.requestId,
      suspensions: governing?.suspensions,
      sealing: asResponse && sealingFor(asResponse),
      sinks: { trail: governing?.trail, metrics: ports.metrics.decisions, log: ports.log, facts },
    }); // 403, 503, 400 fidelity
    meter = await reserve(target, admitted.first, standing, exchange, ports); // 429, 503
    if (exchange.gone) return;
    const forwarding = { exchange, downstream: exchange, target, snapshot, standing, meter, held, asResponse, ports };
    if (guard === undefined) {
      await forwardTo(admitted, forwarding); // 502, 504
      return;
    }
    const sinks = { trail: governing?.trail, metrics: ports.metrics.guardrails, log: ports.log };
    const inspected = await inspectRequest(guard, target, { snapshot, exchange, standing, held, sinks }); // 400, 403, 503
    const { verdict } = inspected;
    if (exchange.gone) {
      await verdict;
      return;
    }
    const passed = inspected.target === target ? admitted : admitted.readdressed(inspected.target);
    const isInspected = guard.inspectsOutput && !TEXTLESS.has(target.route.name);
    const answering = { guard, occasion: inspected.occasion, target: inspected.target, standing, sinks };
    const further = {
      ...forwarding,
      target: inspected.target,
      answering: isInspected ? answering : undefined,
    };
    if (verdict === undefined)
      await forwardTo(passed, further); // 403, 502, 503, 504
    else await whileJudged(exchange, verdict, (downstream) => forwardTo(passed, { ...further, downstream }));
  } catch (error) {
    exchange.refuse(error);
  } finally {
    meter?.close();
    exchange.use?.end(exchange.hasFailed);
    held.close();
    if (isAdmitted) ports.admission.leave();
    exchange.served();
  }
}

/** The server or agent that the path names; undefined: it names none. Throws `forbidden` to a foreign page. */
function agentAt(exchange: Exchange, snapshot: Snapshot, { metrics }: Ports): AgentPlace | undefined {
  const { request } = exchange;
  const place = agentPlace(request.url ?? "/", snapshot.fronted);
  if (place === undefined) return undefined;
  const { kind, fronted, wants } = place;
  const isCard = wants === "card";
  if (isCard) exchange.shared = CARD_HEADERS;
  else {
    exchange.rpc = { protocol: kind, id: "null" };
    exchange.facts.hop = kind;
  }
  exchange.labels = metrics.labels(isCard ? "card" : kind, fronted && forwardedTo(fronted).name);
  const { host, origin } = request.headers;
  const { publicOrigin } = snapshot.governance;
  const isForeign = isForeignPage({
    host,
    origin,
    isLoopback: isLoopback(request.socket.localAddress),
    publicOrigin,
  });
  if (isForeign) throw new GatewayError("forbidden", "The Host or Origin header names another site than this gateway.");
  return place;
}

const isLoopback = (address = ""): boolean => /^(?:::ffff:)?127\.|^::1$/.test(address);

/** Routes whose answers hold names of models, and no text. */
const TEXTLESS: ReadonlySet<string> = new Set(["models", "model"]);

interface Forwarding {
  readonly exchange: Exchange;
  /** Where answers go: the exchange, or what stands before it. */
  readonly downstream: Downstream;
  readonly target: Target;
  readonly snapshot: Snapshot;
  readonly standing: Standing;
  readonly meter: Meter | undefined;
  /** Of the request. */
  readonly held: Holding;
  /** Undefined: the request is none for a response. */
  readonly asResponse: ResponseCaller | undefined;
  readonly ports: Ports;
  /** Undefined: guardrails do not apply to the answer. */
  readonly answering?: Inspecting | undefined;
}

/** Who a candidate's answer goes to. `remembering`: items of it, as they are shown. */
type Client = (remembering?: Remembering) => Downstream;

async function forwardTo(admitted: AdmittedList, forwarding: Forwarding): Promise<void> {
  const { exchange, downstream, target, meter, ports, answering } = forwarding;
  let measured: ProviderStatistics | undefined;
  let inspected: InspectedDownstream | undefined;
  let begunAt = 0;
  const client: Client = (remembering) => {
    if (answering === undefined) return downstream;
    const shown = remembering === undefined ? downstream : rememberingShown(downstream, remembering);
    inspected = inspecting(shown, exchange, answering);
    return inspected;
  };
  await forward({
    candidates: candidatesOf(admitted, forwarding, client),
    deadlineMs: waitOf(exchange.request) ?? Number.POSITIVE_INFINITY,
    origins: ports.origins,
    requestId: exchange.requestId,
    presenter: ports.presenter,
    presented: (bears) => {
      exchange.bearsCredential = bears;
    },
    downstream,
    attempting: ({ provider, model, channel }, isRetry) => {
      const { labels } = exchange;
      begunAt = performance.now();
      exchange.use?.asked(provider.name, model);
      // Counts what the attempt before it used, which is its provider's.
      meter?.attempting(provider, model, channel.dialect);
      measured = ports.statistics?.of(provider.name, labels.model);
      measured?.begun(isRetry);
      if (isRetry) ports.metrics.retried(provider.name);
      else if (labels.provider !== provider.name) {
        ports.metrics.failedOver(labels.provider, provider.name);
        ports.statistics?.of(labels.provider)?.leftForAnother();
        measured?.cameFromAnother();
        exchange.labels = ports.metrics.labels(labels.route, provider.name, labels.model, provider.maker);
      }
      exchange.attempts++;
    },
    answered: (ms) => measured?.answered(ms),
    attempted: (provider, outcome) => {
      const { result, status, next } = outcome;
      const seconds = (performance.now() - begunAt) / 1_000;
      ports.metrics.attempted(provider.name, result);
      ports.metrics.conventions.attempted(exchange.labels, seconds, attemptErrorOf(result, status));
      if (isFailure(result)) {
        measured?.failed({
          kind: result,
          status,
          attempt: exchange.attempts,
          movedTo: next?.name ?? null,
          ...whose(exchange, target.model),
          durationMs: outcome.failedAfterMs,
          error: outcome.error,
        });
      }
      measured?.ended();
      meter?.attempted(result);
    },
    waited: (ms) => exchange.waited(ms),
    tracer: tracedAttempts(forwarding, meter),
  });
  // The provider may be done, and the judgement not.
  await inspected?.over();
}

/** Where guardrails hold nothing back, what ends the stream goes on from what was told. */
const endsAs =
  (exchange: Exchange) =>
  (stream: StreamTranslation): void => {
    exchange.failing = (failure) => stream.failure?.(failure) ?? responsesFailure(failure);
  };

function candidatesOf(admitted: AdmittedList, forwarding: Forwarding, client: Client): Candidates {
  return {
    at(position) {
      const one = admitted.at(position);
      return one && candidateFor(one, forwarding, client);
    },
    mayHave: (position) => admitted.mayHave(position),
    failoverWhen: admitted.failoverWhen,
  };
}

function candidateFor(admitted: Admitted, forwarding: Forwarding, client: Client): Candidate {
  const { exchange, target, snapshot, standing, meter, held, asResponse, ports, answering } = forwarding;
  return {
    provider: admitted.provider,
    channel: admitted.channel,
    model: admitted.model ?? "",
    subset: standing.profile.poolSubset,
    prepare() {
      const { method = "GET", rawHeaders, headers } = exchange.request;
      const { listed } = snapshot;
      const { dialect, route, streams } = target;
      const { provider, lost, translated } = admitted;
      const asked = { method, rawHeaders, connection: headers.connection };
      const remembering = translated && asResponse && rememberingFor(asResponse, target);
      const to = client(remembering);
      const allows =
        route.name === "models" ? allowedModels(snapshot, standing, ports.governing?.suspensions) : undefined;
      const isList = route.name === "models" && (listed.length > 0 || allows !== undefined);
      const alias = route.name === "model" && admitted.model !== target.model ? target.model : undefined;
      const extend = isList
        ? (body: Buffer) => advertise(body, dialect, { listed, allows })
        : alias === undefined
          ? undefined
          : (body: Buffer) => namedAs(alias, body);
      exchange.leftOut = leftOut(lost, translated !== undefined);
      for (const { capability } of lost) ports.metrics.fidelityLost(provider.name, capability);
      if (translated !== undefined) {
        const { requestId } = exchange;
        const { reading } = translated;
        const waited = (ms: number): void => exchange.waited(ms);
        const { holding } = exchange;
        const began = asResponse && answering === undefined ? endsAs(exchange) : undefined;
        const options = {
          dialect,
          reading,
          extend,
          streams,
          requestId,
          // Where guardrails look at the answer, what they let go is what is remembered.
          remembering: answering === undefined ? remembering : remembering && { ...remembering, remember: undefined },
          began,
          meter,
          holding,
          now: Date.now,
          waited,
        };
        held.hold(translated.body.length);
        return {
          request: prepareTranslated(asked, admitted, translated, streams),
          downstream: watched(translating(to, options), admitted, { exchange, target }),
        };
      }
      const reads = isList || meter !== undefined;
      const prepared = prepare(asked, target, admitted, { reads, inspects: answering !== undefined });
      const { body } = prepared.request;
      if (body !== null && body !== target.original) held.hold(body.length);
      const edits = prepared.answerEdits;
      const passes = edits === undefined && extend === undefined && meter === undefined;
      return {
        request: prepared.request,
        downstream: watched(
          passes ? to : rewriting(to, { edits, extend, meter, holding: exchange.holding }),
          admitted,
          { exchange, target },
        ),
      };
    },
  };
}

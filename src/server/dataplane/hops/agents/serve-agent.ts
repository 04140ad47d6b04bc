/**
 * Serves a call of an MCP server or agent whose caller and body are known. The stages are those of every request: read, admit,
 * reserve, inspect, forward, settle. A call may have an effect, so it is never retried and has no failover.
 */
import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { performance } from "node:perf_hooks";
import { GatewayError } from "../../../../base/index.ts";
import { type Caller, credentialOf, presentedCredentials } from "../../../auth/index.ts";
import { decode, layersIn } from "../../../coding/index.ts";
import type { InspectionContext } from "../../../core/guardrails/index.ts";
import { JudgedAnswer } from "../../../core/guardrails/index.ts";
import { mcpVariables } from "../../../core/policy/variables/index.ts";
import type { RequestMemory } from "../../../memory/index.ts";
import type { Guard, Snapshot } from "../../../snapshot/index.ts";
import { type Downstream, type FrontedServer, forwardTargetOf, type RequestCaller } from "../../../upstream/index.ts";
import type { Charge } from "../../budgets/index.ts";
import { agentSpanNaming, captureFailure } from "../../conventions/index.ts";
import type { Exchange } from "../../exchange.ts";
import { settleVerdict } from "../../governance/decide.ts";
import type { DecidedRequest } from "../../governance/decided-request.ts";
import type { EffectiveProfile } from "../../governance/effective-profile.ts";
import { recordRestored, settleAnswer } from "../../governance/guardrails.ts";
import { refuseSuspended } from "../../governance/suspended.ts";
import { lowerCase } from "../../headers.ts";
import type { RequestUse } from "../../metering/index.ts";
import type { Ports } from "../../ports.ts";
import { rpcForm } from "../../refusal-form.ts";
import { HEARTBEAT_MS, withHeartbeat } from "../heartbeat.ts";
import { forwardDuringVerdict } from "../model/hold-back-answer.ts";
import { AgentAnswer } from "./agent-answer.ts";
import { type AgentCall, parseCall } from "./agent-call.ts";
import { type AgentPath, unknownNameMessage } from "./agent-path.ts";
import { buildSentCall } from "./build-sent-call.ts";
import { forwardCall } from "./forward-call.ts";
import { inspectCall } from "./inspect-call.ts";
import { knownTool, rememberTools } from "./listed-tools.ts";
import { cachedList, cacheList, dropLists } from "./tool-lists.ts";

interface AgentRequest {
  readonly exchange: Exchange;
  readonly path: AgentPath;
  readonly effective: EffectiveProfile;
  readonly snapshot: Snapshot;
  /** Body as it was received. */
  readonly original: Buffer;
  readonly memory: RequestMemory;
  /** Entry of the usage ledger; `undefined` if none is kept. */
  readonly usage: RequestUse | undefined;
  readonly ports: Ports;
}

/** Call that was read, with its body in plain JSON. */
interface ReadCall {
  readonly call: AgentCall;
  readonly plain: Buffer;
}

/** Call that may be forwarded. */
interface AdmittedCall extends ReadCall {
  readonly decided: DecidedRequest;
  /** `undefined` if the call is not charged. */
  readonly charge: Charge | undefined;
}

/** Serves the call. Throws the refusal. */
export async function serveAgent(served: AgentRequest): Promise<void> {
  const { exchange, path, effective, snapshot, usage, ports } = served;
  const { report } = exchange;
  const { fronted } = path;
  if (fronted === undefined) throw new GatewayError("not_found", unknownNameMessage(path, snapshot.fronted));
  const read = await readCall(fronted, served); // refuses with 400, 413 or 503
  if (read === undefined) return;
  const { call } = read;
  const suspensions = ports.governancePorts?.suspensions;
  if (suspensions?.any === true) refuseSuspended(fronted.kind, fronted.name, suspensions); // refuses with 503
  const decided: DecidedRequest = {
    requestId: exchange.requestId,
    hop: fronted.kind,
    route: call.method,
    to: fronted.name,
    model: undefined,
    name: call.name,
  };
  applyAccessRules(call, decided, served); // refuses with 403
  const reserved = reserve(call, effective, ports); // refuses with 429 or 503
  const charge = reserved instanceof Promise ? await reserved : reserved;
  report.facts.trace?.recordCallAdmission(charge);
  try {
    if (!exchange.isGone) await inspectAndForward({ ...read, decided, charge }, served);
  } finally {
    charge?.release();
    usage?.addUnits(charge?.spent ?? 0, { provider: fronted.name, model: "" });
  }
}

/** Decodes and parses the body, and records what is called. Returns `undefined` if the request has been answered. */
async function readCall(fronted: FrontedServer, served: AgentRequest): Promise<ReadCall | undefined> {
  const { exchange, path, snapshot, original, memory } = served;
  const { request, report } = exchange;
  const layers = layersIn(request.headers["content-encoding"]);
  const isPlain = layers.length === 0;
  const decodedBody = isPlain ? original : await decode(original, layers.join(), snapshot.maxBodyBytes, memory);
  const reading = parseCall(fronted, path.query, request, decodedBody);
  if (reading.kind === "dropped") {
    exchange.answerAccepted();
    return undefined;
  }
  if (reading.kind === "refused") {
    exchange.answerFault(reading.fault);
    return undefined;
  }
  const { call } = reading;
  const plain = call.body ?? decodedBody;
  if (plain !== decodedBody) memory.hold(plain.length);
  exchange.form = rpcForm(fronted.kind, call.id);
  report.facts.method = call.method;
  report.facts.trace?.recordCall(fronted.name, call, Math.max(plain.length, original.length));
  const tool = report.span !== undefined && call.method === "tools/call" ? knownTool(fronted, call.name) : undefined;
  report.agentCall = agentSpanNaming(fronted.kind, fronted.name, call.method, tool);
  return { call, plain };
}

/** Throws `policy_denied` if an access rule denies the call. */
function applyAccessRules(
  call: AgentCall,
  decided: DecidedRequest,
  { exchange, effective, ports }: AgentRequest,
): void {
  const { policy } = effective.profile;
  if (policy.count[call.fronted.kind] === 0) return;
  const { facts } = exchange.report;
  const { trail } = ports.governancePorts ?? {};
  const sinks = { trail, metrics: ports.metrics.decisions, log: ports.log, facts };
  const error = settleVerdict(call.decide(policy, effective.variables), decided, effective, sinks);
  if (error !== undefined) throw error;
}

/** Inspects the call, forwards it or answers it from the cache of lists, and inspects the answer. */
async function inspectAndForward(admitted: AdmittedCall, served: AgentRequest): Promise<void> {
  const { call, plain, decided, charge } = admitted;
  const { exchange, effective, snapshot, memory, ports } = served;
  const { request } = exchange;
  const { fronted } = call;
  const guard = snapshot.guardrails.of(effective.profile.name);
  const sinks = { trail: ports.governancePorts?.trail, metrics: ports.metrics.guardrails, log: ports.log };
  const restorer = snapshot.guardrails.restorer(fronted.restore);
  const inspecting = { exchange, effective, decided, plain, memory, sinks, restorer };
  const inspected = guard && (await inspectCall(guard, call, inspecting)); // refuses with 403 or 503
  // The rejection is handled where the verdict is awaited; that may never happen, so it is ignored here.
  inspected?.verdict?.catch(() => undefined);
  if (exchange.isGone) return;
  // Creating a controller is expensive, so there is only one if answers are inspected.
  const leaving = guard?.readsAnswers === true ? new AbortController() : undefined;
  const judged = judgedAnswer(guard, inspected?.inspectionContext, leaving?.signal);
  const { rewritten, restored } = buildSentCall(call, inspected, restorer); // refuses with 413
  recordRestored(restored, decided, effective, sinks); // refuses with 503
  const body = rewritten === undefined ? plain : Buffer.from(rewritten.body);
  if (rewritten !== undefined) memory.hold(body.length);
  const outgoing = { method: "POST", path: fronted.path, headers: headersFor(call, request, rewritten?.headers), body };
  const acting = tokenExchangeCaller(fronted, request, effective.caller);
  const { tools } = call.answer;
  const listCacheKey = tools?.isShareable === true ? callerListKey(tools.key, acting) : undefined;
  const settle = judged && settleOnce(judged, decided, sinks, served);
  const sendAnswer = async (to: Downstream): Promise<void> => {
    const answer = answerOf(to, { call, judged, settle, listCacheKey }, served);
    const cachedAnswer =
      listCacheKey === undefined ? undefined : cachedList(fronted, listCacheKey, call.id, performance.now());
    if (cachedAnswer === undefined)
      return await forwardCall(call, { outgoing, answer, charge, acting, exchange, ports }); // refuses with 401, 403, 502 or 504
    charge?.settle(undefined);
    sendMessage(answer, cachedAnswer);
  };
  try {
    const verdict = inspected?.verdict;
    if (verdict === undefined) await sendAnswer(exchange);
    else await forwardDuringVerdict(exchange, verdict, sendAnswer);
  } finally {
    if (exchange.isGone) leaving?.abort(new GatewayError("invalid_request", "The client has disconnected."));
  }
}

/** Returns a function whose first call records the decisions about the answer and returns the error of a denied one. */
function settleOnce(
  answer: JudgedAnswer,
  decided: DecidedRequest,
  sinks: Parameters<typeof settleAnswer>[3],
  { exchange: { report }, effective }: AgentRequest,
): () => GatewayError | undefined {
  let isSettled = false;
  return () => {
    if (isSettled) return undefined;
    isSettled = true;
    const { judged } = answer;
    report.facts.trace?.recordAnswerFindings(judged.found);
    const { error, decisionsHeader } = settleAnswer(judged, decided, effective, sinks);
    report.addGuardrails(decisionsHeader);
    return error;
  };
}

interface AnswerParts {
  readonly call: AgentCall;
  /** `undefined` if the answer is not inspected; `settle` likewise. */
  readonly judged: JudgedAnswer | undefined;
  readonly settle: (() => GatewayError | undefined) | undefined;
  /** `undefined` if the answer is no list that other requests may share. */
  readonly listCacheKey: string | undefined;
}

/** Returns the receiver of the upstream's answer, which writes to `to`. */
function answerOf(
  to: Downstream,
  { call, judged, settle, listCacheKey }: AnswerParts,
  { exchange, effective, ports }: AgentRequest,
): AgentAnswer {
  const { report } = exchange;
  const { fronted } = call;
  const { heartbeatMs = HEARTBEAT_MS } = ports;
  return new AgentAnswer({
    exchange,
    to: judged === undefined ? to : withHeartbeat(to, heartbeatMs),
    call,
    judged,
    settle: settle ?? (() => undefined),
    isToolShown: toolFilterOf(call, effective),
    onToolList: (message) => {
      if (listCacheKey !== undefined) cacheList(fronted, listCacheKey, message, performance.now());
      if (report.span !== undefined) rememberTools(fronted, message);
    },
    onToolsChanged: () => dropLists(fronted),
    onMessage: (message) => captureFailure(report.agentCall, message),
    whenSilent: (begin) => {
      if (heartbeatMs > 0) setTimeout(begin, heartbeatMs).unref();
    },
  });
}

const judgedAnswer = (
  guard: Guard | undefined,
  occasion: InspectionContext | undefined,
  signal: AbortSignal | undefined,
): JudgedAnswer | undefined =>
  guard === undefined || occasion === undefined || signal === undefined
    ? undefined
    : new JudgedAnswer(guard, occasion, signal);

/**
 * Returns a function that tells whether the caller may call a tool; `undefined` if it may call every tool or the call lists
 * none.
 */
function toolFilterOf(
  { answer, fronted }: AgentCall,
  { profile, variables }: EffectiveProfile,
): ((tool: string) => boolean) | undefined {
  const { policy } = profile;
  if (answer.tools === undefined || policy.count.mcp === 0) return undefined;
  return (name) => policy.mayListTool(mcpVariables(variables, { server: fronted.name, method: "tools/call", name }));
}

function sendMessage(answer: AgentAnswer, message: string): void {
  answer.start(200, "OK", ["content-type", "application/json"]);
  answer.write(Buffer.from(message));
  answer.end();
}

/**
 * Reserves the cost of a call. Returns `undefined` if it is not charged, as for notifications, and a promise only if it must
 * wait for an allowance.
 */
function reserve(
  { fronted, isNotification }: AgentCall,
  { profile, bucket }: EffectiveProfile,
  { governancePorts }: Ports,
): Charge | undefined | Promise<Charge> {
  const { budget } = profile;
  if (governancePorts === undefined || budget === undefined || isNotification || fronted.costPerCall === 0)
    return undefined;
  const { name } = forwardTargetOf(fronted);
  return governancePorts.budgets.reserve({
    rule: budget,
    bucket,
    averageKey: `${profile.name ?? ""}\0${name}`,
    at: { model: "", backend: name },
    demand: { kind: "flat", units: fronted.costPerCall },
  });
}

/**
 * Returns the caller and the credential that authenticated it, for a server or agent that receives an exchanged token;
 * otherwise `undefined`.
 */
function tokenExchangeCaller(
  { channel }: AgentCall["fronted"],
  request: IncomingMessage,
  { issuer, principal }: Caller,
): RequestCaller | undefined {
  if (channel.credential?.kind !== "token_exchange") return undefined;
  const credential = credentialOf(presentedCredentials(request));
  return { issuer, principal, token: credential.kind === "text" ? credential.text : undefined };
}

/**
 * Returns the cache key of a list. With token exchange a list is cached per caller, because the server may show different tools
 * to each.
 */
const callerListKey = (key: string, acting: RequestCaller | undefined): string =>
  acting === undefined ? key : `${hash("sha256", acting.token ?? "", "base64url")} ${key}`;

/**
 * Returns the headers to send: the client's headers that concern the call, and those of the gateway. Source: mcp reference, 9;
 * a2a reference, 10.
 */
function headersFor(
  { headers: own }: AgentCall,
  { rawHeaders }: IncomingMessage,
  rewritten: ReadonlyMap<string, string> | undefined,
): readonly string[] {
  const pairs: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    const lower = lowerCase(name);
    if (own.has(lower) || !(FORWARDED.has(lower) || lower.startsWith("mcp-param-"))) continue;
    pairs.push(name, rewritten?.get(lower) ?? (rawHeaders[i + 1] as string));
  }
  for (const [name, value] of own) pairs.push(name, value);
  pairs.push("accept-encoding", "identity");
  return pairs;
}

const FORWARDED: ReadonlySet<string> = new Set([
  "content-type",
  "accept",
  "mcp-protocol-version",
  "mcp-method",
  "mcp-name",
  "a2a-version",
  "a2a-extensions",
  "traceparent",
  "tracestate",
  "baggage",
  "accept-language",
  "user-agent",
]);

/** Inspects a request that another proxy routes. Source: design decisions, sections 11 and 19. */
import { asRefusal, cutText, escapeControls, GatewayError } from "../../base/index.ts";
import { layersIn, type Peeled, peel } from "../coding/index.ts";
import { a2aFault, type ProxiedShape } from "../core/agents/index.ts";
import { isForBatch, mayBeForBatch, type Route, uninspectedReason } from "../core/dialects/index.ts";
import {
  changesOf,
  createRewriting,
  type Direction,
  type EndedInspection,
  envelopeSegments,
  type Facts,
  type Guard,
  type GuardResult,
  type GuardrailSinks,
  type GuardrailVariables,
  inspectionFacts,
  type Rewriting,
  rehearsalVariables,
  type Segment,
  settleMessage,
  sumFacts,
} from "../core/guardrails/index.ts";
import { type Account, estimateParsingBytes, RequestMemory } from "../memory/index.ts";
import type { GuardrailSnapshot } from "../snapshot/index.ts";
import type { BodyMemory, HeaderList, Verdict, WholeRequest } from "./exchange/index.ts";
import { headerValue, headerValues } from "./header-list.ts";
import { type ExchangeSpan, startedExchange, type TraceExchange } from "./inspector-tracing.ts";
import {
  type ProxiedMessage,
  type ProxiedTexts,
  readProxiedRequest,
  routeOf,
  routesOf,
  ShapedError,
} from "./proxied-request.ts";

export interface InspectionOptions {
  /** Returns the guardrails in force now. */
  readonly guardrails: () => GuardrailSnapshot;
  readonly sinks: GuardrailSinks;
  /** Whether responses are inspected too. */
  readonly inspectsResponses: boolean;
  /** Starts a trace of an exchange; `undefined` if tracing is off. */
  readonly trace?: TraceExchange | undefined;
}

const ALLOW: Verdict = { kind: "allow" };

/** Maximum length of a caller-supplied name in a record, in UTF-16 units. */
const MAX_RECORDED_NAME = 128;
const cutForRecord = (text: string): string => escapeControls(cutText(text, MAX_RECORDED_NAME));

/** Caller in records: none, because a proxy reports no caller. */
const NO_CALLER = { profile: undefined, caller: undefined, segments: [] } as const;

/** State shared by a request and its response. `message` and `shape` are set when the request was read. */
export interface RequestState {
  readonly guard: Guard | undefined;
  readonly rewriting: Rewriting;
  message: MessageFacts | undefined;
  shape: ProxiedShape | undefined;
  /** Span of the exchange; `undefined` if tracing is off or the span has not begun. */
  span: ExchangeSpan | undefined;
  /** Error that refused the request. */
  refusal: GatewayError | undefined;
}

type MessageFacts = Omit<ProxiedMessage, "segments">;

export const createRequestState = ({ guardrails }: Pick<InspectionOptions, "guardrails">): RequestState => ({
  guard: guardrails().of(undefined),
  rewriting: createRewriting(),
  message: undefined,
  shape: undefined,
  span: undefined,
  refusal: undefined,
});

/** Returns the verdict. Rejects with the error that refuses the request. */
export async function inspectRequest(
  request: WholeRequest,
  signal: AbortSignal,
  { sinks, trace, inspectsResponses }: Omit<InspectionOptions, "guardrails">,
  state: RequestState,
): Promise<Verdict> {
  const { guard } = state;
  if (guard === undefined) return ALLOW;
  const route = routeOf(request.headers);
  state.span = trace?.(startedExchange(request.headers, route));
  try {
    refuseUninspected(request.headers);
    const verdict = await inspectBody(request, { guard, signal, sinks, state, inspectsResponses });
    if (verdict.kind === "refuse") state.refusal = verdict.error;
    return verdict;
  } catch (error) {
    state.refusal = asRefusal(error);
    throw error;
  }
}

async function inspectBody(
  { headers, body, memory }: WholeRequest,
  context: RequestInspectionContext,
): Promise<Verdict> {
  const { guard, state, inspectsResponses } = context;
  const requestMemory = new RequestMemory(accountOf(memory));
  const routes = routesOf(headers);
  let shape: ProxiedShape | undefined;
  try {
    const { plain, encode } = await decompress(
      headers,
      body,
      guard.readsBodies || routes.some(mayBeForBatch),
      memory,
      requestMemory,
    );
    refuseBatch(headers, plain, routes);
    if (guard.readsBodies) requestMemory.hold(estimateParsingBytes(plain));
    const read = readProxiedRequest(headers, plain, guard.readsBodies);
    shape = read.shape;
    state.shape = shape;
    if (read.asksForPush && inspectsResponses && guard.readsOutput) throw pushRefusal(shape);
    state.message = read.texts.messages.at(-1);
    const verdict = await inspectMessages(read.texts, headers, context);
    return verdict.kind === "rewrite" ? { ...verdict, body: await encode(verdict.body) } : verdict;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { kind: "refuse", error, shape: error instanceof ShapedError ? error.shape : shape };
  } finally {
    requestMemory.close();
  }
}

export const accountOf = ({ reserve }: Pick<BodyMemory, "reserve">): Account => ({
  hold(bytes) {
    if (!reserve(bytes))
      throw new GatewayError("overloaded", "The inspector buffers too many bytes of other requests.");
  },
  release: (bytes) => void reserve(-bytes),
});

/** Decompresses the body. A rewritten body is compressed again in the same way, because the headers were already sent on. */
async function decompress(
  headers: HeaderList,
  body: Buffer,
  isRead: boolean,
  { maxBodyBytes }: BodyMemory,
  requestMemory: RequestMemory,
): Promise<Peeled> {
  const layers = isRead && body.length > 0 ? layersIn(headerValues(headers, "content-encoding")) : [];
  return layers.length === 0
    ? { plain: body, encode: (changed) => Promise.resolve(changed) }
    : await peel(body, layers, maxBodyBytes, requestMemory);
}

interface RequestInspectionContext {
  readonly guard: Guard;
  readonly signal: AbortSignal;
  readonly sinks: GuardrailSinks;
  readonly state: RequestState;
  readonly inspectsResponses: boolean;
}

/** Inspects every message of the request. Throws the error that refuses it. */
async function inspectMessages(
  texts: ProxiedTexts,
  headers: HeaderList,
  context: RequestInspectionContext,
): Promise<Verdict> {
  for (const what of texts.uninspected) context.sinks.metrics.uninspected(what);
  const envelope = envelopeSegments(context.guard, withoutPseudoHeaders(headers), queryOf(headers));
  const changes: (string | undefined)[] = [];
  const inspectionSpan = openInspectionSpan(context.state);
  try {
    for (const [at, message] of texts.messages.entries()) {
      // Segments of the body come first, so that changes keep their indexes. Headers and query are inspected once, with the first
      // message.
      const segments = at === 0 && envelope.length > 0 ? [...message.segments, ...envelope] : message.segments;
      const changed =
        segments.length === 0
          ? undefined
          : await inspectMessage(message, segments, headers, { ...context, inspectionSpan });
      for (const place of message.segments.keys()) changes.push(changed?.[place]);
    }
  } finally {
    inspectionSpan?.end();
  }
  if (changes.every((change) => change === undefined)) return ALLOW;
  return { kind: "rewrite", ...texts.rewrite(changes) };
}

/** Span that covers all messages of a request. */
interface InspectionSpan {
  readonly add: (facts: EndedInspection) => void;
  readonly end: () => void;
}

function openInspectionSpan({ span }: RequestState): InspectionSpan | undefined {
  if (span === undefined) return undefined;
  const inspection = span.inspection("request");
  const all: EndedInspection[] = [];
  return { add: (facts) => void all.push(facts), end: () => inspection.end(sumFacts(all)) };
}

/** Returns the rewritten text of each segment, or `undefined` if nothing changed. Throws the error that refuses the message. */
async function inspectMessage(
  once: ProxiedMessage,
  segments: readonly Segment[],
  headers: HeaderList,
  {
    guard,
    signal,
    sinks,
    state,
    inspectionSpan,
  }: RequestInspectionContext & { readonly inspectionSpan: InspectionSpan | undefined },
): Promise<readonly (string | undefined)[] | undefined> {
  state.message = once;
  const occasion = { variables: variablesOf(once), rewriting: state.rewriting, tracer: state.span };
  let guarded: GuardResult | undefined;
  try {
    guarded = await guard.inspectMessage(segments, occasion, signal);
  } finally {
    inspectionSpan?.add(inspectionFacts(guarded, segments.length));
  }
  const { error } = settleMessage(guarded, () => factsOf("request", once, headers), sinks);
  if (error !== undefined) throw error;
  return changesOf(guarded.judgement);
}

export const variablesOf = ({ model, route, method, name }: MessageFacts): GuardrailVariables => ({
  ...rehearsalVariables({ ...NO_CALLER, model, route }),
  hop: "inspect",
  method,
  name,
});

/** Builds the audit facts. `headers`: headers of the request. */
export const factsOf = (
  direction: Direction,
  { model, route, method, name }: MessageFacts,
  headers: HeaderList,
): Facts => ({
  direction,
  hop: "inspect",
  model: model === "" ? null : cutForRecord(model),
  name: name === "" ? null : cutForRecord(name),
  request: cutForRecord(headerValue(headers, "x-request-id")),
  route: cutForRecord(method === "" ? route : method),
  to: cutForRecord(headerValue(headers, ":authority")),
});

/** Cause that lists of refusals show. */
const BY = { kind: "guardrail", name: "sessions and batches are not inspected" } as const;

const uninspectedError = (route: Route): GatewayError =>
  new GatewayError("policy_denied", `Guardrails apply here, and ${uninspectedReason(route)}`, { by: BY });

/** Throws if the uploaded file contains batch requests. */
function refuseBatch(headers: HeaderList, plain: Buffer, routes: readonly Route[]): void {
  const contentType = headerValue(headers, "content-type");
  const upload = { query: queryOf(headers), contentType, plain };
  const naming = routes.find((route) => isForBatch({ ...upload, route }));
  if (naming !== undefined) throw uninspectedError(naming);
}

const queryOf = (headers: HeaderList): string => /^[^?]*(\?.*)$/s.exec(headerValue(headers, ":path"))?.[1] ?? "";

/** Refuses requests that cannot be inspected: sessions, batches, and upgrades or tunnels that would bypass the inspector. */
function refuseUninspected(headers: HeaderList): void {
  if (headerValue(headers, "upgrade") !== "" || headerValue(headers, ":method") === "CONNECT") {
    throw new GatewayError("guardrail_denied", "Guardrails apply here, and sessions are not inspected.", { by: BY });
  }
  const hiding = routesOf(headers).find((read) => read.hidesTexts);
  if (hiding !== undefined) throw uninspectedError(hiding);
}

/**
 * Returns the refusal of A2A push notifications in the protocol's own format. An agent that posts its results elsewhere bypasses
 * the inspection of its answers.
 */
function pushRefusal(shape: ProxiedShape | undefined): ShapedError {
  const { code, message } = a2aFault("push", "null");
  const explanation = `${message}: guardrails would not see what the agent posts.`;
  return new ShapedError("guardrail_denied", explanation, shape && { ...shape, code });
}

function withoutPseudoHeaders(headers: HeaderList): readonly string[] {
  const own: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at] ?? "";
    if (!name.startsWith(":")) own.push(name, headers[at + 1] ?? "");
  }
  return own;
}

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
  type Guarded,
  type GuardrailSinks,
  type GuardrailVariables,
  inspectionFacts,
  type Rewriting,
  rehearsedVariables,
  type Segment,
  settleJudged,
  sumFacts,
} from "../core/guardrails/index.ts";
import { type Account, Holding, readingBytes } from "../memory/index.ts";
import type { GuardrailSnapshot } from "../snapshot/index.ts";
import type { HeaderList, Room, Verdict, WholeRequest } from "./exchange/index.ts";
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

export interface InspectingWith {
  /** Returns the guardrails in force now. */
  readonly guardrails: () => GuardrailSnapshot;
  readonly sinks: GuardrailSinks;
  /** Whether responses are inspected too. */
  readonly hasResponses: boolean;
  /** Starts a trace of an exchange; `undefined` if tracing is off. */
  readonly trace?: TraceExchange | undefined;
}

const ALLOW: Verdict = { kind: "allow" };

/** Maximum length of a caller-supplied name in a record, in UTF-16 units. */
const MAX_SHOWN = 128;
const shown = (text: string): string => escapeControls(cutText(text, MAX_SHOWN));

/** Caller in records: none, because a proxy reports no caller. */
const NOBODY = { profile: undefined, caller: undefined, segments: [] } as const;

/** State shared by a request and its response. `once` and `shape` are set when the request was read. */
export interface RequestState {
  readonly guard: Guard | undefined;
  readonly rewriting: Rewriting;
  once: Once | undefined;
  shape: ProxiedShape | undefined;
  /** Span of the exchange; `undefined` if tracing is off or the span has not begun. */
  span: ExchangeSpan | undefined;
  /** Error that refused the request. */
  refusal: GatewayError | undefined;
}

type Once = Omit<ProxiedMessage, "segments">;

export const createRequestState = ({ guardrails }: Pick<InspectingWith, "guardrails">): RequestState => ({
  guard: guardrails().of(undefined),
  rewriting: createRewriting(),
  once: undefined,
  shape: undefined,
  span: undefined,
  refusal: undefined,
});

/** Returns the verdict. Rejects with the error that refuses the request. */
export async function inspectRequest(
  request: WholeRequest,
  signal: AbortSignal,
  { sinks, trace, hasResponses }: Omit<InspectingWith, "guardrails">,
  asked: RequestState,
): Promise<Verdict> {
  const { guard } = asked;
  if (guard === undefined) return ALLOW;
  const route = routeOf(request.headers);
  asked.span = trace?.(startedExchange(request.headers, route));
  try {
    refuseUninspected(request.headers);
    const verdict = await inspected(request, { guard, signal, sinks, asked, hasResponses });
    if (verdict.kind === "refuse") asked.refusal = verdict.error;
    return verdict;
  } catch (error) {
    asked.refusal = asRefusal(error);
    throw error;
  }
}

async function inspected({ headers, body, room }: WholeRequest, judging: Judging): Promise<Verdict> {
  const { guard, asked, hasResponses } = judging;
  const holding = new Holding(accountOf(room));
  const routes = routesOf(headers);
  let shape: ProxiedShape | undefined;
  try {
    const { plain, encode } = await decompressed(
      headers,
      body,
      guard.inspectsBody || routes.some(mayBeForBatch),
      room,
      holding,
    );
    refuseBatch(headers, plain, routes);
    if (guard.inspectsBody) holding.hold(readingBytes(plain));
    const read = readProxiedRequest(headers, plain, guard.inspectsBody);
    shape = read.shape;
    asked.shape = shape;
    if (read.asksForPush && hasResponses && guard.inspectsOutput) throw pushRefusal(shape);
    asked.once = read.texts.messages.at(-1);
    const verdict = await inspectMessages(read.texts, headers, judging);
    return verdict.kind === "rewrite" ? { ...verdict, body: await encode(verdict.body) } : verdict;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { kind: "refuse", error, shape: error instanceof ShapedError ? error.shape : shape };
  } finally {
    holding.close();
  }
}

export const accountOf = ({ hold }: Pick<Room, "hold">): Account => ({
  hold(bytes) {
    if (!hold(bytes)) throw new GatewayError("overloaded", "The inspector buffers too many bytes of other requests.");
  },
  release: (bytes) => void hold(-bytes),
});

/** Decompresses the body. A rewritten body is compressed again in the same way, because the headers were already sent on. */
async function decompressed(
  headers: HeaderList,
  body: Buffer,
  isRead: boolean,
  { maxBodyBytes }: Room,
  holding: Holding,
): Promise<Peeled> {
  const layers = isRead && body.length > 0 ? layersIn(headerValues(headers, "content-encoding")) : [];
  return layers.length === 0
    ? { plain: body, encode: (changed) => Promise.resolve(changed) }
    : await peel(body, layers, maxBodyBytes, holding);
}

interface Judging {
  readonly guard: Guard;
  readonly signal: AbortSignal;
  readonly sinks: GuardrailSinks;
  readonly asked: RequestState;
  readonly hasResponses: boolean;
}

/** Inspects every message of the request. Throws the error that refuses it. */
async function inspectMessages(texts: ProxiedTexts, headers: HeaderList, judging: Judging): Promise<Verdict> {
  for (const what of texts.uninspected) judging.sinks.metrics.uninspected(what);
  const beside = envelopeSegments(judging.guard, ownHeaders(headers), queryOf(headers));
  const changes: (string | undefined)[] = [];
  const inspectionSpan = openInspectionSpan(judging.asked);
  try {
    for (const [at, message] of texts.messages.entries()) {
      // Segments of the body come first, so that changes keep their indexes. Headers and query are inspected once, with the first
      // message.
      const segments = at === 0 && beside.length > 0 ? [...message.segments, ...beside] : message.segments;
      const made =
        segments.length === 0 ? undefined : await changesIn(message, segments, headers, { ...judging, inspectionSpan });
      for (const place of message.segments.keys()) changes.push(made?.[place]);
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
async function changesIn(
  once: ProxiedMessage,
  segments: readonly Segment[],
  headers: HeaderList,
  { guard, signal, sinks, asked, inspectionSpan }: Judging & { readonly inspectionSpan: InspectionSpan | undefined },
): Promise<readonly (string | undefined)[] | undefined> {
  asked.once = once;
  const occasion = { variables: variablesOf(once), rewriting: asked.rewriting, tracer: asked.span };
  let guarded: Guarded | undefined;
  try {
    guarded = await guard.message(segments, occasion, signal);
  } finally {
    inspectionSpan?.add(inspectionFacts(guarded, segments.length));
  }
  const { error } = settleJudged(guarded, () => factsOf("request", once, headers), sinks);
  if (error !== undefined) throw error;
  return changesOf(guarded.judgement);
}

export const variablesOf = ({ model, route, method, name }: Once): GuardrailVariables => ({
  ...rehearsedVariables({ ...NOBODY, model, route }),
  hop: "inspect",
  method,
  name,
});

/** Builds the audit facts. `headers`: headers of the request. */
export const factsOf = (direction: Direction, { model, route, method, name }: Once, headers: HeaderList): Facts => ({
  direction,
  hop: "inspect",
  model: model === "" ? null : shown(model),
  name: name === "" ? null : shown(name),
  request: shown(headerValue(headers, "x-request-id")),
  route: shown(method === "" ? route : method),
  to: shown(headerValue(headers, ":authority")),
});

/** Cause that lists of refusals show. */
const BY = { kind: "guardrail", name: "sessions and batches are not inspected" } as const;

const unread = (route: Route): GatewayError =>
  new GatewayError("policy_denied", `Guardrails apply here, and ${uninspectedReason(route)}`, { by: BY });

/** Throws if the uploaded file contains batch requests. */
function refuseBatch(headers: HeaderList, plain: Buffer, routes: readonly Route[]): void {
  const contentType = headerValue(headers, "content-type");
  const upload = { query: queryOf(headers), contentType, plain };
  const naming = routes.find((route) => isForBatch({ ...upload, route }));
  if (naming !== undefined) throw unread(naming);
}

const queryOf = (headers: HeaderList): string => /^[^?]*(\?.*)$/s.exec(headerValue(headers, ":path"))?.[1] ?? "";

/** Refuses requests that cannot be inspected: sessions, batches, and upgrades or tunnels that would bypass the inspector. */
function refuseUninspected(headers: HeaderList): void {
  if (headerValue(headers, "upgrade") !== "" || headerValue(headers, ":method") === "CONNECT") {
    throw new GatewayError("guardrail_denied", "Guardrails apply here, and sessions are not inspected.", { by: BY });
  }
  const hiding = routesOf(headers).find((read) => read.hidesTexts);
  if (hiding !== undefined) throw unread(hiding);
}

/**
 * Returns the refusal of A2A push notifications in the protocol's own format. An agent that posts its results elsewhere bypasses
 * the inspection of its answers.
 */
function pushRefusal(shape: ProxiedShape | undefined): ShapedError {
  const { code, message } = a2aFault("push", "null");
  const why = `${message}: guardrails would not see what the agent posts.`;
  return new ShapedError("guardrail_denied", why, shape && { ...shape, code });
}

function ownHeaders(headers: HeaderList): readonly string[] {
  const own: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at] ?? "";
    if (!name.startsWith(":")) own.push(name, headers[at + 1] ?? "");
  }
  return own;
}

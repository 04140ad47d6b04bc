/** What guardrails make of a request that another proxy routes. Source: design decisions, sections 11 and 19. */
import { cutText, escapeControls, GatewayError } from "../../base/index.ts";
import type { ProxiedShape } from "../core/agents/index.ts";
import type { Route } from "../core/dialects/index.ts";
import {
  changesOf,
  createRewriting,
  envelopeSegments,
  type Facts,
  type Guard,
  type GuardrailSinks,
  rehearsedVariables,
  type Segment,
  settleJudged,
} from "../core/guardrails/index.ts";
import type { GuardrailSnapshot } from "../snapshot/index.ts";
import type { HeaderList, Verdict, WholeRequest } from "./exchange/index.ts";
import { headerValue } from "./header-value.ts";
import { readSaid, routeOf, type Said, type SaidOnce, UnreadableRequest } from "./said.ts";

export interface InspectingWith {
  /** In force now. */
  readonly guardrails: () => GuardrailSnapshot;
  readonly sinks: GuardrailSinks;
}

const ALLOW: Verdict = { kind: "allow" };

/** Such a name in a record is cut there, in UTF-16 units. */
const MAX_SHOWN = 128;
const shown = (text: string): string => escapeControls(cutText(text, MAX_SHOWN));

/** A proxy tells of no caller. */
const NOBODY = { profile: undefined, caller: undefined, segments: [] } as const;

/** The verdict, or a rejection with what refuses the request. */
export async function inspectRequest(
  { headers, body }: WholeRequest,
  signal: AbortSignal,
  { guardrails, sinks }: InspectingWith,
): Promise<Verdict> {
  const guard = guardrails().of(undefined);
  if (guard === undefined) return ALLOW;
  refuseUninspected(headers, routeOf(headers), guard.inspectsBody && body.length > 0);
  let shape: ProxiedShape | undefined;
  try {
    const read = readSaid(headers, body, guard.inspectsBody);
    shape = read.shape;
    return await judged(read.said, { headers, body }, { guard, signal, sinks });
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { kind: "refuse", error, shape: error instanceof UnreadableRequest ? error.shape : shape };
  }
}

interface Judging {
  readonly guard: Guard;
  readonly signal: AbortSignal;
  readonly sinks: GuardrailSinks;
}

/** Throws what refuses it. */
async function judged(said: Said, { headers, body }: WholeRequest, judging: Judging): Promise<Verdict> {
  for (const what of said.uninspected) judging.sinks.metrics.uninspected(what);
  const [, query] = /^[^?]*(\?.*)$/s.exec(headerValue(headers, ":path")) ?? [];
  const beside = envelopeSegments(judging.guard, ownHeaders(headers), query ?? "");
  const rewriting = createRewriting();
  const changes: (string | undefined)[] = [];
  for (const [at, message] of said.messages.entries()) {
    // Texts of the body are first, so that changes of theirs have their places; what stands beside them is said once.
    const segments = at === 0 ? [...message.segments, ...beside] : message.segments;
    const made = segments.length === 0 ? undefined : await changesIn(message, segments, headers, rewriting, judging);
    for (const place of message.segments.keys()) changes.push(made?.[place]);
  }
  if (changes.every((change) => change === undefined)) return ALLOW;
  const made = said.rewrite(changes);
  return made.body === body && made.headers.size === 0 ? ALLOW : { kind: "rewrite", ...made };
}

/** By segment; undefined: none is rewritten. Throws what refuses the message. */
async function changesIn(
  { model, route, method, name }: SaidOnce,
  segments: readonly Segment[],
  headers: HeaderList,
  rewriting: ReturnType<typeof createRewriting>,
  { guard, signal, sinks }: Judging,
): Promise<readonly (string | undefined)[] | undefined> {
  const variables = { ...rehearsedVariables({ ...NOBODY, model, route }), hop: "inspect", method, name } as const;
  const guarded = await guard.message(segments, { variables, rewriting }, signal);
  const told = (): Facts => ({
    direction: "request",
    hop: "inspect",
    model: model === "" ? null : shown(model),
    name: name === "" ? null : shown(name),
    request: shown(headerValue(headers, "x-request-id")),
    route: shown(method === "" ? route : method),
    to: shown(headerValue(headers, ":authority")),
  });
  const { error } = settleJudged(guarded, told, sinks);
  if (error !== undefined) throw error;
  return changesOf(guarded.judgement);
}

/** What nobody reads is not let past a guard: sessions, bodies in an encoding, and what opens a way beside it. */
function refuseUninspected(headers: HeaderList, route: Route, isBodyRead: boolean): void {
  const by = { kind: "guardrail", name: "sessions are not inspected" } as const;
  if (headerValue(headers, "upgrade") !== "" || headerValue(headers, ":method") === "CONNECT") {
    throw new GatewayError("guardrail_denied", "Guardrails apply here, and sessions are not inspected.", { by });
  }
  if (route.guard === "grants_credential" || route.name === "realtime_calls") {
    const message = `Guardrails apply here, and what the ${route.name} route opens is not inspected.`;
    throw new GatewayError("guardrail_denied", message, { by });
  }
  const encoding = headerValue(headers, "content-encoding").trim().toLowerCase();
  if (isBodyRead && encoding !== "" && encoding !== "identity") {
    throw new GatewayError(
      "invalid_request",
      "Guardrails cannot inspect the request: its body has a content encoding.",
    );
  }
}

function ownHeaders(headers: HeaderList): readonly string[] {
  const own: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at] ?? "";
    if (!name.startsWith(":")) own.push(name, headers[at + 1] ?? "");
  }
  return own;
}

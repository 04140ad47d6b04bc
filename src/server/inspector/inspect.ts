/**
 * What guardrails make of a request that another proxy routes. Of its path and shape is told what its body says; of a body
 * whose members are not known each string is read. Source: design decisions, sections 11 and 19.
 */
import { cutText, escapeControls, GatewayError } from "../../base/index.ts";
import { findRoute, memberValue, type Route, readTexts, scanObject } from "../core/dialects/index.ts";
import {
  changesOf,
  createRewriting,
  envelopeSegments,
  type Facts,
  type GuardrailSinks,
  rehearsedVariables,
  segmentOf,
  settleJudged,
} from "../core/guardrails/index.ts";
import type { GuardrailSnapshot } from "../snapshot/index.ts";
import type { HeaderList, Verdict, WholeRequest } from "./exchange/index.ts";
import { dialectPath, headerValue } from "./header-value.ts";

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

/** Of a body that belongs to no known route. */
const UNKNOWN = findRoute("POST", "/v1/unknown");

/** The verdict, or a rejection with what refuses the request. */
export async function inspectRequest(
  { headers, body }: WholeRequest,
  signal: AbortSignal,
  { guardrails, sinks }: InspectingWith,
): Promise<Verdict> {
  const guard = guardrails().of(undefined);
  if (guard === undefined) return ALLOW;
  const [path = "", ...query] = headerValue(headers, ":path").split("?");
  const route = routeOf(headerValue(headers, ":method"), path);
  refuseUninspected(headers, route, guard.inspectsBody && body.length > 0);
  const contentType = headerValue(headers, "content-type");
  const texts = guard.inspectsBody
    ? readTexts(route, "compat", { plain: body, contentType, isJson: false })
    : undefined;
  if (texts?.problem !== undefined) {
    throw new GatewayError("invalid_request", `Guardrails cannot inspect the request: ${texts.problem}.`);
  }
  for (const what of texts?.uninspected ?? []) sinks.metrics.uninspected(what);
  const beside = envelopeSegments(guard, ownHeaders(headers), query.length === 0 ? "" : `?${query.join("?")}`);
  // Texts of the body are first, so that changes of theirs have their places.
  const segments = [...(texts?.texts ?? []).map(segmentOf), ...beside];
  if (segments.length === 0) return ALLOW;
  const model = modelIn(body);
  const variables = { ...rehearsedVariables({ ...NOBODY, model, route: route.name }), hop: "inspect" } as const;
  const guarded = await guard.message(segments, { variables, rewriting: createRewriting() }, signal);
  const told = (): Facts => ({
    direction: "request",
    hop: "inspect",
    model: model === "" ? null : shown(model),
    request: shown(headerValue(headers, "x-request-id")),
    route: route.name,
    to: shown(headerValue(headers, ":authority")),
  });
  const { error } = settleJudged(guarded, told, sinks);
  if (error !== undefined) return { kind: "refuse", error };
  const changes = changesOf(guarded.judgement);
  const made = changes === undefined ? undefined : texts?.rewrite(changes);
  return made === undefined || made === body ? ALLOW : { kind: "rewrite", body: made };
}

function routeOf(method: string, path: string): Route {
  const route = findRoute(method, dialectPath(path)) ?? UNKNOWN;
  if (route === undefined) throw new Error("there is no route for what is not known");
  return route;
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

/** Empty: the body names none that is a string, or is no JSON object. */
function modelIn(body: Buffer): string {
  const scan = scanObject(body, ["model"], true);
  const [member] = scan.kind === "object" ? scan.members : [];
  if (member === undefined) return "";
  try {
    const value = memberValue(body, member);
    return typeof value === "string" ? value : "";
  } catch {
    return "";
  }
}

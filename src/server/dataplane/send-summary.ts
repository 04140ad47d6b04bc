/**
 * Reports the end of a request to the list of recent requests, and to the records that configuration changes are rehearsed on.
 */
import type { Caller } from "../auth/index.ts";
import { routeKey } from "../core/dialects/index.ts";
import { FACT, type RecordedCaller, type RecordedRequest } from "../core/rehearsal/index.ts";
import type { Snapshot } from "../snapshot/index.ts";
import { DecisionTrace } from "./decision-trace.ts";
import type { Ports } from "./ports.ts";
import { type RequestEnd, RequestFacts, summarize } from "./request-summary.ts";

/** Reports the end of a request. Must be called once, at the very end. */
export function sendSummary(facts: RequestFacts, ending: RequestEnd, { finished, decisions }: Sinks): void {
  finished?.finished(summarize(facts, ending));
  const { trace } = facts;
  if (trace === undefined || decisions === undefined) return;
  const request = recordedRequest(facts, trace, ending);
  if (request !== undefined) decisions.record(request);
}

type Sinks = Pick<Ports, "finished" | "decisions">;

/** Returns the facts of a request that begins. */
export function createFacts({ decisions }: Sinks, { digest }: Pick<Snapshot, "digest">): RequestFacts {
  const facts = new RequestFacts();
  if (decisions !== undefined) facts.trace = new DecisionTrace(digest);
  return facts;
}

/**
 * Returns the record for rehearsals, or `undefined` if nothing was decided: the gateway answered by itself, or the client left
 * early.
 */
function recordedRequest(facts: RequestFacts, trace: DecisionTrace, ending: RequestEnd): RecordedRequest | undefined {
  const { refusedBy, hop } = facts;
  if (ending.code === "" && (trace.facts & FACT.isAdmitted) === 0) return undefined;
  const { matchedRoute, charge } = trace;
  const { model } = facts;
  const needed = charge?.needed ?? refusedBy?.needed;
  const isAgents = hop === "mcp" || hop === "a2a";
  return {
    at: ending.at,
    totalMs: ending.totalMs,
    id: ending.requestId,
    configuration: trace.configuration,
    traffic: hop ?? "none",
    dialect: matchedRoute?.dialect ?? "",
    facts: model === undefined ? trace.facts : trace.facts | FACT.namesModel,
    caller: ending.caller === undefined ? "" : serializedCaller(ending.caller),
    route: matchedRoute === undefined ? "" : routeKey(matchedRoute.route),
    model: model ?? "",
    routed: trace.routedProvider,
    to: trace.admittedUpstream,
    provider: isAgents || ending.attempts === 0 ? "" : ending.provider,
    method: facts.method ?? "",
    name: trace.name,
    role: trace.role,
    status: ending.status,
    code: ending.code,
    by: causeText(facts),
    acted: ending.guardrails,
    findings: trace.findings,
    attempts: ending.attempts,
    bodyBytes: trace.bodyBytes,
    units: charge?.spent ?? 0,
    least: needed?.least ?? -1,
    most: needed?.most ?? -1,
  };
}

function causeText({ refusedBy, allowedBy }: RequestFacts): string {
  if (refusedBy !== undefined) return `${refusedBy.kind} ${refusedBy.name}`;
  return allowedBy === undefined ? "" : `rule ${allowedBy}`;
}

/** Cache of serialized callers. A caller stays the same object as long as it does not change. */
const serializedCallers = new WeakMap<Caller, string>();

function serializedCaller(caller: Caller): string {
  const known = serializedCallers.get(caller);
  if (known !== undefined) return known;
  const { kind, key, agent, user, issuer, profile, principal } = caller;
  const recorded: RecordedCaller = {
    kind,
    principal,
    ...(key !== undefined && { key: { id: key.id, name: key.name, metadata: key.metadata } }),
    ...(agent !== undefined && { agent }),
    ...(user !== undefined && { user }),
    ...(issuer !== undefined && { issuer }),
    ...(profile !== undefined && { profile }),
  };
  const text = JSON.stringify(recorded);
  serializedCallers.set(caller, text);
  return text;
}

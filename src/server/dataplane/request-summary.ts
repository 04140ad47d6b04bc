/**
 * Summary of a finished request or session, for people who look at recent requests (design decisions, section 17). It contains
 * metadata only, and only values that are already available. The code that displays it truncates and escapes names.
 */
import type { RefusalCause } from "../../base/index.ts";
import type { Caller } from "../auth/index.ts";
import { addUsage, type Usage } from "../core/dialects/index.ts";
import { callerName, storableName } from "./caller-label.ts";
import type { DecisionTrace } from "./decision-trace.ts";

/** Traffic type as in access rules, with WebSocket sessions as a type of their own. */
type RequestHop = "llm" | "mcp" | "a2a" | "websocket";

export interface RequestSummary {
  /** Arrival time, in milliseconds since 1970. */
  readonly at: number;
  readonly id: string;
  /** Name of the caller; `undefined` if it was not authenticated or has no name. */
  readonly caller: string | undefined;
  readonly profile: string | undefined;
  /** Traffic type; `undefined` if the request was for the gateway itself, or was refused before the type was known. */
  readonly hop: RequestHop | undefined;
  /** Name of the route. For a call of an MCP server or agent, the JSON-RPC method as the caller wrote it; `none` without one. */
  readonly route: string;
  /** Model as the client requested it. */
  readonly model: string | undefined;
  /** Name of the provider; `none` if no provider was chosen. */
  readonly provider: string;
  readonly status: number;
  /** Code of the refusal, or empty. */
  readonly code: string;
  readonly attempts: number;
  /** Milliseconds from arrival until an upstream's answer began; `undefined` if none did. */
  readonly firstByteMs: number | undefined;
  readonly totalMs: number;
  /** Input tokens of all attempts; `undefined` if nothing was counted or reported. */
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
  /**
   * The control that refused the request, the guardrail that acted on it, or the rule that admitted it; `undefined` if none
   * did.
   */
  readonly decidedBy: Pick<RefusalCause, "kind" | "name"> | undefined;
}

/** Receives each request and session once. Implementations must be cheap and must not throw. */
export interface SummarySink {
  finished(request: RequestSummary): void;
}

/** Facts about a request, collected while it is served. */
export class RequestFacts {
  profile: string | undefined;
  hop: RequestHop | undefined;
  /** JSON-RPC method as the caller wrote it; `undefined` for routes of models. */
  method: string | undefined;
  /** Model as the client requested it. */
  model: string | undefined;
  /** Name of the last access rule that admitted the request. */
  allowedBy: string | undefined;
  refusedBy: RefusalCause | undefined;
  /** Trace for the rehearsal of configuration changes; `undefined` if none are recorded. */
  trace: DecisionTrace | undefined;
  /** Usage of all attempts; `undefined` if nothing was counted or reported. */
  usage: Usage | undefined;

  addUsage(usage: Usage): void {
    this.usage = this.usage === undefined ? usage : addUsage(this.usage, usage);
  }
}

/** Facts that are only known at the end. */
export interface RequestEnd
  extends Pick<RequestSummary, "at" | "status" | "code" | "attempts" | "firstByteMs" | "totalMs"> {
  readonly requestId: string;
  readonly caller: Caller | undefined;
  readonly route: string;
  readonly provider: string;
  /** Value of `x-gateway-guardrails`. */
  readonly guardrails: string;
  /** Length of the URL. Names may be substrings of it, which would keep it in memory. */
  readonly urlLength: number;
}

/** Length of a URL from which on names are copied, because a substring keeps the whole text in memory. */
const MAX_UNCOPIED_URL_LENGTH = 512;

export function summarize(facts: RequestFacts, ending: RequestEnd): RequestSummary {
  const { caller, guardrails, urlLength } = ending;
  const isShared = urlLength > MAX_UNCOPIED_URL_LENGTH;
  return {
    at: ending.at,
    id: ending.requestId,
    caller: caller === undefined ? undefined : storableName(callerName(caller)),
    profile: facts.profile,
    hop: facts.hop,
    route: facts.method === undefined ? ending.route : (storableName(facts.method) ?? ""),
    model: storableName(facts.model, isShared),
    provider: ending.provider,
    status: ending.status,
    code: ending.code,
    attempts: ending.attempts,
    firstByteMs: ending.firstByteMs,
    totalMs: ending.totalMs,
    inputTokens: facts.usage?.inputTokens,
    outputTokens: facts.usage?.outputTokens,
    decidedBy: decidedBy(facts, guardrails),
  };
}

function decidedBy({ refusedBy, allowedBy }: RequestFacts, guardrails: string): RequestSummary["decidedBy"] {
  if (refusedBy !== undefined) return { kind: refusedBy.kind, name: refusedBy.name };
  if (guardrails !== "") return { kind: "guardrail", name: guardrails };
  return allowedBy === undefined ? undefined : { kind: "rule", name: allowedBy };
}

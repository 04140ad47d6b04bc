/**
 * What became of a request or session, told once it is over: for people who look at the last ones (design decisions,
 * section 17). Metadata only, and cheap: what is at hand, none of it put into words. Who shows it cuts and escapes names.
 */
import type { RefusedBy } from "../../base/index.ts";
import type { Caller } from "../auth/index.ts";
import { addUsage, type Usage } from "../core/dialects/index.ts";
import type { DecisionTrace } from "./decision-trace.ts";
import { keptName, toldNameOf } from "./whose.ts";

/** As access rules name hops; a session over WebSocket is told apart. */
export type FinishedHop = "llm" | "mcp" | "a2a" | "websocket";

export interface FinishedRequest {
  /** When it came, in milliseconds since 1970. */
  readonly at: number;
  readonly id: string;
  /** Undefined: nobody was recognised, or the caller has no name. */
  readonly caller: string | undefined;
  readonly profile: string | undefined;
  /** Undefined: it was for the gateway itself, or was refused before that was known. */
  readonly hop: FinishedHop | undefined;
  /** Of a call of a server or agent its method, as the caller wrote it; `none` where there is none. */
  readonly route: string;
  /** As the client asked for it. */
  readonly model: string | undefined;
  /** `none` where there is none. */
  readonly provider: string;
  readonly status: number;
  /** The refusal's, or empty. */
  readonly code: string;
  readonly attempts: number;
  /** Milliseconds from its begin until an upstream's answer began; undefined: none did. */
  readonly firstByteMs: number | undefined;
  readonly totalMs: number;
  /** All attempts together; undefined: nobody counted, or nothing was told. */
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
  /** What refused it, what acted on it, or the rule that let it pass; undefined: nothing decided. */
  readonly decidedBy: Pick<RefusedBy, "kind" | "name"> | undefined;
}

/** Told of each request and session once. Must cost next to nothing, and never throw. */
export interface FinishedSink {
  finished(request: FinishedRequest): void;
}

/** What is learnt of a request on its way. */
export class Facts {
  profile: string | undefined;
  hop: FinishedHop | undefined;
  /** Of JSON-RPC, as the caller wrote it; undefined: the route tells. */
  method: string | undefined;
  /** As the client asked for it. */
  model: string | undefined;
  /** Of the last access rule that let it pass. */
  allowedBy: string | undefined;
  refusedBy: RefusedBy | undefined;
  /** For the record by which changes are rehearsed; undefined where nobody keeps one. */
  trace: DecisionTrace | undefined;
  /** All attempts together; undefined: nobody counted, or nothing was told. */
  usage: Usage | undefined;

  used(usage: Usage): void {
    this.usage = this.usage === undefined ? usage : addUsage(this.usage, usage);
  }
}

/** What the end alone tells. */
export interface Ending
  extends Pick<FinishedRequest, "at" | "id" | "status" | "code" | "attempts" | "firstByteMs" | "totalMs"> {
  readonly caller: Caller | undefined;
  readonly route: string;
  readonly provider: string;
  /** Value of `x-gateway-guardrails`. */
  readonly guardrails: string;
  /** Of what the names may be parts of, which they would keep in memory. */
  readonly urlLength: number;
}

/** A name that is part of a longer text keeps that in memory: from this length on it is copied. */
const SHARED_LENGTH = 512;

export function finishedOf(facts: Facts, ending: Ending): FinishedRequest {
  const { caller, guardrails, urlLength } = ending;
  const isShared = urlLength > SHARED_LENGTH;
  return {
    at: ending.at,
    id: ending.id,
    caller: caller === undefined ? undefined : keptName(toldNameOf(caller)),
    profile: facts.profile,
    hop: facts.hop,
    route: facts.method === undefined ? ending.route : (keptName(facts.method) ?? ""),
    model: keptName(facts.model, isShared),
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

function decidedBy({ refusedBy, allowedBy }: Facts, guardrails: string): FinishedRequest["decidedBy"] {
  if (refusedBy !== undefined) return { kind: refusedBy.kind, name: refusedBy.name };
  if (guardrails !== "") return { kind: "guardrail", name: guardrails };
  return allowedBy === undefined ? undefined : { kind: "rule", name: allowedBy };
}

/**
 * What decisions read of a request, gathered on its way and packed into one record at its end, so that a change of the
 * configuration can be judged by it. Names and counts: no text, no argument and no header value.
 */
import type { Caller } from "../auth/index.ts";
import { mayNameBatch, routeKey } from "../core/dialects/index.ts";
import type { Annotation, Segment } from "../core/guardrails/index.ts";
import { FACT, findingKey, findingsText, type RecordedCaller, type RecordedRequest } from "../core/rehearsal/index.ts";
import type { Charge } from "./budgets/index.ts";
import type { Ending, Facts } from "./finished.ts";
import type { Place, Target } from "./hops/model/address.ts";
import type { Admitted } from "./hops/model/admit.ts";

/** Told of each request and session once. Must cost next to nothing, and never throw. */
export interface DecisionSink {
  decided(request: RecordedRequest): void;
}

/** Kinds of findings of a request; more are counted as cut. */
const MAX_FINDINGS = 64;

export class DecisionTrace {
  /** Digest of the configuration that decides the request. */
  readonly configuration: string;
  facts = 0;
  place: Place | undefined;
  target: Target | undefined;
  /** First provider that is admitted, or the server or agent. */
  to = "";
  bodyBytes = 0;
  name = "";
  role = "";
  charge: Pick<Charge, "spent" | "needed"> | undefined;
  #findings: Map<string, number> | undefined;

  constructor(configuration: string) {
    this.configuration = configuration;
  }

  placed(place: Place): void {
    this.place = place;
  }

  addressed(target: Target): void {
    this.target = target;
    this.bodyBytes = Math.max(target.plain.length, target.original.length);
  }

  admitted({ provider, lost, translated }: Admitted): void {
    this.to = provider.name;
    this.facts |= FACT.isAdmitted;
    if (lost.length > 0) this.facts |= FACT.losesSomething;
    if (translated !== undefined) this.facts |= FACT.isTranslated;
  }

  /** A suspension keeps it from a provider. */
  suspended(): void {
    this.facts |= FACT.metSuspension;
  }

  called(server: string, { name, role = "", isNotification }: Called, bodyBytes: number): void {
    this.to = server;
    this.name = name;
    this.role = role;
    this.bodyBytes = bodyBytes;
    if (isNotification) this.facts |= FACT.isNotification;
  }

  /** Rules and budget let the call pass. */
  admittedCall(charge: DecisionTrace["charge"]): void {
    this.facts |= FACT.isAdmitted;
    this.charged(charge);
  }

  charged(charge: DecisionTrace["charge"]): void {
    if (charge === undefined) return;
    this.charge = charge;
    this.facts |= FACT.isCharged;
  }

  /** `found`: of the answer, by detector and type. */
  answered(found: Readonly<Record<string, Readonly<Record<string, number>>>>): void {
    this.facts |= FACT.answerInspected;
    for (const detector of Object.keys(found)) {
      for (const [type, count] of Object.entries(found[detector] ?? {})) {
        this.found(findingKey({ direction: "response", type, detector, kind: "" }), count);
      }
    }
  }

  /** `found`: after conflicts and allow lists, as rules read it. */
  inspected(found: readonly Annotation[], segments: readonly Pick<Segment, "kind">[]): void {
    // Detectors beside the call have found more, and what was judged then is judged again.
    if ((this.facts & FACT.requestInspected) !== 0) this.facts |= FACT.findingsCut;
    this.facts |= FACT.requestInspected;
    for (const { category, label, detector, segment } of found) {
      const kind = segments[segment]?.kind ?? "";
      this.found(findingKey({ direction: "request", type: `${category}/${label}`, detector, kind }), 1);
    }
  }

  /** `key`: of `findingKey`. */
  found(key: string, count: number): void {
    this.#findings ??= new Map();
    const before = this.#findings.get(key);
    if (before === undefined && this.#findings.size >= MAX_FINDINGS) this.facts |= FACT.findingsCut;
    else this.#findings.set(key, (before ?? 0) + count);
  }

  get findings(): string {
    return this.#findings === undefined ? "" : findingsText(this.#findings);
  }
}

interface Called {
  readonly name: string;
  readonly role?: string | undefined;
  readonly isNotification: boolean;
}

/** Once, at the end of a request. */
export function recordDecision(facts: Facts, ending: Ending, sink: DecisionSink | undefined): void {
  const { trace } = facts;
  if (trace === undefined || sink === undefined) return;
  const request = recordedRequest(facts, trace, ending);
  if (request !== undefined) sink.decided(request);
}

/** `undefined` if nothing was decided: the gateway answered by itself, or the client left before. */
function recordedRequest(facts: Facts, trace: DecisionTrace, ending: Ending): RecordedRequest | undefined {
  const { refusedBy, hop } = facts;
  if (ending.code === "" && (trace.facts & FACT.isAdmitted) === 0) return undefined;
  const { target, place = target, charge } = trace;
  const { model } = facts;
  const needed = charge?.needed ?? refusedBy?.needed;
  const isAgents = hop === "mcp" || hop === "a2a";
  return {
    at: ending.at,
    totalMs: ending.totalMs,
    id: ending.id,
    configuration: trace.configuration,
    traffic: hop ?? "none",
    dialect: place?.dialect ?? "",
    facts: trace.facts | (model === undefined ? 0 : FACT.namesModel) | (target === undefined ? 0 : factsOf(target)),
    caller: ending.caller === undefined ? "" : callerText(ending.caller),
    route: place === undefined ? "" : routeKey(place.route),
    model: model ?? "",
    routed: target?.provider.name ?? "",
    to: trace.to,
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

function causeText({ refusedBy, allowedBy }: Facts): string {
  if (refusedBy !== undefined) return `${refusedBy.kind} ${refusedBy.name}`;
  return allowedBy === undefined ? "" : `rule ${allowedBy}`;
}

/** Cheap, and on the safe side: what may be is taken to be. */
function factsOf({ plain, query, isJson, contentType, fallbacks, isUnread, route, thread }: Target): number {
  let facts = 0;
  if (plain.length > 0) facts |= FACT.hasBody;
  if (query !== "" || (isJson && !JSON_TYPE.test(contentType))) facts |= FACT.mayNameOthers;
  if (fallbacks.length > 0) facts |= FACT.hasFallbacks;
  if (isUnread) facts |= FACT.isUnread;
  if (route.model === "batch" || (mayNameBatch(route) && (plain.length > 0 || query !== ""))) facts |= FACT.isBatch;
  if (thread !== "none") facts |= FACT.usesThread;
  return facts;
}

const JSON_TYPE = /^application\/json\s*(?:;|$)/i;

/** A caller is one object as long as it stays the same. */
const texts = new WeakMap<Caller, string>();

function callerText(caller: Caller): string {
  const known = texts.get(caller);
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
  texts.set(caller, text);
  return text;
}

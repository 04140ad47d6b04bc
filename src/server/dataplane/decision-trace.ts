/**
 * Collects the inputs of the decisions about a request, so that a configuration change can be rehearsed on past requests. It
 * contains names and counts, but no text, argument or header value, and does not keep the request's body in memory.
 */
import { type Dialect, mayBeForBatch, type Route } from "../core/dialects/index.ts";
import type { Annotation, Segment } from "../core/guardrails/index.ts";
import { FACT, findingKey, findingsText, type RecordedRequest } from "../core/rehearsal/index.ts";
import type { Charge } from "./budgets/index.ts";

/** Receives each request and session once. Implementations must be cheap and must not throw. */
export interface DecisionSink {
  record(request: RecordedRequest): void;
}

/** Fields of a `Target`, other than names, that rules depend on. */
interface TracedTarget {
  readonly provider: { readonly name: string };
  readonly route: Route;
  readonly plain: Buffer;
  readonly original: Buffer;
  readonly query: string;
  readonly isJson: boolean;
  readonly contentType: string;
  readonly fallbacks: readonly unknown[];
  readonly isUnread: boolean;
  readonly thread: string;
}

interface TracedCandidate {
  readonly provider: { readonly name: string };
  readonly losses: readonly unknown[];
  readonly translated: unknown;
}

interface TracedRoute {
  readonly route: Route;
  readonly dialect: Dialect;
}

/** Maximum number of different findings per request; further ones set `findingsCut`. */
const MAX_FINDINGS = 64;

export class DecisionTrace {
  /** Digest of the configuration that applies to the request. */
  readonly configuration: string;
  facts = 0;
  matchedRoute: TracedRoute | undefined;
  /** Provider that routing chose; empty before. */
  routedProvider = "";
  /** First admitted provider, or the MCP server or agent; empty before. */
  admittedUpstream = "";
  bodyBytes = 0;
  name = "";
  role = "";
  charge: Pick<Charge, "spent" | "needed"> | undefined;
  #findings: Map<string, number> | undefined;

  constructor(configuration: string) {
    this.configuration = configuration;
  }

  recordRoute({ route, dialect }: TracedRoute): void {
    this.matchedRoute = { route, dialect };
  }

  recordTarget(target: TracedTarget): void {
    this.routedProvider = target.provider.name;
    this.facts |= factsOf(target);
    this.bodyBytes = Math.max(target.plain.length, target.original.length);
  }

  recordAdmission({ provider, losses, translated }: TracedCandidate): void {
    this.admittedUpstream = provider.name;
    this.facts |= FACT.isAdmitted;
    if (losses.length > 0) this.facts |= FACT.losesSomething;
    if (translated !== undefined) this.facts |= FACT.isTranslated;
  }

  /** Records that a suspension excluded a provider. */
  recordSuspension(): void {
    this.facts |= FACT.metSuspension;
  }

  recordCall(server: string, { name, role = "", isNotification }: TracedCall, bodyBytes: number): void {
    this.admittedUpstream = server;
    this.name = name;
    this.role = role;
    this.bodyBytes = bodyBytes;
    if (isNotification) this.facts |= FACT.isNotification;
  }

  /** Records that rules and budget admitted a call of an MCP server or agent. */
  recordCallAdmission(charge: DecisionTrace["charge"]): void {
    this.facts |= FACT.isAdmitted;
    this.recordCharge(charge);
  }

  recordCharge(charge: DecisionTrace["charge"]): void {
    if (charge === undefined) return;
    this.charge = charge;
    this.facts |= FACT.isCharged;
  }

  /** Records the findings of an inspected answer. `counts`: counts by detector and type. */
  recordAnswerFindings(counts: Readonly<Record<string, Readonly<Record<string, number>>>>): void {
    this.facts |= FACT.answerInspected;
    for (const detector of Object.keys(counts)) {
      for (const [type, count] of Object.entries(counts[detector] ?? {})) {
        this.countFinding(findingKey({ direction: "response", type, detector, kind: "" }), count);
      }
    }
  }

  /**
   * Records the findings of an inspected request. `findings`: findings as rules read them, after conflicts are resolved and allow
   * lists applied.
   */
  recordRequestFindings(findings: readonly Annotation[], segments: readonly Pick<Segment, "kind">[]): void {
    // A second inspection means that slower detectors found more, and rules were evaluated again: the counts are incomplete.
    if ((this.facts & FACT.requestInspected) !== 0) this.facts |= FACT.findingsCut;
    this.facts |= FACT.requestInspected;
    for (const { category, label, detector, segment } of findings) {
      const kind = segments[segment]?.kind ?? "";
      this.countFinding(findingKey({ direction: "request", type: `${category}/${label}`, detector, kind }), 1);
    }
  }

  /** Counts a finding. `key`: result of `findingKey`. */
  countFinding(key: string, count: number): void {
    this.#findings ??= new Map();
    const before = this.#findings.get(key);
    if (before === undefined && this.#findings.size >= MAX_FINDINGS) this.facts |= FACT.findingsCut;
    else this.#findings.set(key, (before ?? 0) + count);
  }

  get findings(): string {
    return this.#findings === undefined ? "" : findingsText(this.#findings);
  }
}

interface TracedCall {
  readonly name: string;
  readonly role?: string | undefined;
  readonly isNotification: boolean;
}

/** Returns the fact bits of a target. The check is cheap and conservative: a fact that may be true is recorded as true. */
function factsOf({ plain, query, isJson, contentType, fallbacks, isUnread, route, thread }: TracedTarget): number {
  let facts = 0;
  if (plain.length > 0) facts |= FACT.hasBody;
  if (query !== "" || (isJson && !JSON_TYPE.test(contentType))) facts |= FACT.mayNameOthers;
  if (fallbacks.length > 0) facts |= FACT.hasFallbacks;
  if (isUnread) facts |= FACT.isUnread;
  if (route.model === "batch" || (mayBeForBatch(route) && (plain.length > 0 || query !== ""))) facts |= FACT.isBatch;
  if (thread !== "none") facts |= FACT.usesThread;
  return facts;
}

const JSON_TYPE = /^application\/json\s*(?:;|$)/i;

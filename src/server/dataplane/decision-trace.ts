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
  decided(request: RecordedRequest): void;
}

/** Fields of a `Target`, other than names, that rules depend on. */
interface Addressed {
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

interface Admitted {
  readonly provider: { readonly name: string };
  readonly lost: readonly unknown[];
  readonly translated: unknown;
}

interface Place {
  readonly route: Route;
  readonly dialect: Dialect;
}

/** Maximum number of different findings per request; further ones set `findingsCut`. */
const MAX_FINDINGS = 64;

export class DecisionTrace {
  /** Digest of the configuration that applies to the request. */
  readonly configuration: string;
  facts = 0;
  place: Place | undefined;
  /** Provider that routing chose; empty before. */
  routed = "";
  /** First admitted provider, or the MCP server or agent; empty before. */
  to = "";
  bodyBytes = 0;
  name = "";
  role = "";
  charge: Pick<Charge, "spent" | "needed"> | undefined;
  #findings: Map<string, number> | undefined;

  constructor(configuration: string) {
    this.configuration = configuration;
  }

  placed({ route, dialect }: Place): void {
    this.place = { route, dialect };
  }

  addressed(target: Addressed): void {
    this.routed = target.provider.name;
    this.facts |= factsOf(target);
    this.bodyBytes = Math.max(target.plain.length, target.original.length);
  }

  admitted({ provider, lost, translated }: Admitted): void {
    this.to = provider.name;
    this.facts |= FACT.isAdmitted;
    if (lost.length > 0) this.facts |= FACT.losesSomething;
    if (translated !== undefined) this.facts |= FACT.isTranslated;
  }

  /** Records that a suspension excluded a provider. */
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

  /** Records that rules and budget admitted a call of an MCP server or agent. */
  admittedCall(charge: DecisionTrace["charge"]): void {
    this.facts |= FACT.isAdmitted;
    this.charged(charge);
  }

  charged(charge: DecisionTrace["charge"]): void {
    if (charge === undefined) return;
    this.charge = charge;
    this.facts |= FACT.isCharged;
  }

  /** Records the findings of an inspected answer. `found`: counts by detector and type. */
  answered(found: Readonly<Record<string, Readonly<Record<string, number>>>>): void {
    this.facts |= FACT.answerInspected;
    for (const detector of Object.keys(found)) {
      for (const [type, count] of Object.entries(found[detector] ?? {})) {
        this.found(findingKey({ direction: "response", type, detector, kind: "" }), count);
      }
    }
  }

  /**
   * Records the findings of an inspected request. `found`: findings as rules read them, after conflicts are resolved and allow
   * lists applied.
   */
  inspected(found: readonly Annotation[], segments: readonly Pick<Segment, "kind">[]): void {
    // A second inspection means that slower detectors found more, and rules were evaluated again: the counts are incomplete.
    if ((this.facts & FACT.requestInspected) !== 0) this.facts |= FACT.findingsCut;
    this.facts |= FACT.requestInspected;
    for (const { category, label, detector, segment } of found) {
      const kind = segments[segment]?.kind ?? "";
      this.found(findingKey({ direction: "request", type: `${category}/${label}`, detector, kind }), 1);
    }
  }

  /** Counts a finding. `key`: result of `findingKey`. */
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

/** Returns the fact bits of a target. The check is cheap and conservative: a fact that may be true is recorded as true. */
function factsOf({ plain, query, isJson, contentType, fallbacks, isUnread, route, thread }: Addressed): number {
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

/**
 * Record of a request, from which a rehearsal computes what another configuration would have decided: caller, target, decision
 * and its reasons. It contains only names and numbers: no text of a request or answer, no argument and no header value.
 */

export const TRAFFIC = ["none", "llm", "mcp", "a2a", "websocket"] as const;
type Traffic = (typeof TRAFFIC)[number];

export const DIALECTS = ["", "compat", "messages"] as const;
type RecordedDialect = (typeof DIALECTS)[number];

/** Facts of a request, as bits. */
export const FACT = {
  /** The request names a model, possibly the empty text. */
  namesModel: 1 << 0,
  hasBody: 1 << 1,
  /** The query, or a body that parses both as JSON and as a form, may name further models. */
  mayNameOthers: 1 << 2,
  /** The body names fallback models. */
  hasFallbacks: 1 << 3,
  /** The body is neither JSON nor the form that its content type names. */
  isUnread: 1 << 4,
  /** The request names a batch, or models in each entry of one. */
  isBatch: 1 << 5,
  /** The request refers to a thread that is stored at the provider. */
  usesThread: 1 << 6,
  /** The first provider loses something that the request uses. */
  losesSomething: 1 << 7,
  isTranslated: 1 << 8,
  /** A suspension excluded a provider. */
  metSuspension: 1 << 9,
  /** Routing, rules, lists and capabilities admitted the request. */
  isAdmitted: 1 << 10,
  /** Units of a budget were reserved for it. */
  isCharged: 1 << 11,
  isNotification: 1 << 12,
  /** Guardrails inspected the whole request. */
  requestInspected: 1 << 13,
  /** Guardrails inspected the answer, as far as it arrived. */
  answerInspected: 1 << 14,
  /** A name was cut because it was too long. */
  isCut: 1 << 15,
  /** The client closed the connection before the end. */
  isAbandoned: 1 << 16,
  /** There were more findings than are kept. */
  findingsCut: 1 << 17,
} as const;

export interface RecordedRequest {
  /** Arrival, in milliseconds since 1970. */
  readonly at: number;
  readonly totalMs: number;
  readonly id: string;
  /** Digest of the configuration that decided it. */
  readonly configuration: string;
  readonly traffic: Traffic;
  readonly dialect: RecordedDialect;
  /** Bits of `FACT`. */
  readonly facts: number;
  /** JSON of a `RecordedCaller`; empty if no caller was recognized. */
  readonly caller: string;
  readonly route: string;
  readonly model: string;
  /** Provider that routing chose; empty if none. */
  readonly routed: string;
  /** First provider that was admitted, or the server or agent; empty if none. */
  readonly to: string;
  /** Provider of the last attempt; empty if none. */
  readonly provider: string;
  readonly method: string;
  /** Name of the tool, prompt or resource. */
  readonly name: string;
  /** Role of an A2A message. */
  readonly role: string;
  readonly status: number;
  /** Error code of the refusal; empty if none. */
  readonly code: string;
  /** Name of what refused it or let it pass, such as `rule no-previews`; empty if nothing decided. */
  readonly by: string;
  /** Guardrail rules that acted, in the format of `x-gateway-guardrails`. */
  readonly acted: string;
  /** Findings in the form of `findingsText`. */
  readonly findings: string;
  readonly attempts: number;
  readonly bodyBytes: number;
  /** Cost units charged. */
  readonly units: number;
  /** Minimum cost units that the request needed on arrival; -1 if not known. */
  readonly least: number;
  readonly most: number;
}

/** Caller as access rules and budgets see it. */
export interface RecordedCaller {
  readonly kind: "anonymous" | "key" | "agent" | "user";
  readonly key?: { readonly id: string; readonly name: string; readonly metadata: Readonly<Record<string, string>> };
  readonly agent?: { readonly name: string; readonly issuer: string; readonly subject: string };
  readonly user?: {
    readonly name: string;
    readonly issuer: string;
    readonly subject: string;
    readonly email: string;
  };
  readonly issuer?: string;
  readonly profile?: string;
  readonly principal: string;
}

/** Findings of one kind in a request or its answer. */
interface RecordedFinding {
  readonly direction: "request" | "response";
  /** Type as `<category>/<LABEL>`. */
  readonly type: string;
  readonly detector: string;
  /** Kind of the segment. */
  readonly kind: string;
  readonly count: number;
}

const SEPARATOR = "\u0001";

/** Returns the key of `counts`, by which findings are added up while a request runs. */
export const findingKey = ({ direction, type, detector, kind }: Omit<RecordedFinding, "count">): string =>
  [direction, type, detector, kind].join(SEPARATOR);

/** Formats findings as one text; equal findings give equal texts. `counts` is by `findingKey`. */
export const findingsText = (counts: ReadonlyMap<string, number>): string =>
  Array.from(counts, ([key, count]) => `${key}${SEPARATOR}${count}`)
    .sort()
    .join("\n");

export const readFindings = (text: string): readonly RecordedFinding[] =>
  text === ""
    ? []
    : text.split("\n").map((line) => {
        const [direction = "", type = "", detector = "", kind = "", count = "0"] = line.split(SEPARATOR);
        return {
          direction: direction === "response" ? "response" : "request",
          type,
          detector,
          kind,
          count: Number(count),
        };
      });

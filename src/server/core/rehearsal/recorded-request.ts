/**
 * Record of a request from which a rehearsal judges another configuration: caller, target, decision, and what decided it.
 * It contains only names and numbers: no text of a request or answer, no argument and no header value.
 */

export const TRAFFIC = ["none", "llm", "mcp", "a2a", "websocket"] as const;
export type Traffic = (typeof TRAFFIC)[number];

export const DIALECTS = ["", "compat", "messages"] as const;
export type RecordedDialect = (typeof DIALECTS)[number];

/** Facts of a request, as bits. */
export const FACT = {
  /** The request names a model; it may be the empty text. */
  namesModel: 1 << 0,
  hasBody: 1 << 1,
  /** Its query, or a body that is JSON and a form at once, may name further models. */
  mayNameOthers: 1 << 2,
  /** Its body names models to fall back on. */
  hasFallbacks: 1 << 3,
  /** Its body is neither JSON nor the form that it says it is. */
  isUnread: 1 << 4,
  /** The request names a batch, or models in each entry of one. */
  isBatch: 1 << 5,
  /** The request refers to a thread that the provider keeps. */
  usesThread: 1 << 6,
  /** Something that it uses is lost at the first provider. */
  losesSomething: 1 << 7,
  isTranslated: 1 << 8,
  /** A suspension kept it from a provider. */
  metSuspension: 1 << 9,
  /** Routing, rules, lists and capabilities let it pass. */
  isAdmitted: 1 << 10,
  /** Units of a budget were held for it. */
  isCharged: 1 << 11,
  isNotification: 1 << 12,
  /** Guardrails looked at the whole request. */
  requestInspected: 1 << 13,
  /** Guardrails looked at the answer, as far as it came. */
  answerInspected: 1 << 14,
  /** A name is longer than is kept: it is cut. */
  isCut: 1 << 15,
  /** Client closed the connection before the end. */
  isAbandoned: 1 << 16,
  /** More findings than are kept. */
  findingsCut: 1 << 17,
} as const;

export interface RecordedRequest {
  /** When it came, in milliseconds since 1970. */
  readonly at: number;
  readonly totalMs: number;
  readonly id: string;
  /** Digest of the configuration that decided it. */
  readonly configuration: string;
  readonly traffic: Traffic;
  readonly dialect: RecordedDialect;
  /** Bits of `FACT`. */
  readonly facts: number;
  /** JSON of a `RecordedCaller`; empty: nobody was recognised. */
  readonly caller: string;
  readonly route: string;
  readonly model: string;
  /** Provider that routing chose; empty: none. */
  readonly routed: string;
  /** First provider that was admitted, or the server or agent; empty: none. */
  readonly to: string;
  /** Provider of the last attempt; empty: none. */
  readonly provider: string;
  readonly method: string;
  /** Tool, prompt or resource. */
  readonly name: string;
  /** Role of an A2A message. */
  readonly role: string;
  readonly status: number;
  /** Code of the refusal; empty: none. */
  readonly code: string;
  /** Name of what refused it or let it pass, such as `rule no-previews`; empty if nothing decided. */
  readonly by: string;
  /** Guardrail rules that acted, as `x-gateway-guardrails` has them. */
  readonly acted: string;
  /** Findings in the form of `findingsText`. */
  readonly findings: string;
  readonly attempts: number;
  readonly bodyBytes: number;
  /** Cost units charged. */
  readonly units: number;
  /** Cost units that it needed at least and at most when it came; -1: not known. */
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
export interface RecordedFinding {
  readonly direction: "request" | "response";
  /** `<category>/<LABEL>`. */
  readonly type: string;
  readonly detector: string;
  /** Kind of segment. */
  readonly kind: string;
  readonly count: number;
}

const SEPARATOR = "\u0001";

/** Key of `counts`, by which findings are added up while a request runs. */
export const findingKey = ({ direction, type, detector, kind }: Omit<RecordedFinding, "count">): string =>
  [direction, type, detector, kind].join(SEPARATOR);

/** Writes findings as one text, the same for the same findings. `counts`: by `findingKey`. */
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

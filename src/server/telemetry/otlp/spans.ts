/**
 * Creates spans of requests, inspections and attempts: implements the tracing ports of data plane and inspector with an
 * OpenTelemetry tracer.
 *
 * Source: W3C Trace Context; OpenTelemetry semantic conventions for HTTP and generative AI. The content of spans comes from the
 * configuration, the route table and status codes: never a prompt, a header, a query or a model as a caller wrote it. For the
 * same reason `tracestate` is passed upstream unchanged and not added to spans.
 */

import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { core } from "@opentelemetry/sdk-node";
import type {
  AttemptSpan,
  AttemptStart,
  AttemptTracer,
  QuestionContext,
  QuestionTracer,
  SpanAttributes,
  SpanNaming,
} from "../../../base/index.ts";
import { carryContext, traceparentOf } from "./trace-context.ts";

interface StartedRequest {
  readonly method: string;
  readonly scheme: "http" | "https";
  readonly traceparent: string | undefined;
}

interface EndedRequest {
  readonly labels: { readonly route: string; readonly provider: string; readonly model: string };
  readonly status: number;
  /** Code of the refusal, or empty. */
  readonly code: string;
  /** Attributes of semantic conventions; `undefined` for a plain HTTP request. */
  readonly spanNaming?: SpanNaming | undefined;
  /** Time at which the answer ended, in milliseconds of `performance.now()`; `undefined` for the current time. */
  readonly at?: number | undefined;
}

/** Request that another proxy routes. */
interface StartedExchange {
  /** Method as the client wrote it. */
  readonly method: string;
  readonly traceparent: string | undefined;
  /** Name of the route; empty if it is unknown. */
  readonly route: string;
  /** Address of the proxy. */
  readonly peer: string;
}

interface ExchangeSpan extends QuestionTracer {
  inspection(direction: "request" | "response"): InspectionSpan;
  /** Ends the span. `refused`: `undefined` if the request was not refused. */
  end(refused: { readonly code: string; readonly status: number } | undefined): void;
}

export interface Tracing {
  start(request: StartedRequest): RequestSpan;
  inspected(exchange: StartedExchange): ExchangeSpan;
  /** Returns a tracer that continues a trace of another process of this node. */
  questionAt(place: QuestionContext): AttemptTracer;
}

interface EndedInspection {
  readonly outcome: "allow" | "redact" | "deny" | "error" | "abandoned";
  /** Code of the error; set for the outcome `error`. */
  readonly code?: string | undefined;
  readonly segments: number;
  readonly rules: readonly string[];
  readonly failed: readonly string[];
}

interface RequestSpan extends AttemptTracer, QuestionTracer {
  inspection(direction: "request" | "response"): InspectionSpan;
  end(ended: EndedRequest): void;
}

interface InspectionSpan {
  end(ended: EndedInspection): void;
}

/** Creates the tracing. `propagates`: whether trace context is read from requests and passed on. */
export function createTracing(tracer: Tracer, { propagates }: { readonly propagates: boolean }): Tracing {
  const addressOf = addressReader();
  return {
    start({ method, scheme, traceparent }) {
      const attributes = { "http.request.method": method, "url.scheme": scheme };
      const { span, attemptOf, inspection, question } = opened(method, attributes, traceparent);
      let attempts = 0;
      return {
        inspection,
        startAttempt(started) {
          attempts++;
          return attemptOf(started, attempts, undefined);
        },
        tracerForDetector: question,
        end: (ended) => endRequest(span, method, attempts, ended),
      };
    },
    inspected({ method, traceparent, route, peer }) {
      const attributes = {
        "gateway.hop": "inspect",
        "http.request.method": METHODS.has(method) ? method : "_OTHER",
        ...(route !== "" && { "http.route": route }),
        "network.peer.address": peer,
      };
      const { span, inspection, question } = opened(`inspect ${route}`.trimEnd(), attributes, traceparent);
      return { inspection, tracerForDetector: question, end: (refused) => endExchange(span, refused) };
    },
    questionAt({ detector, traceparent, isContinued }) {
      const parent = core.parseTraceParent(traceparent);
      const context = parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
      return questionOf(detector, below(context, isContinued));
    },
  };

  /**
   * Returns a function that starts attempts below a span. `isContinued`: upstreams are sent this context instead of the client's.
   */
  function below(context: Context, isContinued: boolean) {
    return (started: AttemptStart, at: number, detector: string | undefined): AttemptSpan => {
      const attemptSpan = startAttempt(tracer, context, { ...started, detector }, at, addressOf(started.origin));
      return {
        injectContext: (headers) =>
          propagates ? carryContext(headers, traceparentOf(attemptSpan.spanContext()), isContinued) : headers,
        end: (outcome, status, responseAttributes) => endAttempt(attemptSpan, outcome, status, responseAttributes),
      };
    };
  }

  function questionOf(detector: string, attemptOf: ReturnType<typeof below>): AttemptTracer {
    let asked = 0;
    return {
      startAttempt(started) {
        asked++;
        return attemptOf(started, asked, detector);
      },
    };
  }

  /** Opens a server span, and returns functions for spans below it. */
  function opened(name: string, attributes: Attributes, traceparent: string | undefined) {
    const remote = propagates && traceparent !== undefined ? core.parseTraceParent(traceparent) : null;
    const parent = remote === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, { ...remote, isRemote: true });
    const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent);
    const context = trace.setSpan(ROOT_CONTEXT, span);
    const isContinued = remote !== null;
    const attemptOf = below(context, isContinued);
    return {
      span,
      attemptOf,
      inspection(direction: "request" | "response"): InspectionSpan {
        const attributes = { "gateway.guardrails.direction": direction };
        const inspection = tracer.startSpan(
          `guardrails ${direction}`,
          { kind: SpanKind.INTERNAL, attributes },
          context,
        );
        return { end: (ended) => endInspection(inspection, ended) };
      },
      question: (detector: string): AttemptTracer => ({
        ...questionOf(detector, attemptOf),
        questionContext: { detector, traceparent: traceparentOf(span.spanContext()), isContinued },
      }),
    };
  }
}

/**
 * Known HTTP methods. Any other method is reported as `_OTHER`, because the client chose it. Source: semantic conventions for
 * HTTP, `http.request.method`.
 */
const METHODS: ReadonlySet<string> = new Set("GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH".split(" "));

function endExchange(span: Span, refused: Parameters<ExchangeSpan["end"]>[0]): void {
  if (span.isRecording() && refused !== undefined) {
    span.setAttribute("gateway.code", refused.code);
    if (refused.status >= 500) {
      span.setAttribute("error.type", refused.code);
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
  }
  span.end();
}

function endRequest(
  span: Span,
  method: string,
  attempts: number,
  { labels, status, code, spanNaming, at }: EndedRequest,
): void {
  if (span.isRecording()) {
    const { route, provider, model } = labels;
    const attributes: Attributes = { "http.response.status_code": status, "gateway.attempts": attempts };
    if (route !== "none") {
      span.updateName(`${method} ${route}`);
      attributes["http.route"] = route;
    }
    if (spanNaming !== undefined) {
      span.updateName(spanNaming.name);
      span.setAttributes(mutable(spanNaming.attributes));
    }
    if (provider !== "none") attributes["gateway.provider"] = provider;
    if (model !== "none") attributes["gateway.model"] = model;
    if (code !== "") attributes["gateway.code"] = code;
    // A client's mistake is not an error of the server, but an interrupted answer is, whatever its status.
    if (status >= 500 || code === "upstream_incomplete") {
      attributes["error.type"] = code === "" ? String(status) : code;
      span.setStatus({ code: SpanStatusCode.ERROR });
    } else if (spanNaming?.attributes["error.type"] !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
    span.setAttributes(attributes);
  }
  span.end(at);
}

/** Ends the span of an inspection. A refusal by a guardrail is intended, so only other refusals are errors. */
function endInspection(span: Span, { outcome, code, segments, rules, failed }: EndedInspection): void {
  if (span.isRecording()) {
    span.setAttributes({ "gateway.guardrails.outcome": outcome, "gateway.guardrails.segments": segments });
    if (rules.length > 0) span.setAttribute("gateway.guardrails.rules", [...rules]);
    if (failed.length > 0) span.setAttribute("gateway.guardrails.failed_detectors", [...failed]);
    if (outcome === "error") {
      span.setAttribute("error.type", code ?? "guardrail_error");
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
  }
  span.end();
}

function startAttempt(
  tracer: Tracer,
  context: Context,
  { method, provider, channel, detector, naming }: AttemptStart & { readonly detector: string | undefined },
  attempt: number,
  address: Address,
): Span {
  const attributes: Attributes = {
    "http.request.method": method,
    "server.address": address.host,
    ...(address.port !== undefined && { "server.port": address.port }),
    "gateway.provider": provider,
    "gateway.channel": channel,
    "gateway.attempt": attempt,
    ...(detector !== undefined && { "gateway.detector": detector }),
    ...(naming !== undefined && mutable(naming.attributes)),
  };
  if (attempt > 1) attributes["http.request.resend_count"] = attempt - 1;
  return tracer.startSpan(naming?.name ?? method, { kind: SpanKind.CLIENT, attributes }, context);
}

/** Returns a mutable copy of attributes, as the library's type requires. */
const mutable = (attributes: SpanAttributes): Attributes =>
  Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name, typeof value === "object" ? [...value] : value]),
  );

function endAttempt(span: Span, outcome: string, status: number | null, responseAttributes: SpanAttributes = {}): void {
  if (span.isRecording()) {
    span.setAttributes(mutable(responseAttributes));
    span.setAttribute("gateway.outcome", outcome);
    if (status !== null) span.setAttribute("http.response.status_code", status);
    const hasFailed = (outcome !== "answered" && outcome !== "abandoned") || (status ?? 0) >= 400;
    if (hasFailed) {
      span.setAttribute("error.type", status !== null && status >= 400 ? String(status) : outcome);
      span.setStatus({ code: SpanStatusCode.ERROR });
    } else if (responseAttributes["error.type"] !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}

interface Address {
  readonly host: string;
  /** Port of the origin; `undefined` if it is unknown because it may be part of a configuration reference. */
  readonly port: number | undefined;
}

/** Maximum number of cached addresses. Origins come from the configuration, but could add up over many reloads. */
const MAX_ADDRESSES = 1_000;

function readAddress(origin: string): Address {
  if (origin.includes("${") || !URL.canParse(origin)) return { host: origin, port: undefined };
  const { hostname, port, protocol } = new URL(origin);
  return { host: hostname, port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port) };
}

/** Returns a function that parses and caches the address of an origin. Parsing costs more than the rest of an attempt's start. */
function addressReader(): (origin: string) => Address {
  const known = new Map<string, Address>();
  return (origin) => {
    const seen = known.get(origin);
    if (seen !== undefined) return seen;
    const address = readAddress(origin);
    if (known.size >= MAX_ADDRESSES) known.clear();
    known.set(origin, address);
    return address;
  };
}

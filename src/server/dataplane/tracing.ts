/**
 * Port for tracing: a span for each request and session, with child spans for each inspection, attempt and model call of a
 * detector. Without tracing the cost is one comparison. Attributes come from the configuration, the route table and status
 * codes, never from a caller.
 */
import type { IncomingMessage } from "node:http";
import type { AttemptTracer, QuestionTracer, SpanNaming } from "../../base/index.ts";
import type { EndedInspection } from "../core/guardrails/index.ts";
import type { Labels } from "./metrics.ts";

export interface Tracing {
  start(request: RequestStart): RequestSpan;
}

interface RequestStart {
  readonly method: string;
  readonly scheme: "http" | "https";
  /** W3C Trace Context header as the client sent it, unvalidated. */
  readonly traceparent: string | undefined;
}

export interface RequestSpan extends AttemptTracer, QuestionTracer {
  /** Begins a span for an inspection by guardrails. */
  inspection(direction: "request" | "response"): InspectionSpan;
  /** Ends the span. Must be called once, when the answer is delivered or given up, or the session has ended. */
  end(ended: RequestSpanEnd): void;
}

export interface InspectionSpan {
  /** Ends the span. Must be called once. */
  end(ended: EndedInspection): void;
}

interface RequestSpanEnd {
  readonly labels: Labels;
  readonly status: number;
  /** Code of the refusal, or empty if an upstream answered. */
  readonly code: string;
  /** Attributes of semantic conventions other than HTTP's, including those learned from the answer; `undefined` without any. */
  readonly spanNaming?: SpanNaming | undefined;
  /** Time at which the answer ended, in milliseconds of `performance.now()`; `undefined` for the current time. */
  readonly at?: number | undefined;
}

export function startSpan(tracing: Tracing, { method = "GET", socket, headers }: IncomingMessage): RequestSpan {
  const { traceparent } = headers;
  return tracing.start({
    method,
    scheme: "encrypted" in socket ? "https" : "http",
    // Node joins repeated headers to one value, which is malformed and therefore ignored.
    traceparent: typeof traceparent === "string" ? traceparent : undefined,
  });
}

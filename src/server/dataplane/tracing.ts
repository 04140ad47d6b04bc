/**
 * The tracing port: a span for each request and session, and below it one for each inspection, attempt, and question of a detector to a model. Absent, it
 * costs a comparison; what a span tells comes from the configuration, the route table and status codes, never from a caller.
 */
import type { IncomingMessage } from "node:http";
import type { AttemptTracer, QuestionTracer, SpanWords } from "../../base/index.ts";
import type { EndedInspection } from "../core/guardrails/index.ts";
import type { Labels } from "./metrics.ts";

export interface Tracing {
  start(request: StartedRequest): RequestSpan;
}

export interface StartedRequest {
  readonly method: string;
  readonly scheme: "http" | "https";
  /** As the client sent it, of whatever form; W3C Trace Context. */
  readonly traceparent: string | undefined;
}

export interface RequestSpan extends AttemptTracer, QuestionTracer {
  /** Guardrails begin to read what was said. */
  inspection(direction: "request" | "response"): InspectionSpan;
  /** Once, when the answer is delivered or given up, or the session is over. */
  end(ended: EndedRequest): void;
}

export interface InspectionSpan {
  /** Once. */
  end(ended: EndedInspection): void;
}

export interface EndedRequest {
  readonly labels: Labels;
  readonly status: number;
  /** The refusal's, or empty when the answer is an upstream's. */
  readonly code: string;
  /** In words of conventions that go beyond HTTP, what was learnt among them; undefined: they have none for it. */
  readonly words?: SpanWords | undefined;
  /** When its answer was over, in milliseconds of `performance.now()`; undefined: now. */
  readonly at?: number | undefined;
}

export function startSpan(tracing: Tracing, { method = "GET", socket, headers }: IncomingMessage): RequestSpan {
  const { traceparent } = headers;
  return tracing.start({
    method,
    scheme: "encrypted" in socket ? "https" : "http",
    // Node joins repeated ones, which makes them malformed, as they are.
    traceparent: typeof traceparent === "string" ? traceparent : undefined,
  });
}

/**
 * The tracing port: a span for each request and session, and one for each attempt below it. Absent, it costs a
 * comparison; what a span tells comes from the configuration, the route table and status codes, never from a caller.
 */
import type { IncomingMessage } from "node:http";
import type { AttemptTracer } from "../upstream/index.ts";
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

export interface RequestSpan extends AttemptTracer {
  /** Once, when the answer is delivered or given up, or the session is over. */
  end(ended: EndedRequest): void;
}

export interface EndedRequest {
  readonly labels: Labels;
  readonly status: number;
  /** The refusal's, or empty when the answer is an upstream's. */
  readonly code: string;
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

/**
 * The tracing port: a span for each request that is inspected, below that of the proxy or of its client, and below it one for
 * each inspection and each call of a judge. Absent, it costs a comparison. What a span tells comes from the configuration, the
 * route table and the connection, never from a caller.
 */
import type { QuestionTracer } from "../../base/index.ts";
import type { Route } from "../core/dialects/index.ts";
import type { EndedInspection } from "../core/guardrails/index.ts";
import type { HeaderList } from "./exchange/index.ts";
import { headerValue, headerValues } from "./header-value.ts";
import { isKnown } from "./said.ts";

export interface StartedExchange {
  /** As the client wrote it. */
  readonly method: string;
  /** As the client wrote it; W3C Trace Context. */
  readonly traceparent: string | undefined;
  /** Of the route table; empty: none that is known. */
  readonly route: string;
}

export interface ExchangeSpan extends QuestionTracer {
  inspection(direction: "request" | "response"): { end(ended: EndedInspection): void };
  /** Once, when nothing more of it is inspected. `refused`: what with; undefined: it went on. */
  end(refused: { readonly code: string; readonly status: number } | undefined): void;
}

/** Begins one. */
export type TraceExchange = (started: StartedExchange) => ExchangeSpan;

export const startedExchange = (headers: HeaderList, route: Route): StartedExchange => ({
  method: headerValue(headers, ":method"),
  // Two are malformed, as they are joined.
  traceparent: headerValues(headers, "traceparent") || undefined,
  route: isKnown(route) ? route.name : "",
});

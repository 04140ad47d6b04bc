/**
 * Defines the tracing port: a span for each inspected request, as a child of the proxy's or client's span, and child spans for
 * each inspection and each call of a judge model. Without tracing it costs one comparison. Attributes come from the
 * configuration, the route table and the connection, never from the caller.
 */
import type { QuestionTracer } from "../../base/index.ts";
import type { Route } from "../core/dialects/index.ts";
import type { EndedInspection } from "../core/guardrails/index.ts";
import type { HeaderList } from "./exchange/index.ts";
import { headerValue, headerValues } from "./header-list.ts";
import { isKnown } from "./proxied-request.ts";

interface StartedExchange {
  /** HTTP method as the client wrote it. */
  readonly method: string;
  /** W3C Trace Context header as the client wrote it. */
  readonly traceparent: string | undefined;
  /** Name of the route; empty if it is not a known route. */
  readonly route: string;
}

export interface ExchangeSpan extends QuestionTracer {
  inspection(direction: "request" | "response"): { end(ended: EndedInspection): void };
  /** Must be called once, when nothing more is inspected. `refused`: `undefined` if the request was not refused. */
  end(refused: { readonly code: string; readonly status: number } | undefined): void;
}

/** Begins a span. */
export type TraceExchange = (started: StartedExchange) => ExchangeSpan;

export const startedExchange = (headers: HeaderList, route: Route): StartedExchange => ({
  method: headerValue(headers, ":method"),
  // Two such headers are joined, and the joined value is malformed.
  traceparent: headerValues(headers, "traceparent") || undefined,
  route: isKnown(route) ? route.name : "",
});

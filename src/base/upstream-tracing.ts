/** Tracing port for requests to upstreams on behalf of one client request. */

/** Attributes by OpenTelemetry's names. Values come from the configuration or fixed lists, never from the caller. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** Name and attributes of a span, by conventions beyond HTTP. */
export interface SpanNaming {
  readonly name: string;
  readonly attributes: SpanAttributes;
}

/** Traces the attempts of one request or one detector question. */
export interface AttemptTracer {
  attempt(started: StartedAttempt): AttemptSpan;
  /** Set if another process continues the trace. */
  readonly place?: QuestionPlace;
}

/** Parent span of a detector's question; survives JSON. */
export interface QuestionPlace {
  readonly detector: string;
  /** W3C Trace Context of the span. */
  readonly traceparent: string;
  /** Whether the client had sent a trace context, which is replaced. */
  readonly isContinued: boolean;
}

export interface StartedAttempt {
  readonly method: string;
  readonly provider: string;
  readonly channel: string;
  /** `scheme://host[:port]`, or as written in the configuration if it contains references. */
  readonly origin: string;
  /** `undefined` for a plain HTTP request. */
  readonly words?: SpanNaming | undefined;
}

export interface AttemptSpan {
  /** Returns the headers for the upstream, with this attempt's trace context in place of the client's. */
  carry(headers: readonly string[]): readonly string[];
  /** Called once. `outcome` is an `AttemptResult`; `status` is null without an answer; `learnt`: attributes of the answer. */
  end(outcome: string, status: number | null, learnt?: SpanAttributes): void;
}

/** Traces the questions that detectors ask models about one request, beside the request's own attempts. */
export interface QuestionTracer {
  question(detector: string): AttemptTracer;
}

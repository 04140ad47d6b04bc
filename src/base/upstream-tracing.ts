/** Traces the requests to upstreams that one client request causes. */

/** Attributes by OpenTelemetry's names. Values come from the configuration or fixed lists, never from the caller. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** Name and attributes of a span that follow other semantic conventions than those of HTTP. */
export interface SpanNaming {
  readonly name: string;
  readonly attributes: SpanAttributes;
}

/** Traces the attempts of one request or one detector question. */
export interface AttemptTracer {
  startAttempt(start: AttemptStart): AttemptSpan;
  /** Place of the question, if another process continues the trace. */
  readonly questionContext?: QuestionContext;
}

/** Parent span of a detector's question; survives JSON. */
export interface QuestionContext {
  readonly detector: string;
  /** W3C Trace Context of the span, as in the header `traceparent`. */
  readonly traceparent: string;
  /** True if the client had sent a trace context, which is replaced. */
  readonly isContinued: boolean;
}

export interface AttemptStart {
  readonly method: string;
  readonly provider: string;
  readonly channel: string;
  /** Origin `scheme://host[:port]`, or as written in the configuration if it contains references. */
  readonly origin: string;
  /** Name and attributes; `undefined` for a plain HTTP request. */
  readonly naming?: SpanNaming | undefined;
}

export interface AttemptSpan {
  /** Returns the upstream's headers with this attempt's trace context in place of the client's. */
  injectContext(headers: readonly string[]): readonly string[];
  /**
   * Ends the span; called once. `outcome` is an `AttemptResult`; `status` is null without an answer; `responseAttributes`:
   * attributes of the answer.
   */
  end(outcome: string, status: number | null, responseAttributes?: SpanAttributes): void;
}

/** Traces the questions to models that detectors ask about one request, in addition to the request's own attempts. */
export interface QuestionTracer {
  tracerForDetector(detector: string): AttemptTracer;
}

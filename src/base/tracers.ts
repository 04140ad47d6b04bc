/** What is asked of upstreams on behalf of one request, traced: a port of those who ask, of which they know no more. */

/** By the names of OpenTelemetry's conventions; values are of the configuration or of closed lists, never a caller's text. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** What a span is, in the words of conventions that go beyond HTTP. */
export interface SpanWords {
  readonly name: string;
  readonly attributes: SpanAttributes;
}

/** Traces the attempts of one request, or of one question. */
export interface AttemptTracer {
  attempt(started: StartedAttempt): AttemptSpan;
  /** Of a question: where another process goes on with it. */
  readonly place?: QuestionPlace;
}

/** Below which span a question is asked; as JSON. */
export interface QuestionPlace {
  readonly detector: string;
  /** Of the span, as W3C Trace Context writes it. */
  readonly traceparent: string;
  /** The client had sent a context, which is replaced. */
  readonly isContinued: boolean;
}

export interface StartedAttempt {
  readonly method: string;
  readonly provider: string;
  readonly channel: string;
  /** `scheme://host[:port]`, or as the configuration writes it where references are in it. */
  readonly origin: string;
  /** Undefined: it is an HTTP request and no more. */
  readonly words?: SpanWords | undefined;
}

export interface AttemptSpan {
  /** Header pairs as the upstream is sent them: trace context of this attempt in place of the client's. */
  carry(headers: readonly string[]): readonly string[];
  /** Once. `outcome` is an `AttemptResult`; `status` is null where no answer came; `learnt`: of the answer. */
  end(outcome: string, status: number | null, learnt?: SpanAttributes): void;
}

/** Traces what detectors ask models about one request, beside the request's own attempts. */
export interface QuestionTracer {
  question(detector: string): AttemptTracer;
}

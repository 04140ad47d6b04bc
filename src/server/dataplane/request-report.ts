/**
 * Report of one request: metrics, span, request summary and decision record. The stages fill it in while they serve the request.
 * It is sent exactly once: when the socket is closed, and the work for the request has ended, so that its usage is known.
 */
import type { IncomingMessage } from "node:http";
import { performance } from "node:perf_hooks";
import type { GatewayError } from "../../base/index.ts";
import type { Caller } from "../auth/index.ts";
import type { Snapshot } from "../snapshot/index.ts";
import {
  type AgentSpanNaming,
  endedCallSpanNaming,
  errorOf,
  type ReportedAnswerReader,
  requestSpanNaming,
} from "./conventions/index.ts";
import type { Labels } from "./metrics.ts";
import type { Ports } from "./ports.ts";
import { causeOf } from "./refusals/index.ts";
import { requestIdOf } from "./request-id.ts";
import type { RequestEnd, RequestFacts } from "./request-summary.ts";
import { createFacts, sendSummary } from "./send-summary.ts";
import { type RequestSpan, startSpan } from "./tracing.ts";

/** The report is also the summary's `RequestEnd`, so that a request allocates one object for both. */
export class RequestReport implements RequestEnd {
  readonly requestId: string;
  readonly startedAt = performance.now();
  /** Span of the request; `undefined` if traces are not exported. */
  readonly span: RequestSpan | undefined;
  readonly facts: RequestFacts;
  /** Length of the URL. */
  readonly urlLength: number;
  labels: Labels;
  /** Caller; `undefined` until it is authenticated. */
  caller: Caller | undefined;
  /** Code of the refusal; empty without one. */
  code = "";
  /** Number of attempts at upstreams. */
  attempts = 0;
  /** Data of the delivered answer for the span. It is only set for traced requests. */
  reportedAnswer: ReportedAnswerReader | undefined;
  /** Span data of a call of an MCP server or agent; set once the call is parsed. */
  agentCall: AgentSpanNaming | undefined;
  #guardrails = "";
  #firstByteMs: number | undefined;
  /** Milliseconds until the first bytes of an event stream. */
  #firstStreamByteMs: number | undefined;
  #isStream = false;
  /** Arrival time, in milliseconds since 1970; computed at the end. */
  #at = 0;
  #status = 0;
  #totalMs = 0;
  #isClosed = false;
  #isServed = false;
  readonly #ports: Ports;

  constructor(request: IncomingMessage, snapshot: Snapshot, ports: Ports) {
    this.requestId = requestIdOf(request, snapshot);
    this.urlLength = request.url?.length ?? 0;
    this.labels = ports.metrics.labels("none");
    this.facts = createFacts(ports, snapshot);
    this.span = ports.tracing && startSpan(ports.tracing, request);
    this.#ports = ports;
  }

  get at(): number {
    return this.#at;
  }

  get route(): string {
    return this.labels.route;
  }

  get provider(): string {
    return this.labels.provider;
  }

  get status(): number {
    return this.#status;
  }

  get firstByteMs(): number | undefined {
    return this.#firstByteMs;
  }

  get totalMs(): number {
    return this.#totalMs;
  }

  /** Value of `x-gateway-guardrails`; empty if no rule acted. */
  get guardrails(): string {
    return this.#guardrails;
  }

  /** Adds rules that have acted. `names`: a list as in `x-gateway-guardrails`, or empty. */
  addGuardrails(names: string): void {
    if (names === "") return;
    this.#guardrails = this.#guardrails === "" ? names : `${this.#guardrails}, ${names}`;
  }

  recordRefusal({ code, by }: GatewayError): void {
    const { caller, requestId } = this;
    this.facts.refusedBy = causeOf({ caller, code, by });
    this.#ports.refusals?.refused({ caller, code, by, requestId });
  }

  /** Must be called when the answer of an upstream begins. `now`: time of `performance.now()`. */
  markAnswerStarted(now: number, isStream: boolean): void {
    this.#firstByteMs = now - this.startedAt;
    this.#isStream = isStream;
  }

  /** Must be called when the first bytes of the body of an event stream are sent. */
  markStreamStarted(): void {
    this.#firstStreamByteMs = performance.now() - this.startedAt;
  }

  /** Must be called when the socket is closed. */
  markClosed(status: number): void {
    this.#ports.metrics.countRequest(this.labels, status, this.code);
    this.#status = status;
    this.#totalMs = performance.now() - this.startedAt;
    this.#isClosed = true;
    if (this.#isServed) this.#send();
  }

  /** Must be called when the work for the request has ended and its usage is known. */
  markServed(): void {
    this.#isServed = true;
    if (this.#isClosed) this.#send();
  }

  #send(): void {
    this.#recordMetrics();
    if (this.#ports.finished === undefined) return;
    this.#at = Date.now() - (performance.now() - this.startedAt);
    sendSummary(this.facts, this, this.#ports);
  }

  /** Records metrics and span of the OpenTelemetry conventions, with the usage, which may be known late. */
  #recordMetrics(): void {
    const { labels, facts, reportedAnswer, span, agentCall } = this;
    const { conventions } = this.#ports.metrics;
    const seconds = this.#totalMs / 1_000;
    const error = agentCall?.failure ?? errorOf(this.#status, this.code);
    const stream =
      this.#firstStreamByteMs === undefined || error !== ""
        ? undefined
        : { firstBytesSeconds: this.#firstStreamByteMs / 1_000, outputTokens: facts.usage?.outputTokens };
    if (agentCall?.mcpMethod !== undefined) conventions.recordMcpRequest(agentCall.mcpMethod, seconds, error);
    else conventions.recordRequest(labels, seconds, error, stream);
    if (span === undefined) return;
    const message =
      endedCallSpanNaming(agentCall) ??
      requestSpanNaming({ labels, streams: this.#isStream, usage: facts.usage, reportedAnswer });
    span.end({
      labels,
      status: this.#status,
      code: this.code,
      spanNaming: message,
      at: this.startedAt + this.#totalMs,
    });
  }
}

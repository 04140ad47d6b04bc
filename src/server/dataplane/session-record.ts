/** Records how a WebSocket handshake, and the session that it opens, end: in metrics, traces, refusals and request summaries. */
import type { IncomingMessage } from "node:http";
import type { RefusalCause, RefusalCode } from "../../base/index.ts";
import type { Caller } from "../auth/index.ts";
import { errorOf, requestSpanNaming } from "./conventions/index.ts";
import type { SessionAttempt } from "./hops/websocket/session-attempt.ts";
import type { Labels } from "./metrics.ts";
import type { Ports } from "./ports.ts";
import { causeOf } from "./refusals/index.ts";
import { requestIdOf } from "./request-id.ts";
import type { RequestFacts } from "./request-summary.ts";
import { createFacts, sendSummary } from "./send-summary.ts";
import { type RequestSpan, startSpan } from "./tracing.ts";

export class SessionRecord {
  readonly requestId: string;
  /** Span of the request; `undefined` if traces are not exported. */
  readonly span: RequestSpan | undefined;
  readonly facts: RequestFacts;
  labels: Labels;
  caller: Caller | undefined;
  /** Attempt at the upstream; `undefined` until the session is admitted. */
  attempt: SessionAttempt | undefined;
  /** Value of `x-gateway-guardrails`, empty if no rule acted. */
  guardrailNames = "";
  /** Time of the upstream's answer; `undefined` until it has answered. */
  openedAt: number | undefined;
  readonly #request: IncomingMessage;
  readonly #ports: Ports;
  readonly #startedAt = performance.now();
  /** Code of the refusal that ended a running session. */
  #endedBy = "";

  constructor(request: IncomingMessage, ports: Ports) {
    this.#request = request;
    this.#ports = ports;
    const snapshot = ports.snapshot();
    this.requestId = requestIdOf(request, snapshot);
    this.span = ports.tracing && startSpan(ports.tracing, request);
    this.labels = ports.metrics.labels("none");
    this.facts = createFacts(ports, snapshot);
    this.facts.hop = "websocket";
  }

  /** Records that the handshake was refused, or that a running session is ended for this reason. */
  addRefusal(code: RefusalCode, by: RefusalCause | undefined): void {
    const refusal = { caller: this.caller, code, by };
    this.facts.refusedBy = causeOf(refusal);
    this.#endedBy = code;
    this.#ports.refusals?.refused({ ...refusal, requestId: this.requestId });
  }

  /** Must be called once, at the very end. `code` is empty unless the handshake was refused. */
  finish(status: number, code: string): void {
    const { metrics } = this.#ports;
    const { labels, span, facts } = this;
    const attempt = this.attempt?.isBegun === true ? this.attempt : undefined;
    metrics.countRequest(labels, status, code);
    const naming = { labels, streams: false, usage: facts.usage, reportedAnswer: undefined };
    span?.end({ labels, status, code, spanNaming: requestSpanNaming(naming) });
    const now = performance.now();
    const totalMs = now - this.#startedAt;
    const endCode = code === "" ? this.#endedBy : code;
    const error = errorOf(status, endCode);
    metrics.conventions.recordRequest(labels, totalMs / 1_000, error, undefined);
    if (attempt !== undefined) metrics.conventions.recordAttempt(labels, attempt.elapsedMs / 1_000, error);
    const ending = {
      at: Date.now() - totalMs,
      requestId: this.requestId,
      caller: this.caller,
      route: labels.route,
      provider: labels.provider,
      status,
      code: endCode,
      attempts: attempt === undefined ? 0 : 1,
      firstByteMs: this.openedAt === undefined ? undefined : this.openedAt - this.#startedAt,
      totalMs,
      guardrails: this.guardrailNames,
      urlLength: this.#request.url?.length ?? 0,
    };
    sendSummary(facts, ending, this.#ports);
  }
}

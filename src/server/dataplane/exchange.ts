/**
 * Represents one request and its answer, as the client sees them. It is answered exactly once, by an upstream or by a refusal,
 * and counted exactly once, when its socket is closed.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { performance } from "node:perf_hooks";
import { asRefusal, GatewayError, runMicrotask } from "../../base/index.ts";
import type { Caller } from "../auth/index.ts";
import { type AgentProtocol, NOT_A_POST, type RpcFault, rpcError, rpcRefusal } from "../core/agents/index.ts";
import type { Crossing } from "../core/cross-origin/index.ts";
import {
  type Dialect,
  type Loss,
  refusalBody,
  refusalEvent,
  refusalHeaders,
  type StreamStamp,
} from "../core/dialects/index.ts";
import { Holding } from "../memory/index.ts";
import type { Bearing, Downstream } from "../upstream/index.ts";
import { AnswerWriter } from "./answer-writer.ts";
import { awaitsInvitation, declaresBody, linger } from "./body.ts";
import { type AgentWords, calledWords, errorOf, requestWords, type ToldAnswer } from "./conventions/index.ts";
import { crossingOf, withoutCors, withoutOrigin } from "./cross-origin.ts";
import { lossItem } from "./fidelity-header.ts";
import type { RequestUse } from "./metering/index.ts";
import type { Labels } from "./metrics.ts";
import { type OwnDocument, ownAnswer } from "./own-document.ts";
import type { Ports } from "./ports.ts";
import { isWritable, proxiedHeaders } from "./proxied-headers.ts";
import { causeOf } from "./refusals/index.ts";
import { requestIdOf } from "./request-id.ts";
import type { Facts } from "./request-summary.ts";
import { beginFacts, tellEnd } from "./tell-end.ts";
import { type RequestSpan, startSpan } from "./tracing.ts";
import { brokenOff, faultOf } from "./upstream-faults.ts";

/** Status that is recorded for a client that left, as in nginx. It is never sent. */
const CLIENT_GONE = 499;

const NOTHING_LEFT_OUT: readonly Loss[] = [];
const NONE_SHARED: readonly string[] = [];

export class Exchange implements Downstream {
  readonly request: IncomingMessage;
  readonly requestId: string;
  readonly startedAt: number;
  /** Span of the request; `undefined` if traces are not exported. */
  readonly span: RequestSpan | undefined;
  /** Dialect in which a refusal is written. */
  dialect: Dialect = "compat";
  /** Header pairs of documents and refusals that the gateway itself generates. */
  shared: readonly string[] = NONE_SHARED;
  /** Protocol of a call of an MCP server or agent, whose refusals are JSON-RPC errors. `id`: JSON text of the message's id. */
  rpc: { readonly protocol: AgentProtocol; readonly id: string } | undefined;
  /** Returns whether a header of the called channel's answer carries a credential, so that the client must not see it. */
  bearsCredential: Bearing | undefined;
  /** Cross-origin details of the request; `undefined` unless a browser page of another origin sent it. */
  readonly crossing: Crossing | undefined;
  /** Memory held for the answer until the client has received it or has left. */
  readonly holding: Holding;
  labels: Labels;
  readonly facts: Facts;
  /** Caller; `undefined` until it is authenticated. */
  caller: Caller | undefined;
  /** Usage record of the request; `undefined` until caller and upstream are known, and without a usage ledger. */
  use: RequestUse | undefined;
  /** Name of the upstream in refusals. */
  asked = "The provider";
  /** Called once with the reason if the current answer could not be read. The reason quotes nothing from the answer. */
  onUnreadable: ((reason: string) => void) | undefined;
  attempts = 0;
  /** Capabilities that the request uses but that are dropped when it is forwarded. */
  leftOut: readonly Loss[] = NOTHING_LEFT_OUT;
  /** Formats the last frames of a failed stream of the Responses API; `undefined` for the dialect's own format. */
  failing: ((failure: Pick<GatewayError, "code" | "message">) => string) | undefined;
  /** Value of `x-gateway-guardrails`; empty if no rule acted. */
  guardrails = "";
  /** Data of the delivered answer for the span. It is only set for traced requests. */
  told: ToldAnswer | undefined;
  /** Span data of a call of an MCP server or agent; set once the call is parsed. */
  called: AgentWords | undefined;
  /** Called once the answer is written or its connection is lost. */
  onClosed: ((exchange: Exchange) => void) | undefined;
  /** Milliseconds spent waiting for the client's body, for upstreams, and between attempts. */
  #waitedMs = 0;
  #bodyEndedAt: number;
  #isBodyRead = false;
  #gone = false;
  #onGone: (() => void) | undefined;
  #isEventStream = false;
  #hasWritten = false;
  /** Bytes left of the declared content length; `NaN` if none was declared. */
  #remainingBytes = Number.NaN;
  #code = "";
  #firstByteMs: number | undefined;
  /** Milliseconds until the first bytes of an event stream. */
  #streamMs: number | undefined;
  /** Status of the answer, set when the socket is closed. */
  #status: number | undefined;
  #totalMs = 0;
  #isServed = false;
  readonly #response: ServerResponse;
  readonly #writer: AnswerWriter;
  readonly #ports: Ports;

  constructor(request: IncomingMessage, response: ServerResponse, ports: Ports) {
    this.request = request;
    this.#response = response;
    this.#writer = new AnswerWriter(response);
    this.#ports = ports;
    this.labels = ports.metrics.labels("none");
    this.holding = new Holding(ports.admission);
    this.startedAt = performance.now();
    this.#bodyEndedAt = this.startedAt;
    const snapshot = ports.snapshot();
    this.facts = beginFacts(ports, snapshot);
    this.requestId = requestIdOf(request, snapshot);
    this.crossing = crossingOf(request, snapshot, ports);
    this.span = ports.tracing && startSpan(ports.tracing, request);
    response.on("close", () => this.#closed());
    response.on("error", ignore); // caused by a write to a closed socket, which `close` reports
  }

  get gone(): boolean {
    return this.#gone;
  }

  /** Whether the request was refused, answered with an error, broken off or abandoned. Only valid once the request has ended. */
  get hasFailed(): boolean {
    return this.#gone || this.#code !== "" || this.#response.statusCode >= 400;
  }

  onGone(listener: (() => void) | undefined): void {
    this.#onGone = listener;
  }

  /** Asks a client that sent `Expect: 100-continue` to send the body. */
  invite(): void {
    if (awaitsInvitation(this.request)) this.#response.writeContinue();
  }

  bodyRead(): void {
    this.#isBodyRead = true;
    this.#bodyEndedAt = performance.now();
    this.#waitedMs += this.#bodyEndedAt - this.startedAt;
  }

  waited(ms: number): void {
    this.#waitedMs += ms;
  }

  start(status: number, statusText: string, headers: readonly string[]): void {
    const now = performance.now();
    const overheadMs = Math.max(0, now - this.startedAt - this.#waitedMs);
    this.#firstByteMs = now - this.startedAt;
    const { crossing } = this;
    const { pairs, isEventStream, contentLength } = proxiedHeaders(
      crossing === undefined ? headers : withoutCors(headers),
      this.bearsCredential,
    );
    this.#isEventStream = isEventStream;
    this.#remainingBytes = contentLength;
    pairs.push("x-gateway-request-id", this.requestId, "x-gateway-provider", this.labels.provider);
    pairs.push("x-gateway-attempts", String(this.attempts), "x-gateway-overhead", overheadMs.toFixed(3));
    if (this.leftOut.length > 0) pairs.push("x-gateway-fidelity-losses", this.leftOut.map(lossItem).join(", "));
    if (this.guardrails !== "") pairs.push("x-gateway-guardrails", this.guardrails);
    if (crossing !== undefined) pairs.push(...crossing.headers);
    const isShown = isWritable(statusText) && this.bearsCredential?.("", statusText) !== true;
    this.#writer.head(status, isShown ? statusText : "", pairs, contentLength);
    this.#ports.metrics.overhead(this.labels.route, overheadMs / 1_000);
    this.#ports.metrics.firstByte(this.labels, (now - this.#bodyEndedAt) / 1_000);
    // A first chunk from the same read is written before this microtask, and the head is sent with it; otherwise alone.
    runMicrotask(() => {
      if (!this.#hasWritten) this.#writer.flush();
    });
  }

  write(chunk: Buffer): boolean {
    if (!this.#hasWritten && this.#isEventStream) this.#streamMs = performance.now() - this.startedAt;
    this.#hasWritten = true;
    const isLast = chunk.length === this.#remainingBytes;
    this.#remainingBytes -= chunk.length;
    return this.#writer.write(chunk, isLast);
  }

  onDrain(listener: () => void): void {
    this.#writer.onDrain(listener);
  }

  end(): void {
    this.#writer.end();
  }

  breakOff(cause: Error): void {
    const isShown = this.#writer.hasBegun;
    if (cause instanceof GatewayError) {
      if (isShown) this.#breakWith(brokenOff(cause, this.asked));
      else this.refuse(cause);
      return;
    }
    const { error, reason } = faultOf(cause, this.asked, isShown);
    if (reason !== undefined) this.onUnreadable?.(reason);
    if (isShown) this.#breakWith(error);
    else this.refuse(error);
  }

  /** Breaks off an answer that has begun. `stamp`: identifying members of the stream, which the final event repeats. */
  #breakWith(error: GatewayError, stamp?: StreamStamp): void {
    this.#code = error.code;
    if (error.by !== undefined) this.#tell(error);
    if (this.#isEventStream) this.#writer.release();
    if (this.#isEventStream) this.#response.end(`\n\n${this.#refusalEvent(error, stamp)}`);
    else this.#response.destroy(); // without a last chunk, the client knows that the answer is incomplete
  }

  /** Closes the connection after this answer (RFC 9112, section 9.6). Has no effect once the answer has begun. */
  isLast(): void {
    this.#response.shouldKeepAlive = false;
  }

  /**
   * Ends the answer with `error` and stops the upstream's work. Returns false if the answer was already complete or abandoned.
   */
  cutOff(error: GatewayError, stamp?: StreamStamp): boolean {
    if (!this.endAs(error, stamp)) return false;
    this.#leave();
    return true;
  }

  /** Ends the answer with `error` once the upstream is done. Returns false if it was already complete or abandoned. */
  endAs(error: GatewayError, stamp?: StreamStamp): boolean {
    if (this.#gone || this.#response.writableEnded) return false;
    if (this.#writer.hasBegun) this.#breakWith(error, stamp);
    else this.refuse(error);
    return true;
  }

  /** Sends one of the gateway's own documents. Browser pages of every origin may read it unless `shared` is set. */
  answer(document: OwnDocument): void {
    const { status, headers, body } = ownAnswer(this.request, document);
    this.#code = document.code ?? "";
    const shared = this.shared.length === 0 ? ["access-control-allow-origin", "*"] : this.shared;
    const pairs = ["x-gateway-request-id", this.requestId, ...headers, ...this.#crossed(shared)];
    this.#readAway(pairs);
    this.#response.writeHead(status, pairs);
    this.#response.end(body);
  }

  /** Replaces the origin header in `own` with the CORS headers for the page that sent this request, if any. */
  #crossed(own: readonly string[]): readonly string[] {
    const { crossing } = this;
    return crossing === undefined ? own : [...withoutOrigin(own), ...crossing.headers];
  }

  /** Reads and drops the rest of an unread body, and adds `connection: close` to `headers`. */
  #readAway(headers: string[]): void {
    if (this.#isBodyRead || !declaresBody(this.request)) return;
    headers.push("connection", "close");
    linger(this.request);
  }

  /** Answers 202 without a body to a notification that needs no upstream. */
  accepted(): void {
    const pairs = ["x-gateway-request-id", this.requestId, "content-length", "0", ...this.#crossed(NONE_SHARED)];
    this.#response.writeHead(202, pairs);
    this.#response.end();
  }

  /** Answers with a fault that the JSON-RPC protocol itself defines. */
  fault(fault: RpcFault): void {
    const body = rpcError(fault);
    this.#code = "invalid_request";
    const headers = ["x-gateway-request-id", this.requestId, "content-type", "application/json"];
    headers.push("content-length", String(Buffer.byteLength(body)));
    if (fault.status === NOT_A_POST.status) headers.push("allow", "POST");
    headers.push(...this.#crossed(NONE_SHARED));
    this.#readAway(headers);
    this.#response.writeHead(fault.status, headers);
    this.#response.end(this.request.method === "HEAD" ? undefined : body);
  }

  #refusalBody(error: GatewayError): string {
    const { rpc, requestId } = this;
    return rpc === undefined
      ? refusalBody(this.dialect, error, requestId)
      : rpcRefusal(rpc.protocol, error, rpc.id, requestId);
  }

  #refusalEvent(error: GatewayError, stamp?: StreamStamp): string {
    if (this.failing !== undefined && stamp === undefined) return this.failing(error);
    return this.rpc === undefined
      ? refusalEvent(this.dialect, error, this.requestId, stamp)
      : `data: ${this.#refusalBody(error)}\n\n`;
  }

  /** Answers with an error. This is the only place where an error becomes an answer. */
  refuse(thrown: unknown): void {
    if (this.#gone) return;
    const error = asRefusal(thrown);
    this.#code = error.code;
    if (error.code === "internal") {
      this.#ports.log.error("request failed", {
        request: this.requestId,
        route: this.labels.route,
        error: error.cause,
      });
    }
    if (this.#writer.hasBegun) {
      this.#response.destroy();
      return;
    }
    this.#tell(error);
    const body = this.#refusalBody(error);
    const headers = refusalHeaders(error, this.requestId);
    headers.push("content-type", "application/json", "content-length", String(Buffer.byteLength(body)));
    if (this.guardrails !== "") headers.push("x-gateway-guardrails", this.guardrails);
    // The connection is closed even if the whole body has arrived. Otherwise, whether it is closed would reveal how long the
    // decision took.
    this.#readAway(headers);
    headers.push(...this.#crossed(this.shared));
    this.#response.writeHead(error.status, headers);
    this.#response.end(this.request.method === "HEAD" ? undefined : body);
  }

  #tell({ code, by }: GatewayError): void {
    const { caller, requestId } = this;
    this.facts.refusedBy = causeOf({ caller, code, by });
    this.#ports.refusals?.refused({ caller, code, by, requestId });
  }

  #closed(): void {
    this.holding.close();
    const finished = this.#response.writableFinished;
    const status = finished || this.#code !== "" ? this.#response.statusCode : CLIENT_GONE;
    this.#ports.metrics.finished(this.labels, status, this.#code);
    this.#status = status;
    this.#totalMs = performance.now() - this.startedAt;
    if (!finished) this.#leave();
    this.#onGone = undefined;
    this.onClosed?.(this);
    if (this.#isServed) this.#over();
  }

  /** Must be called when the work for the request has ended and its usage is known. */
  served(): void {
    this.#isServed = true;
    if (this.#status !== undefined) this.#over();
  }

  /** Reports the request. Runs after both the socket has closed and the work has ended. */
  #over(): void {
    this.#measured();
    if (this.#ports.finished === undefined) return;
    const ending = {
      at: Date.now() - (performance.now() - this.startedAt),
      id: this.requestId,
      caller: this.caller,
      route: this.labels.route,
      provider: this.labels.provider,
      status: this.#status ?? CLIENT_GONE,
      code: this.#code,
      attempts: this.attempts,
      firstByteMs: this.#firstByteMs,
      totalMs: this.#totalMs,
      guardrails: this.guardrails,
      urlLength: this.request.url?.length ?? 0,
    };
    tellEnd(this.facts, ending, this.#ports);
  }

  /** Records metrics and span of the OpenTelemetry conventions, with the usage, which may be known late. */
  #measured(): void {
    const { labels, facts, told, span, called } = this;
    const { conventions } = this.#ports.metrics;
    const seconds = this.#totalMs / 1_000;
    const status = this.#status ?? CLIENT_GONE;
    const error = called?.failure ?? errorOf(status, this.#code);
    const stream =
      this.#streamMs === undefined || error !== ""
        ? undefined
        : { firstBytes: this.#streamMs / 1_000, outputTokens: facts.usage?.outputTokens };
    if (called?.mcpMethod !== undefined) conventions.mcpServed(called.mcpMethod, seconds, error);
    else conventions.served(labels, seconds, error, stream);
    if (span === undefined) return;
    const words =
      calledWords(called) ?? requestWords({ labels, streams: this.#isEventStream, usage: facts.usage, told });
    span.end({ labels, status, code: this.#code, words, at: this.startedAt + this.#totalMs });
  }

  /** Marks the client as gone and notifies the listener. */
  #leave(): void {
    this.#gone = true;
    const onGone = this.#onGone;
    this.#onGone = undefined;
    onGone?.();
  }
}

function ignore(): void {}

/**
 * One request and its answer, seen from the client's side. It is answered exactly once, by an upstream or by a refusal,
 * and counted exactly once, when its socket is done with it.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { performance } from "node:perf_hooks";
import { asRefusal, GatewayError } from "../../base/index.ts";
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
import type { Facts } from "./finished.ts";
import type { RequestUse } from "./metering/index.ts";
import type { Labels } from "./metrics.ts";
import { type OwnDocument, ownAnswer } from "./own-document.ts";
import type { Ports } from "./ports.ts";
import { isWritable, proxiedHeaders } from "./proxied-headers.ts";
import { causeOf } from "./refusals/index.ts";
import { requestIdOf } from "./request-id.ts";
import { beginFacts, tellEnd } from "./tell-end.ts";
import { type RequestSpan, startSpan } from "./tracing.ts";
import { brokenOff, faultOf } from "./upstream-faults.ts";

/** What nginx and its kin write for a client that left; no such status is ever sent. */
const CLIENT_GONE = 499;

const NOTHING_LEFT_OUT: readonly Loss[] = [];
const NONE_SHARED: readonly string[] = [];

export class Exchange implements Downstream {
  readonly request: IncomingMessage;
  readonly requestId: string;
  readonly startedAt: number;
  /** Undefined when nobody traces. */
  readonly span: RequestSpan | undefined;
  /** Which dialect's shape a refusal takes. */
  dialect: Dialect = "compat";
  /** Header pairs of whatever the gateway itself answers. */
  shared: readonly string[] = NONE_SHARED;
  /** Of a call of a server or agent: its refusals are errors of JSON-RPC. `id`: JSON text. */
  rpc: { readonly protocol: AgentProtocol; readonly id: string } | undefined;
  /** Of the channel that is asked: headers of its answer that the client is not shown. */
  bearsCredential: Bearing | undefined;
  /** Undefined: no page of another origin sent it. */
  readonly crossing: Crossing | undefined;
  /** What is held of an answer, until the client has it or has left. */
  readonly holding: Holding;
  labels: Labels;
  readonly facts: Facts;
  /** Undefined until who calls is recognised. */
  caller: Caller | undefined;
  /** Undefined until it is known who asks whom, and where nobody keeps a ledger. */
  use: RequestUse | undefined;
  /** Who is asked, as refusals name it. */
  asked = "The provider";
  /** Told why the answer under way could not be read, once. Quotes nothing of it. */
  onUnreadable: ((reason: string) => void) | undefined;
  attempts = 0;
  /** What the request uses and is forwarded without. */
  leftOut: readonly Loss[] = NOTHING_LEFT_OUT;
  /** The last frames of a stream of a response; undefined: the dialect's own. */
  failing: ((failure: Pick<GatewayError, "code" | "message">) => string) | undefined;
  /** Value of `x-gateway-guardrails`; empty: no rule acted. */
  guardrails = "";
  /** Of the attempt that is delivered, of a request that is traced. */
  told: ToldAnswer | undefined;
  /** Of a call of a server or agent, once it is read. */
  called: AgentWords | undefined;
  /** Told once the answer is written, or its connection lost. */
  onClosed: ((exchange: Exchange) => void) | undefined;
  /** Milliseconds spent waiting for the client's body, for upstreams, and between attempts. */
  #waitedMs = 0;
  #bodyEndedAt: number;
  #isBodyRead = false;
  #gone = false;
  #onGone: (() => void) | undefined;
  #isEventStream = false;
  #hasWritten = false;
  /** Of a declared content length; not a number where there is none. */
  #remainingBytes = Number.NaN;
  #code = "";
  #firstByteMs: number | undefined;
  /** Until the first bytes of an event stream. */
  #streamMs: number | undefined;
  /** Of the answer, once the socket is done with it. */
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
    response.on("error", ignore); // a write to a socket that is gone; `close` follows and tells
  }

  get gone(): boolean {
    return this.#gone;
  }

  /** Refused, answered with an error, broken off or left; to be asked once the request is over. */
  get hasFailed(): boolean {
    return this.#gone || this.#code !== "" || this.#response.statusCode >= 400;
  }

  onGone(listener: (() => void) | undefined): void {
    this.#onGone = listener;
  }

  /** Tells a client that waits with its body (`Expect: 100-continue`) to send it. */
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
    // Headers go out with the first chunk where it came in the same read, which runs before this; alone otherwise.
    queueMicrotask(() => {
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

  /** Of an answer that has begun. `stamp`: of its chunks, where it is a stream of them. */
  #breakWith(error: GatewayError, stamp?: StreamStamp): void {
    this.#code = error.code;
    if (error.by !== undefined) this.#tell(error);
    if (this.#isEventStream) this.#writer.release();
    if (this.#isEventStream) this.#response.end(`\n\n${this.#refusalEvent(error, stamp)}`);
    else this.#response.destroy(); // no terminating chunk: the client must not take this for the whole
  }

  /** The connection takes no request after this one. RFC 9112 section 9.6; too late once the answer has begun. */
  isLast(): void {
    this.#response.shouldKeepAlive = false;
  }

  /** Ends the answer as `error`, and the provider's work with it. False: it was on its way to its end. */
  cutOff(error: GatewayError, stamp?: StreamStamp): boolean {
    if (!this.endAs(error, stamp)) return false;
    this.#leave();
    return true;
  }

  /** Ends the answer as `error`, whose provider is done. False: it was on its way to its end. */
  endAs(error: GatewayError, stamp?: StreamStamp): boolean {
    if (this.#gone || this.#response.writableEnded) return false;
    if (this.#writer.hasBegun) this.#breakWith(error, stamp);
    else this.refuse(error);
    return true;
  }

  /** An answer of the gateway's own, which pages of every origin may read. */
  answer(document: OwnDocument): void {
    const { status, headers, body } = ownAnswer(this.request, document);
    this.#code = document.code ?? "";
    const shared = this.shared.length === 0 ? ["access-control-allow-origin", "*"] : this.shared;
    const pairs = ["x-gateway-request-id", this.requestId, ...headers, ...this.#crossed(shared)];
    this.#readAway(pairs);
    this.#response.writeHead(status, pairs);
    this.#response.end(body);
  }

  /** `own`: header pairs of an answer, of which those for pages give way to what this page is told. */
  #crossed(own: readonly string[]): readonly string[] {
    const { crossing } = this;
    return crossing === undefined ? own : [...withoutOrigin(own), ...crossing.headers];
  }

  /** What still arrives of a body that nobody reads, before an answer; `headers`: pairs of that answer. */
  #readAway(headers: string[]): void {
    if (this.#isBodyRead || !declaresBody(this.request)) return;
    headers.push("connection", "close");
    linger(this.request);
  }

  /** A notification that nobody needs. */
  accepted(): void {
    const pairs = ["x-gateway-request-id", this.requestId, "content-length", "0", ...this.#crossed(NONE_SHARED)];
    this.#response.writeHead(202, pairs);
    this.#response.end();
  }

  /** What a protocol of agents itself has an error for. */
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

  /** The only place where an error becomes an answer. */
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
    // Whether some of it happens to be here already must not show: the answer would tell how long judging took.
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

  /** Nothing is done for it any more, and what it used is known. */
  served(): void {
    this.#isServed = true;
    if (this.#status !== undefined) this.#over();
  }

  /** Whichever came last, the end of the socket or that of the work. */
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

  /** In the words of conventions, with what was used, which may be known only after the socket is done. */
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

  /** Nothing more can reach the client. */
  #leave(): void {
    this.#gone = true;
    const onGone = this.#onGone;
    this.#onGone = undefined;
    onGone?.();
  }
}

function ignore(): void {}

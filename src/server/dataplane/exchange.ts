/**
 * One request and its answer, as the client sees them. It is answered exactly once, by an upstream or by a refusal.
 *
 * The exchange owns what is sent to the client. `report` owns what is reported at the end, `upstream` what the forwarding stage
 * contributes to the answer, and `form` how refusals are written.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { performance } from "node:perf_hooks";
import { asRefusal, GatewayError, runMicrotask } from "../../base/index.ts";
import { NOT_A_POST, type RpcFault, rpcError } from "../core/agents/index.ts";
import type { CrossOriginDecision } from "../core/cross-origin/index.ts";
import { type Loss, refusalHeaders, type StreamStamp } from "../core/dialects/index.ts";
import { RequestMemory } from "../memory/index.ts";
import type { ContainsCredential, Downstream } from "../upstream/index.ts";
import { AnswerWriter } from "./answer-writer.ts";
import { declaresBody, discardBody, expectsContinue } from "./body.ts";
import { crossOriginDecisionOf, withoutCors, withoutOrigin } from "./cross-origin.ts";
import { type OwnDocument, renderDocument } from "./own-document.ts";
import type { Ports } from "./ports.ts";
import { isWritable, proxiedHeaders } from "./proxied-headers.ts";
import { dialectForm, type RefusalForm } from "./refusal-form.ts";
import { RequestReport } from "./request-report.ts";
import { faultOf, incompleteAnswerError } from "./upstream-faults.ts";

/** Status that is recorded for a client that left, as in nginx. It is never sent. */
const CLIENT_GONE = 499;

/** Maximum time in milliseconds that a client may take to receive what was written of an answer that broke off. */
const LINGER_MS = 5_000;

const NO_LOSSES: readonly Loss[] = [];
const NO_HEADERS: readonly string[] = [];

/** State of the forwarding stage that the answer to the client depends on. Each attempt at an upstream replaces it. */
class UpstreamState {
  /** Name of the upstream in refusals. */
  displayName = "The provider";
  /** Capabilities that the request uses but that are dropped when it is forwarded. */
  fidelityLosses: readonly Loss[] = NO_LOSSES;
  /** Returns whether a header of the called channel's answer carries a credential, so that the client must not see it. */
  containsCredential: ContainsCredential | undefined;
  /** Called once with the reason if the current answer could not be read. The reason quotes nothing from the answer. */
  onUnreadable: ((reason: string) => void) | undefined;
}

export class Exchange implements Downstream {
  readonly request: IncomingMessage;
  readonly requestId: string;
  readonly report: RequestReport;
  readonly upstream = new UpstreamState();
  /** Form of refusals; replaced once the address of the request is known. */
  form: RefusalForm = dialectForm("compat");
  /** Cross-origin details of the request; `undefined` unless a browser page of another origin sent it. */
  readonly crossOrigin: CrossOriginDecision | undefined;
  /** Memory held for the answer until the client has received it or has left. */
  readonly answerMemory: RequestMemory;
  /** Called once the answer is written or its connection is lost. */
  onClosed: ((exchange: Exchange) => void) | undefined;
  /** Milliseconds spent waiting for the client's body, for upstreams, and between attempts. */
  #waitedMs = 0;
  #bodyEndedAt: number;
  #isBodyRead = false;
  #isGone = false;
  #onGone: (() => void) | undefined;
  #isEventStream = false;
  #hasWritten = false;
  /** Bytes left of the declared content length; `NaN` if none was declared. */
  #remainingBytes = Number.NaN;
  readonly #response: ServerResponse;
  readonly #writer: AnswerWriter;
  readonly #ports: Ports;

  constructor(request: IncomingMessage, response: ServerResponse, ports: Ports) {
    this.request = request;
    this.#response = response;
    this.#writer = new AnswerWriter(response);
    this.#ports = ports;
    this.answerMemory = new RequestMemory(ports.admission);
    const snapshot = ports.snapshot();
    this.report = new RequestReport(request, snapshot, ports);
    this.requestId = this.report.requestId;
    this.#bodyEndedAt = this.report.startedAt;
    this.crossOrigin = crossOriginDecisionOf(request, snapshot, ports);
    response.on("close", () => this.#onClose());
    response.on("error", ignore); // caused by a write to a closed socket, which `close` reports
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Whether the request was refused, answered with an error, broken off or abandoned. Only valid once the request has ended. */
  get hasFailed(): boolean {
    return this.#isGone || this.report.code !== "" || this.#response.statusCode >= 400;
  }

  onGone(listener: (() => void) | undefined): void {
    this.#onGone = listener;
  }

  /** Asks a client that sent `Expect: 100-continue` to send the body. */
  sendContinue(): void {
    if (expectsContinue(this.request)) this.#response.writeContinue();
  }

  markBodyRead(): void {
    this.#isBodyRead = true;
    this.#bodyEndedAt = performance.now();
    this.#waitedMs += this.#bodyEndedAt - this.report.startedAt;
  }

  addWaitMs(ms: number): void {
    this.#waitedMs += ms;
  }

  start(status: number, statusText: string, headers: readonly string[]): void {
    const now = performance.now();
    const { crossOrigin, report, upstream } = this;
    const overheadMs = Math.max(0, now - report.startedAt - this.#waitedMs);
    const { pairs, isEventStream, contentLength } = proxiedHeaders(
      crossOrigin === undefined ? headers : withoutCors(headers),
      upstream.containsCredential,
    );
    report.markAnswerStarted(now, isEventStream);
    this.#isEventStream = isEventStream;
    this.#remainingBytes = contentLength;
    pairs.push("x-gateway-request-id", this.requestId, "x-gateway-provider", report.labels.provider);
    pairs.push("x-gateway-attempts", String(report.attempts), "x-gateway-overhead", overheadMs.toFixed(3));
    if (upstream.fidelityLosses.length > 0)
      pairs.push("x-gateway-fidelity-losses", upstream.fidelityLosses.map(lossItem).join(", "));
    if (report.guardrails !== "") pairs.push("x-gateway-guardrails", report.guardrails);
    if (crossOrigin !== undefined) pairs.push(...crossOrigin.headers);
    const isShown = isWritable(statusText) && upstream.containsCredential?.("", statusText) !== true;
    this.#writer.writeHead(status, isShown ? statusText : "", pairs, contentLength);
    this.#ports.metrics.observeOverhead(report.labels.route, overheadMs / 1_000);
    this.#ports.metrics.observeFirstByte(report.labels, (now - this.#bodyEndedAt) / 1_000);
    // A first chunk from the same read is written before this microtask, and the head is sent with it; otherwise alone.
    runMicrotask(() => {
      if (!this.#hasWritten) this.#writer.flush();
    });
  }

  write(chunk: Buffer): boolean {
    if (!this.#hasWritten && this.#isEventStream) this.report.markStreamStarted();
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
      if (isShown) this.#breakOffWith(incompleteAnswerError(cause, this.upstream.displayName));
      else this.refuse(cause);
      return;
    }
    const { error, reason } = faultOf(cause, this.upstream.displayName, isShown);
    if (reason !== undefined) this.upstream.onUnreadable?.(reason);
    if (isShown) this.#breakOffWith(error);
    else this.refuse(error);
  }

  /** Breaks off an answer that has begun. `stamp`: identifying members of the stream, which the final event repeats. */
  #breakOffWith(error: GatewayError, stamp?: StreamStamp): void {
    this.report.code = error.code;
    if (error.by !== undefined) this.report.recordRefusal(error);
    if (this.#isEventStream) this.#writer.releaseHead();
    if (this.#isEventStream) this.#response.end(`\n\n${this.form.event(error, this.requestId, stamp)}`);
    else this.#close();
  }

  /**
   * Closes the connection in the middle of an answer, after the bytes that were written. Without its last chunk or the rest of its
   * declared length, the client knows that the answer is incomplete.
   */
  #close(): void {
    this.#writer.flush();
    const { socket } = this.#response;
    if (socket === null) {
      this.#response.destroy();
      return;
    }
    socket.destroySoon();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once("close", () => clearTimeout(timer));
  }

  /** Closes the connection after this answer (RFC 9112, section 9.6). Has no effect once the answer has begun. */
  closeAfterAnswer(): void {
    this.#response.shouldKeepAlive = false;
  }

  /**
   * Ends the answer with `error` and stops the upstream's work. Returns false if the answer was already complete or abandoned.
   */
  abortWithError(error: GatewayError, stamp?: StreamStamp): boolean {
    if (!this.endWithError(error, stamp)) return false;
    this.#markGone();
    return true;
  }

  /** Ends the answer with `error` once the upstream is done. Returns false if it was already complete or abandoned. */
  endWithError(error: GatewayError, stamp?: StreamStamp): boolean {
    if (this.#isGone || this.#response.writableEnded) return false;
    if (this.#writer.hasBegun) this.#breakOffWith(error, stamp);
    else this.refuse(error);
    return true;
  }

  /** Sends one of the gateway's own documents. Pages of every origin may read it unless the form has `headers`. */
  answerDocument(document: OwnDocument): void {
    const { status, headers, body } = renderDocument(this.request, document);
    this.report.code = document.code ?? "";
    const defaults = this.form.headers.length === 0 ? ["access-control-allow-origin", "*"] : this.form.headers;
    const pairs = ["x-gateway-request-id", this.requestId, ...headers, ...this.#withCors(defaults)];
    this.#discardBody(pairs);
    this.#response.writeHead(status, pairs);
    this.#response.end(body);
  }

  /** Replaces the origin header in `defaults` with the CORS headers for the page that sent this request, if any. */
  #withCors(defaults: readonly string[]): readonly string[] {
    const { crossOrigin } = this;
    return crossOrigin === undefined ? defaults : [...withoutOrigin(defaults), ...crossOrigin.headers];
  }

  /** Reads and drops the rest of an unread body, and adds `connection: close` to `headers`. */
  #discardBody(headers: string[]): void {
    if (this.#isBodyRead || !declaresBody(this.request)) return;
    headers.push("connection", "close");
    discardBody(this.request);
  }

  /** Answers 202 without a body to a notification that needs no upstream. */
  answerAccepted(): void {
    const pairs = ["x-gateway-request-id", this.requestId, "content-length", "0", ...this.#withCors(NO_HEADERS)];
    this.#response.writeHead(202, pairs);
    this.#response.end();
  }

  /** Answers with a fault that the JSON-RPC protocol itself defines. */
  answerFault(fault: RpcFault): void {
    const body = rpcError(fault);
    this.report.code = "invalid_request";
    const headers = ["x-gateway-request-id", this.requestId, "content-type", "application/json"];
    headers.push("content-length", String(Buffer.byteLength(body)));
    if (fault.status === NOT_A_POST.status) headers.push("allow", "POST");
    headers.push(...this.#withCors(NO_HEADERS));
    this.#discardBody(headers);
    this.#response.writeHead(fault.status, headers);
    this.#response.end(this.request.method === "HEAD" ? undefined : body);
  }

  /** Answers with an error. This is the only place where an error becomes an answer. */
  refuse(thrown: unknown): void {
    if (this.#isGone) return;
    const error = asRefusal(thrown);
    this.report.code = error.code;
    if (error.code === "internal") {
      this.#ports.log.error("request failed", {
        request: this.requestId,
        route: this.report.labels.route,
        error: error.cause,
      });
    }
    if (this.#writer.hasBegun) {
      this.#close();
      return;
    }
    const { report, form } = this;
    report.recordRefusal(error);
    const body = form.body(error, this.requestId);
    const headers = refusalHeaders(error, this.requestId);
    headers.push("content-type", "application/json", "content-length", String(Buffer.byteLength(body)));
    if (report.guardrails !== "") headers.push("x-gateway-guardrails", report.guardrails);
    // The connection is closed even if the whole body has arrived. Otherwise, whether it is closed would reveal how long the
    // decision took.
    this.#discardBody(headers);
    headers.push(...this.#withCors(form.headers));
    this.#response.writeHead(error.status, headers);
    this.#response.end(this.request.method === "HEAD" ? undefined : body);
  }

  #onClose(): void {
    this.answerMemory.close();
    const finished = this.#response.writableFinished;
    this.report.markClosed(finished || this.report.code !== "" ? this.#response.statusCode : CLIENT_GONE);
    if (!finished) this.#markGone();
    this.#onGone = undefined;
    this.onClosed?.(this);
  }

  /** Marks the client as gone and notifies the listener. */
  #markGone(): void {
    this.#isGone = true;
    const onGone = this.#onGone;
    this.#onGone = undefined;
    onGone?.();
  }
}

/** Writes a loss as an item of `x-gateway-fidelity-losses` (RFC 9651). Places contain neither quotes nor backslashes. */
const lossItem = ({ capability, place }: Loss): string =>
  place === undefined || place === "" ? capability : `${capability};field="${place}"`;

function ignore(): void {}

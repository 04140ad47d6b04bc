/**
 * Processes the answer of an MCP server or agent: message by message in an event stream, otherwise as one message. It refuses
 * old protocol revisions, filters lists down to the tools that the caller may call, and lets guardrails inspect messages;
 * everything else passes unchanged. Source: mcp reference, 6, 8 and 9; a2a reference, 7 and 10; design decisions, 7 and 11.
 */
import { GatewayError } from "../../../../base/index.ts";
import { JoinedMessages } from "../../../answers/index.ts";
import { decode } from "../../../coding/index.ts";
import { filterTools } from "../../../core/agents/index.ts";
import { MAX_EVENT_BYTES, replaceData, type SseEvent, SseSplitter } from "../../../core/dialects/index.ts";
import { type MaybePromise, mapMaybePromise } from "../../../core/guardrails/index.ts";
import { BodyBuffer, estimateParsingBytes } from "../../../memory/index.ts";
import { type Downstream, headerValue } from "../../../upstream/index.ts";
import type { AgentAnswerOptions } from "./agent-answer-options.ts";
import { refusalNoun } from "./agent-call.ts";
import {
  forwardableHeaders,
  OVERSIZE_ERROR,
  repeatsCredential,
  textOf,
  unauthorizedError,
  undecodableError,
  withContentLength,
} from "./answer-wire.ts";

/** Maximum size of an answer read as a whole. A longer one passes unread unless it must be inspected. */
const MAX_WHOLE_BYTES = 1 << 20;
const MAX_LIST_BYTES = 32 << 20;
/** Maximum size of events that wait for their inspection. */
const MAX_WAITING_BYTES = 256 << 10;
const TOOLS_CHANGED = '"notifications/tools/list_changed"';

/** Matches text that may be a JSON message, regardless of its content type. */
const LIKE_JSON = /^\s*[[{]/;

type Mode = "pass" | "events" | "whole" | "over";

interface Head {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly string[];
}

export class AgentAnswer implements Downstream {
  readonly #options: AgentAnswerOptions;
  readonly #to: Downstream;
  #mode: Mode = "pass";
  /** Head of the answer until it is sent to the client. */
  #head: Head | undefined;
  #encoding: string | undefined;
  #isJson = false;
  /** Whether the answer has `mcp-session-id`. Servers of old and of new revisions set it; the message tells which. */
  #hasSession = false;
  #body: BodyBuffer | undefined;
  readonly #splitter = new SseSplitter();
  readonly #joined = new JoinedMessages();
  #splitBytes = 0;
  readonly #waiting: SseEvent[] = [];
  #waitingBytes = 0;
  #isBusy = false;
  #end: "no" | "complete" | Error = "no";
  #resume: (() => void) | undefined;

  constructor(options: AgentAnswerOptions) {
    this.#options = options;
    this.#to = options.to;
  }

  get isGone(): boolean {
    return this.#to.isGone;
  }

  onGone(listener: (() => void) | undefined): void {
    this.#to.onGone(listener);
  }

  onDrain(listener: () => void): void {
    this.#resume = listener;
    this.#to.onDrain(listener);
  }

  start(status: number, statusText: string, headers: readonly string[]): void {
    const { call } = this.#options;
    const { noun } = refusalNoun(call);
    this.#hasSession = call.fronted.kind === "mcp" && headerValue(headers, "mcp-session-id") !== undefined;
    if (status === 401) {
      this.#refuse(unauthorizedError(noun, call.fronted.channel.credential !== undefined));
      return;
    }
    this.#head = { status, statusText, headers: forwardableHeaders(headers) };
    const encoding = headerValue(headers, "content-encoding")?.toLowerCase();
    this.#encoding = encoding === "identity" ? undefined : encoding;
    const type = headerValue(headers, "content-type")?.toLowerCase() ?? "";
    this.#isJson = type.startsWith("application/json");
    // An error may repeat parts of the request.
    const isRead = this.#isJson || this.#isGuarded || status >= 400;
    if (type.startsWith("text/event-stream")) {
      if (this.#encoding !== undefined) {
        this.#refuse(new GatewayError("upstream_invalid", `${noun} sent a compressed event stream.`));
        return;
      }
      this.#mode = "events";
      // The first message may have to be withheld.
      if (this.#isGuarded) this.#options.whenSilent(() => this.#mode === "events" && this.#sendHead());
      else this.#sendHead();
      return;
    }
    this.#mode = isRead ? "whole" : "pass";
    if (this.#mode === "pass" && this.#hasSession && status === 200) this.#refuseUnsupportedVersion();
    else if (this.#mode === "pass") this.#sendHead();
    else this.#body = new BodyBuffer(this.#options.exchange.answerMemory, this.#maxBytes + 1, true);
  }

  write(chunk: Buffer): boolean {
    if (this.#mode === "pass") return this.#to.write(chunk);
    if (this.#mode === "over") return true;
    if (this.#mode === "whole") return this.#gather(chunk);
    const events = this.#orRefuse(() => {
      const split = this.#splitter.push(chunk);
      this.#options.exchange.answerMemory.change(this.#splitter.heldBytes - this.#splitBytes);
      this.#splitBytes = this.#splitter.heldBytes;
      return split;
    });
    for (const event of events ?? []) {
      this.#waiting.push(event);
      this.#waitingBytes += event.bytes.length;
    }
    const hasRoom = this.#processEvents();
    return hasRoom && this.#waitingBytes < MAX_WAITING_BYTES;
  }

  end(): void {
    if (this.#mode === "over") return;
    this.#end = "complete";
    if (this.#mode === "pass") this.#to.end();
    else if (this.#mode === "events") this.#processEvents();
    else this.#finishWhole();
  }

  breakOff(cause: Error): void {
    if (this.#mode === "over") return;
    this.#end = cause;
    if (this.#mode === "events") this.#processEvents();
    else {
      this.#mode = "over";
      this.#to.breakOff(cause);
    }
  }

  get #maxBytes(): number {
    const { judged, isToolShown } = this.#options;
    if (judged !== undefined) return judged.guard.answers.maxBodyBytes;
    return isToolShown === undefined ? MAX_WHOLE_BYTES : MAX_LIST_BYTES;
  }

  #gather(chunk: Buffer): boolean {
    const gathered = this.#body as BodyBuffer;
    if (gathered.bytes + chunk.length <= this.#maxBytes) {
      this.#orRefuse(() => gathered.add(chunk));
      return true;
    }
    const { judged, isToolShown } = this.#options;
    if (judged !== undefined && judged.guard.answers.onOversize === "deny") {
      judged.refuseOversize();
      this.#refuse(this.#options.settle() ?? OVERSIZE_ERROR);
      return true;
    }
    if (isToolShown !== undefined && judged === undefined) {
      this.#refuse(this.#tooLarge());
      return true;
    }
    if (this.#hasSession) {
      this.#refuseUnsupportedVersion();
      return true;
    }
    this.#mode = "pass";
    this.#sendHead();
    this.#to.write(gathered.take());
    return this.#to.write(chunk);
  }

  /** Processes waiting events. Returns false if the client reads slowly or an inspection is pending. */
  #processEvents(): boolean {
    let hasRoom = true;
    while (!this.#isBusy && this.#mode === "events") {
      const event = this.#waiting.shift();
      if (event === undefined) {
        this.#finish();
        break;
      }
      this.#waitingBytes -= event.bytes.length;
      const made = this.#orRefuse(() => this.#processEvent(event));
      if (made instanceof Promise) {
        this.#isBusy = true;
        made.then(
          (bytes) => this.#onEventProcessed(bytes),
          (error: unknown) => this.#refuse(error),
        );
        return false;
      }
      if (made !== undefined) hasRoom = this.#send(made);
    }
    return hasRoom;
  }

  #onEventProcessed(bytes: Buffer | undefined): void {
    this.#isBusy = false;
    const hasRoom = bytes === undefined || this.#send(bytes);
    if (this.#processEvents() && hasRoom) this.#resume?.();
  }

  #finish(): void {
    if (this.#end === "no") return;
    const last = this.#splitter.takeEventEndingInCr();
    if (last !== undefined) {
      this.#waiting.push(last);
      this.#processEvents();
      return;
    }
    const rest = this.#splitter.takeRest();
    // Clients ignore an event without its final blank line, but an error frame that follows would complete it.
    if (rest.length > 0 && this.#end === "complete" && !this.#isGuarded) this.#send(rest);
    this.#mode = "over";
    try {
      this.#options.settle();
    } catch (error) {
      // Everything was already sent, and each part was allowed. The trail itself reports that it could not record.
      if (!(error instanceof GatewayError)) throw error;
    }
    if (this.#end instanceof Error) {
      this.#to.breakOff(this.#end);
      return;
    }
    this.#sendHead();
    this.#to.end();
  }

  #send(bytes: Buffer): boolean {
    if (this.#mode === "over") return true;
    this.#sendHead();
    return this.#to.write(bytes);
  }

  /** Returns the bytes to send, or `undefined` if the answer is refused. */
  #processEvent(event: SseEvent): MaybePromise<Buffer | undefined> {
    const { data, bytes } = event;
    const { judged } = this.#options;
    if (data === undefined || data === "") {
      if (bytes.length <= MAX_EVENT_BYTES || !this.#isGuarded) return bytes;
      if (judged === undefined) return this.#refuse(this.#tooLarge());
      judged.refuseOversize();
      return this.#refuse(this.#options.settle() ?? OVERSIZE_ERROR);
    }
    return mapMaybePromise(this.#processMessage(data, 200), (shown) =>
      shown === undefined ? undefined : shown === data ? bytes : replaceData(event, shown),
    );
  }

  #finishWhole(): void {
    const made = this.#orRefuse(() => {
      const taken = (this.#body as BodyBuffer).take();
      const encoding = this.#encoding;
      if (encoding === undefined) return this.#sendWhole(taken);
      return decode(taken, encoding, this.#maxBytes, this.#options.exchange.answerMemory).then((plain) =>
        this.#sendWhole(plain),
      );
    });
    // Most answers are processed synchronously.
    if (made instanceof Promise) made.catch((error: unknown) => this.#refuse(error));
  }

  #sendWhole(plain: Buffer): MaybePromise<void> {
    const head = this.#head as Head;
    const text = textOf(plain);
    const seen = text === "" ? text : this.#processMessage(text, head.status);
    return mapMaybePromise(seen, (shown) => {
      if (this.isGone || this.#hasMode("over")) return;
      const refusal = this.#options.settle();
      if (refusal !== undefined) return this.#refuse(refusal);
      const body = shown === text ? plain : Buffer.from(shown ?? "");
      this.#mode = "over";
      this.#head = { ...head, headers: withContentLength(head.headers, body.length) };
      this.#sendHead();
      if (body.length > 0) this.#to.write(body);
      this.#to.end();
    });
  }

  /** Returns the text to send, or `undefined` if the answer is refused. */
  #processMessage(message: string, status: number): MaybePromise<string | undefined> {
    const { call, isToolShown, onToolList, onToolsChanged, onMessage } = this.#options;
    const { answer } = call;
    const isMessage = this.#mode === "events" || this.#isJson;
    if (isMessage) onMessage(message);
    if (isMessage && answer.isUnsupportedVersion(message, status)) return this.#refuseUnsupportedVersion();
    if (repeatsCredential(this.#options.exchange.upstream.containsCredential, message)) {
      const { noun } = refusalNoun(call);
      return this.#refuse(new GatewayError("upstream_invalid", `${noun} answered with the gateway's credential.`));
    }
    if (answer.tools !== undefined) onToolList(message);
    if (this.#mode === "events" && message.includes(TOOLS_CHANGED)) onToolsChanged();
    const seen = isToolShown === undefined ? message : filterTools(message, isToolShown);
    if (!this.#isGuarded) return seen;
    const { answerMemory } = this.#options.exchange;
    const reading = estimateParsingBytes(seen);
    answerMemory.hold(reading);
    return mapMaybePromise(this.#inspect(seen, isMessage), (shown) => {
      answerMemory.release(reading);
      return shown;
    });
  }

  #inspect(seen: string, isMessage: boolean): MaybePromise<string | undefined> {
    const { call, judged } = this.#options;
    const texts = call.answer.texts(seen);
    // A client might be able to read text that cannot be parsed here.
    if (texts === undefined && (isMessage || LIKE_JSON.test(seen))) {
      return this.#refuse(new GatewayError("upstream_invalid", `${refusalNoun(call).noun}'s answer is not JSON.`));
    }
    if (judged === undefined) return seen;
    if (texts === undefined) {
      const rewritten = judged.message([{ kind: "tool_result", text: seen, ref: "", turn: 0, isReadOnly: false }]);
      return mapMaybePromise(rewritten, (made) =>
        made === undefined ? this.#refuse(this.#refusalOrOversize()) : (made[0]?.text ?? seen),
      );
    }
    return mapMaybePromise(this.#joined.inspect(judged, texts.texts), (changes) =>
      changes === undefined ? this.#refuse(this.#refusalOrOversize()) : texts.rewrite(changes),
    );
  }

  #refusalOrOversize(): unknown {
    try {
      return this.#options.settle() ?? OVERSIZE_ERROR;
    } catch (error) {
      return error;
    }
  }

  /** Whether the content of messages must be checked before they are sent. */
  get #isGuarded(): boolean {
    const { judged, isToolShown } = this.#options;
    return (judged ?? isToolShown) !== undefined;
  }

  #tooLarge(): GatewayError {
    return new GatewayError(
      "upstream_incomplete",
      `${refusalNoun(this.#options.call).noun} sent too long a list of tools.`,
    );
  }

  #refuseUnsupportedVersion(): undefined {
    const { call } = this.#options;
    const message = `${refusalNoun(call).noun} ${call.answer.unsupportedVersionText}.`;
    return this.#refuse(new GatewayError("unsupported_version", message));
  }

  /** Refuses the rest of the answer and stops the call of the server. */
  #refuse(error: unknown): undefined {
    if (this.#mode === "over") return undefined;
    this.#mode = "over";
    this.#waiting.length = 0;
    const refusal =
      error instanceof GatewayError
        ? error
        : new GatewayError("internal", "The answer could not be read.", { cause: error });
    const isUndecodable = refusal.code === "invalid_request" || refusal.code === "body_too_large";
    this.#options.exchange.abortWithError(isUndecodable ? undecodableError(refusal) : refusal);
    return undefined;
  }

  #orRefuse<Value>(make: () => Value): Value | undefined {
    try {
      return make();
    } catch (error) {
      return this.#refuse(error);
    }
  }

  #hasMode(mode: Mode): boolean {
    return this.#mode === mode;
  }

  #sendHead(): void {
    const head = this.#head;
    this.#head = undefined;
    if (head !== undefined) this.#to.start(head.status, head.statusText, head.headers);
  }
}

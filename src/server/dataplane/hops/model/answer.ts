/**
 * An answer that must change a little on its way: event by event in a stream, once in a JSON body, not at all otherwise;
 * and one that is metered as it passes.
 */
import { GatewayError } from "../../../../base/index.ts";
import {
  type AnswerEdits,
  countEvents,
  editEvent,
  editJson,
  editUnread,
  type SseEvent,
  SseSplitter,
  tellsNoUsage,
} from "../../../core/dialects/index.ts";
import { Gathering, type Holding } from "../../../memory/index.ts";
import { type Downstream, headerValue, Passing } from "../../../upstream/index.ts";
import type { AnswerMeter } from "../../metering/index.ts";

/** A larger JSON answer passes as it comes; models lists and completions are far below. */
const MAX_REWRITTEN_BYTES = 32 << 20;

/** `over`: nothing more goes to the client. */
type Mode = "pass" | "events" | "whole" | "over";

export interface Rewrites {
  readonly edits: AnswerEdits | undefined;
  /** Applied to a whole JSON body after the edits. */
  readonly extend: ((body: Buffer) => Buffer) | undefined;
  /** Sees the answer as it came, before the client sees what is made of it. */
  readonly meter: AnswerMeter | undefined;
  /** What is held of the answer. */
  readonly holding: Holding;
}

export function rewriting(to: Downstream, rewrites: Rewrites): Downstream {
  return new Rewriting(to, rewrites);
}

/** A class, since there is one for each request: a literal with a getter is a shape of its own each time it is made. */
class Rewriting extends Passing {
  readonly #edits: AnswerEdits | undefined;
  readonly #extend: Rewrites["extend"];
  readonly #meter: AnswerMeter | undefined;
  readonly #holding: Holding;
  #mode: Mode = "pass";
  #shown: ReturnType<AnswerMeter["started"]> = "nothing";
  /** Undefined unless events are looked into. */
  #splitter: SseSplitter | undefined;
  /** Of the event that is not whole yet, as far as they are counted. */
  #eventBytes = 0;
  #held: Gathering | undefined;
  #hasRead = false;

  constructor(to: Downstream, { edits, extend, meter, holding }: Rewrites) {
    super(to);
    this.#edits = edits;
    this.#extend = extend;
    this.#meter = meter;
    this.#holding = holding;
  }

  override start(status: number, statusText: string, headers: readonly string[]): void {
    const changes = this.#edits !== undefined || this.#extend !== undefined;
    this.#mode = changes ? modeOf(status, headers) : "pass";
    this.#shown = this.#meter?.started(status, headers) ?? "nothing";
    if (this.#mode === "events" || this.#shown === "events") this.#splitter = new SseSplitter();
    super.start(status, statusText, this.#mode === "pass" ? headers : withoutLength(headers));
  }

  override write(chunk: Buffer): boolean {
    if (this.#shown === "bytes") this.#meter?.bytes(chunk);
    if (this.#splitter !== undefined) return this.#writeEvents(chunk, this.#splitter);
    if (this.#mode === "over") return true;
    return this.#mode === "whole" ? this.#hold(chunk) : super.write(chunk);
  }

  override end(): void {
    const last = this.#splitter?.unfinished();
    if (last !== undefined) this.#event(last);
    this.#meter?.ended();
    if (this.#mode === "whole" && this.#held !== undefined) {
      const body = this.#held.take();
      const edited = this.#edits === undefined ? body : editJson(body, this.#edits);
      super.write(this.#extend === undefined ? edited : this.#extend(edited));
    }
    if (this.#mode !== "over") super.end();
  }

  override breakOff(cause: Error): void {
    const last = this.#splitter?.last();
    if (last !== undefined) this.#event(last);
    this.#meter?.broken();
    super.breakOff(cause);
  }

  #writeEvents(chunk: Buffer, splitter: SseSplitter): boolean {
    const whole = this.#unread(chunk, splitter);
    if (whole !== undefined) return super.write(whole);
    let hasRoom = true;
    const events = splitter.push(chunk);
    const { heldBytes } = splitter;
    const more = heldBytes - this.#eventBytes;
    if (more !== 0 && !this.#orBreakOff(() => this.#holding.change(more))) return true;
    this.#eventBytes = heldBytes;
    for (const event of events) hasRoom = this.#event(event) ?? hasRoom;
    return this.#mode === "events" ? hasRoom : super.write(chunk);
  }

  /** Whether the client has room; undefined: it was written nothing. */
  #event(event: SseEvent): boolean | undefined {
    if (this.#shown === "events" && event.data !== undefined) {
      this.#hasRead = true;
      this.#meter?.event(event.data);
    }
    if (this.#mode !== "events") return undefined;
    const bytes = this.#edits === undefined ? event.bytes : editEvent(event, this.#edits);
    return bytes === undefined || bytes.length === 0 ? undefined : super.write(bytes);
  }

  /** Most chunks of a stream need no look into their events. */
  #unread(chunk: Buffer, splitter: SseSplitter): Buffer | undefined {
    const isMetered = this.#shown === "events";
    // The first event may be an error, in whatever form.
    const isFirst = !this.#hasRead && isMetered;
    if (isFirst || !splitter.isEmpty) return undefined;
    const text = chunk.toString("latin1");
    if (isMetered && !tellsNoUsage(chunk, text)) return undefined;
    const edits = this.#mode === "events" ? this.#edits : undefined;
    const edited = edits === undefined ? chunk : editUnread(chunk, edits, text);
    if (edited !== undefined && isMetered) this.#meter?.passed(countEvents(text));
    return edited;
  }

  #hold(chunk: Buffer): boolean {
    this.#held ??= new Gathering(this.#holding, MAX_REWRITTEN_BYTES);
    if (this.#held.bytes + chunk.length > MAX_REWRITTEN_BYTES) {
      this.#mode = "pass";
      const all = this.#held.take();
      if (all.length > 0) super.write(all);
      return super.write(chunk);
    }
    const held = this.#held;
    this.#orBreakOff(() => held.add(chunk));
    return true;
  }

  /** The answer's beginning is with the client: what there is no room for cannot be refused any more. */
  #orBreakOff(hold: () => void): boolean {
    try {
      hold();
      return true;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      this.#mode = "over";
      this.#held = undefined;
      this.#splitter = undefined;
      this.breakOff(error);
      return false;
    }
  }
}

function modeOf(status: number, headers: readonly string[]): Mode {
  const encoding = headerValue(headers, "content-encoding");
  if (status !== 200 || (encoding !== undefined && encoding !== "identity")) return "pass";
  const type = headerValue(headers, "content-type")?.toLowerCase() ?? "";
  if (type.startsWith("text/event-stream")) return "events";
  return type.startsWith("application/json") ? "whole" : "pass";
}

function withoutLength(headers: readonly string[]): string[] {
  const kept: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string;
    if (name.toLowerCase() !== "content-length") kept.push(name, headers[i + 1] as string);
  }
  return kept;
}

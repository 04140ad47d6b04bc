/**
 * Reads the chunks of a compat stream for a sink. Source: dialects reference, 3.3 (with its deviations) and 9.2.
 *
 * Several choices are parts of one answer, since no client of another form asks for alternatives. The finish reason and the
 * usage are kept until the provider ends the stream, since usage may come last or on any chunk, and some providers send it even
 * after `[DONE]`. A stream that ends without a finish reason or `[DONE]` ended too early.
 */

import { listOf, objectOf, tryParseJson, type Values } from "../../json/json-values.ts";
import { raiseUsage, type Usage } from "../../usage/usage.ts";
import { parseErrorData } from "../translate-errors.ts";
import { AnswerProblem, StreamEndedEarly, type StreamTranslation } from "../types.ts";
import { SOURCE_MEMBERS, sourceAnnotations } from "./answer-sources.ts";
import { checkFinish } from "./chat-answer-parts.ts";
import {
  argumentsWriter,
  deltaOf,
  hasContent,
  strongestFinish,
  UNCHANGED,
  usageAnywhere,
  type WriteArguments,
} from "./normalize-chat-answer.ts";

/** Writer of an answer in the client's form. Every method may throw `AnswerProblem`. */
export interface ChunkSink {
  /** Starts the answer with the first chunk. */
  start(chunk: Values): void;
  /** Handles a delta and the choice that it belongs to. `written` serializes arguments that are an object. */
  writeDelta(delta: Values, choice: Values, written: WriteArguments): void;
  /** Finishes the answer. `finishReason` is empty if the provider gave none. */
  finish(finishReason: string, usage: Usage | undefined): void;
  /** Ends the answer with an error. `data` is the parsed data of the provider's event. */
  fail(data: unknown, usage: Usage | undefined): void;
  /** Returns a frame without content, which keeps the connection alive. */
  keepAliveFrame(): string;
  /** Returns the frames written since the last call. */
  takeFrames(): string;
}

const DONE = "[DONE]";

export function readChunks(sink: ChunkSink): StreamTranslation {
  return new ChunkReader(sink);
}

/** Implemented as a class, since there is one instance for each stream. */
class ChunkReader implements StreamTranslation {
  readonly #sink: ChunkSink;
  #state: StreamTranslation["state"] = "open";
  #hasStarted = false;
  /** Whether a delta had content. */
  #hasContent = false;
  /** Reason given by the provider; empty until then. */
  #finishReason = "";
  #usage: Usage | undefined;
  /** Latest chunk that lists sources. They are used if no delta has annotations, which are more exact. */
  #withSources: Values | undefined;
  #hasAnnotations = false;

  constructor(sink: ChunkSink) {
    this.#sink = sink;
  }

  get state(): StreamTranslation["state"] {
    return this.#state;
  }

  translateEvent(name: string, data: string): string {
    const text = data.trim();
    if (this.#state === "ending") return this.#lateUsage(text);
    if (this.#state !== "open" || text === "") return "";
    if (text === DONE) return this.#done();
    const value = tryParseJson(text);
    if (name === "error" || reportsError(value)) return this.#fail(value ?? parseErrorData(text));
    const chunk = objectOf(value);
    // Chunks have no event name. Any other event that is not one, such as a ping with text, only keeps the connection alive.
    if (chunk === undefined && name !== "" && name !== "message") return this.keepAlive();
    if (chunk === undefined) throw new AnswerProblem("an event of the stream is not a JSON object");
    return this.#chunk(chunk, argumentsWriter(text, value));
  }

  keepAlive(): string {
    return this.#state === "open" ? this.#sink.keepAliveFrame() : "";
  }

  end(): string {
    if (this.#state === "ending") return this.#finish();
    if (this.#state !== "open") return "";
    if (this.#finishReason === "") throw new StreamEndedEarly();
    return this.#finish();
  }

  #chunk(chunk: Values, written: WriteArguments): string {
    const { choices = null } = chunk;
    const usage = usageAnywhere(chunk);
    if (choices !== null && !Array.isArray(choices)) throw new AnswerProblem("choices is not an array");
    // An event without content only keeps the connection alive.
    if (choices === null && usage === undefined) return this.keepAlive();
    if (!this.#hasStarted) this.#sink.start(chunk);
    this.#hasStarted = true;
    this.#usage = largerUsage(this.#usage, usage);
    if (SOURCE_MEMBERS.some((name) => listOf(chunk[name]).length > 0)) this.#withSources = chunk;
    for (const choice of choices ?? []) this.#choice(objectOf(choice), written);
    return this.#sink.takeFrames();
  }

  /** Handles one choice. All choices are parts of one message, in order of arrival. */
  #choice(choice: Values | undefined, written: WriteArguments): void {
    if (choice === undefined) throw new AnswerProblem("a choice is not an object");
    const { index, finish_reason: finishReason } = choice;
    if (typeof (index ?? 0) !== "number") throw new AnswerProblem("the index of a choice is not a number");
    checkFinish(finishReason);
    if (typeof finishReason === "string" && finishReason !== "") {
      this.#finishReason = String(strongestFinish(this.#finishReason, finishReason));
    }
    const delta = deltaOf(choice, this.#hasContent);
    if (isAbsent(delta)) return;
    const deltaObject = objectOf(delta);
    if (deltaObject === undefined) throw new AnswerProblem("a delta is not an object");
    this.#hasContent ||= hasContent(deltaObject);
    this.#hasAnnotations ||= listOf(deltaObject["annotations"]).length > 0;
    this.#sink.writeDelta(deltaObject, choice, written);
  }

  #done(): string {
    if (!this.#hasStarted) throw new StreamEndedEarly("its answer began");
    if (this.#usage !== undefined) return this.#finish();
    this.#state = "ending";
    return "";
  }

  /** Finishes the answer if an event after `[DONE]` has the usage. Such an event cannot add content. */
  #lateUsage(text: string): string {
    this.#usage = usageAnywhere(objectOf(tryParseJson(text)) ?? {});
    return this.#usage === undefined ? "" : this.#finish();
  }

  #finish(): string {
    if (this.#withSources !== undefined && !this.#hasAnnotations) {
      this.#sink.writeDelta({ annotations: sourceAnnotations(this.#withSources) }, {}, UNCHANGED);
    }
    this.#sink.finish(this.#finishReason, this.#usage);
    this.#state = "ended";
    return this.#sink.takeFrames();
  }

  #fail(data: unknown): string {
    this.#state = "failed";
    this.#sink.fail(data, this.#usage);
    return this.#sink.takeFrames();
  }
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null;

/** Returns the larger count of each class, as metering does: no count decreases. */
function largerUsage(before: Usage | undefined, now: Usage | undefined): Usage | undefined {
  return before === undefined || now === undefined ? (now ?? before) : raiseUsage(before, now, true);
}

/**
 * Returns whether the value reports an error: in an object, or in a list of one. Some providers send `"error": null` on every
 * chunk, and some send the error itself as an object of that name, followed by `[DONE]`.
 */
function reportsError(value: unknown): boolean {
  const { error, object }: Values = objectOf(value) ?? objectOf(listOf(value)[0]) ?? {};
  if (object === "error") return true;
  return typeof error === "object" ? error !== null : typeof error === "string" && error !== "";
}

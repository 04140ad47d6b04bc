/**
 * Reads the events of a messages stream for a sink. Source: dialects reference, 5.3 and 9.1.
 *
 * An answer is complete only at `message_stop`: a stream that ends without it ended too early. A second `message_start` only
 * reports usage, as some providers send it. Blocks that interleave, or are never closed, are passed on as they arrive; a delta
 * without its block, or of another kind than its block, makes the answer invalid.
 */
import { type JsonSource, readJson } from "../../json/json-source.ts";
import { listOf, objectOf, tryParseJson, type Values } from "../../json/json-values.ts";
import { raiseUsage, type Usage } from "../../usage/usage.ts";
import { countsOf, mergeCounts, type UsageCounts, usageOf } from "../../usage/usage-normalize.ts";
import { ArgumentsScan } from "../chat-answers/arguments-scan.ts";
import { parseErrorData } from "../translate-errors.ts";
import { AnswerProblem, StreamEndedEarly, type StreamTranslation } from "../types.ts";
import { hasInput, readBlock, readRefusal, readText } from "./message-answer-parts.ts";

/** Block of the answer in the writer's own form. A block of kind `skipped` is not written. */
interface WrittenBlock {
  readonly kind: "text" | "thinking" | "tool_use" | "skipped";
}

/** Writer of an answer in the client's form. Every method may throw `AnswerProblem`. */
export interface EventSink<Block extends WrittenBlock> {
  /** Starts the answer. `message` is the message that begins the stream. */
  start(message: Values): void;
  /**
   * Opens a block. `exact` belongs to the `JsonSource` that contains the block; it is set if the block's spelling may matter.
   */
  open(block: Values, exact?: JsonSource["exact"]): Block;
  /** Writes text of a block of kind `text`. The next three write the parts of other kinds. */
  writeText(text: string, block: Block): void;
  writeThinking(text: string, block: Block): void;
  writeSignature(signature: string, block: Block): void;
  writeArguments(json: string, block: Block): void;
  /** Handles a citation of a block of kind `text`. */
  writeCitation(citation: unknown, block: Block): void;
  close(block: Block): void;
  finish(ending: EventEnding): void;
  /** Ends the answer with an error. `data` is the parsed data of the provider's event. */
  fail(data: unknown): void;
  /** Returns the frames written since the last call. */
  takeFrames(): string;
}

export interface EventEnding {
  readonly stopReason: unknown;
  /** Explanation of a refusal; `undefined` if it is not a refusal, or has no explanation. */
  readonly refusal: string | undefined;
  /** Usage of the answer; `undefined` if unknown. */
  readonly usage: Usage | undefined;
}

/** Maximum number of unclosed blocks; the grammar allows one. */
const MAX_OPEN_BLOCKS = 1024;

const KEEP_ALIVE = ": ping\n\n";

const NO_VALUES: Values = {};

/** Names of events that are read. No client handles events of other names. */
const EVENTS: ReadonlySet<string> = new Set([
  "message_start",
  "content_block_start",
  "content_block_delta",
  "content_block_stop",
  "message_delta",
  "message_stop",
  "error",
]);

export function readEvents<Block extends WrittenBlock>(sink: EventSink<Block>): StreamTranslation {
  return new EventReader(sink);
}

/** Implemented as a class, since there is one instance for each stream. */
class EventReader<Block extends WrittenBlock> implements StreamTranslation {
  readonly #sink: EventSink<Block>;
  readonly #blocks = new Map<number, Block>();
  /** Arguments of the open calls, by the index of the block. Some providers repeat all arguments so far in each fragment. */
  readonly #arguments = new Map<number, ArgumentsScan>();
  #hasStarted = false;
  #counts: UsageCounts | undefined;
  #used: Usage | undefined;
  #isUsageFinal = false;
  #stopReason: unknown;
  #refusal: string | undefined;
  #state: StreamTranslation["state"] = "open";

  constructor(sink: EventSink<Block>) {
    this.#sink = sink;
  }

  get state(): StreamTranslation["state"] {
    return this.#state;
  }

  translateEvent(name: string, data: string): string {
    if (this.#state !== "open") return "";
    if (name === "ping") return KEEP_ALIVE;
    if (name === "" ? data === "" || data === "[DONE]" : !EVENTS.has(name)) return "";
    const value = tryParseJson(data);
    if (name === "error") return this.#fail(value ?? parseErrorData(data));
    const event = objectOf(value);
    if (event === undefined) throw new AnswerProblem("an event is not a JSON object");
    switch (name || (event["type"] ?? (event["error"] === undefined ? undefined : "error"))) {
      case "message_start":
        return this.#start(event, data);
      case "content_block_start":
        return this.#openBlock(event, data);
      case "content_block_delta":
        return this.#delta(event);
      case "content_block_stop":
        return this.#closeBlock(event);
      case "message_delta":
        return this.#messageDelta(event);
      case "message_stop":
        return this.#finish();
      case "ping":
        return KEEP_ALIVE;
      case "error":
        return this.#fail(event);
      default:
        return "";
    }
  }

  keepAlive(): string {
    return this.#state === "open" ? KEEP_ALIVE : "";
  }

  end(): string {
    if (this.#state === "open") throw new StreamEndedEarly();
    return "";
  }

  #start(event: Values, data: string): string {
    const message = objectOf(event["message"]);
    if (message === undefined) throw new AnswerProblem("the stream begins without a message");
    this.#addUsage(message["usage"], false);
    if (this.#hasStarted) return "";
    this.#hasStarted = true;
    this.#sink.start(message);
    if (listOf(message["content"]).length > 0) {
      const source = parseKeepingText(data);
      const content = listOf(objectOf(objectOf(source.value)?.["message"])?.["content"]);
      for (const block of content) this.#sink.close(this.#sink.open(readBlock(block), source.exact));
    }
    return this.#sink.takeFrames();
  }

  #openBlock(event: Values, data: string): string {
    this.#requireStarted();
    const index = readIndex(event);
    if (this.#blocks.has(index)) throw new AnswerProblem("a content block begins within itself");
    if (this.#blocks.size >= MAX_OPEN_BLOCKS) throw new AnswerProblem("too many content blocks are open");
    const block = readBlock(event["content_block"]);
    if (hasInput(block)) {
      const source = parseKeepingText(data);
      const exactBlock = readBlock(objectOf(source.value)?.["content_block"]);
      this.#blocks.set(index, this.#sink.open(exactBlock, source.exact));
    } else {
      this.#blocks.set(index, this.#sink.open(block));
    }
    return this.#sink.takeFrames();
  }

  #delta(event: Values): string {
    this.#requireStarted();
    const index = readIndex(event);
    const block = this.#blocks.get(index);
    if (block === undefined) throw new AnswerProblem("a delta belongs to no content block");
    const delta = objectOf(event["delta"]);
    if (delta === undefined) throw new AnswerProblem("a delta is not an object");
    if (block.kind === "skipped") return "";
    switch (delta["type"]) {
      case "text_delta":
        if (block.kind !== "text") throw misplaced();
        this.#sink.writeText(readText(delta, "text"), block);
        break;
      case "thinking_delta":
        if (block.kind !== "thinking") throw misplaced();
        this.#sink.writeThinking(readText(delta, "thinking"), block);
        break;
      case "signature_delta":
        if (block.kind !== "thinking") throw misplaced();
        this.#sink.writeSignature(readText(delta, "signature"), block);
        break;
      case "citations_delta":
        if (block.kind === "text") this.#sink.writeCitation(delta["citation"], block);
        break;
      case "input_json_delta":
        if (block.kind !== "tool_use") throw misplaced();
        this.#sink.writeArguments(this.#newArguments(index, readFragment(delta["partial_json"])), block);
        break;
    }
    return this.#sink.takeFrames();
  }

  /** Returns the part of a fragment that has not arrived yet. */
  #newArguments(index: number, fragment: string): string {
    const scan = this.#arguments.get(index) ?? new ArgumentsScan();
    this.#arguments.set(index, scan);
    return scan.newText(fragment);
  }

  #closeBlock(event: Values): string {
    this.#requireStarted();
    const index = readIndex(event);
    const block = this.#blocks.get(index);
    if (block === undefined) throw new AnswerProblem("a content block ends that did not begin");
    this.#blocks.delete(index);
    this.#arguments.delete(index);
    this.#sink.close(block);
    return this.#sink.takeFrames();
  }

  #messageDelta(event: Values): string {
    this.#requireStarted();
    this.#addUsage(event["usage"], true);
    const delta = objectOf(event["delta"]) ?? NO_VALUES;
    if (typeof delta["stop_reason"] === "string") {
      this.#stopReason = delta["stop_reason"];
      this.#refusal = readRefusal(delta);
    }
    return "";
  }

  #finish(): string {
    this.#requireStarted();
    for (const block of this.#blocks.values()) this.#sink.close(block);
    this.#blocks.clear();
    this.#state = "ended";
    this.#sink.finish({ stopReason: this.#stopReason, refusal: this.#refusal, usage: this.#usage() });
    return this.#sink.takeFrames();
  }

  #fail(data: unknown): string {
    this.#state = "failed";
    this.#sink.fail(data);
    return this.#sink.takeFrames();
  }

  #requireStarted(): void {
    if (!this.#hasStarted) throw new AnswerProblem("the stream does not begin with its message");
  }

  #addUsage(usage: unknown, isFinal: boolean): void {
    const addedUsage = countsOf("messages", usage);
    if (addedUsage === undefined) return;
    this.#counts = mergeCounts(this.#counts, addedUsage);
    const used = usageOf("messages", this.#counts);
    this.#used = this.#used === undefined ? used : raiseUsage(this.#used, used, false);
    this.#isUsageFinal = isFinal;
  }

  /** Returns the usage by the rules of metering: no count decreases, and counts that are all zero are only trusted once final. */
  #usage(): Usage | undefined {
    const used = this.#used;
    return used === undefined || (used.totalTokens === 0 && !this.#isUsageFinal) ? undefined : used;
  }
}

/** Parses the event again, to keep the exact text of its parts. */
function parseKeepingText(data: string): JsonSource {
  try {
    return readJson(data);
  } catch {
    throw new AnswerProblem("an event is nested too deep");
  }
}

/** Returns the index of the event's block. Some servers leave out an index of 0. */
function readIndex(event: Values): number {
  const index = event["index"] ?? 0;
  if (typeof index !== "number" || !Number.isSafeInteger(index) || index < 0) {
    throw new AnswerProblem("a content block has no index");
  }
  return index;
}

/** Returns the text of a fragment, empty if it is absent. Some providers send the whole input as an object instead. */
function readFragment(json: unknown): string {
  if (json === undefined || json === null) return "";
  if (typeof json === "string") return json;
  if (objectOf(json) === undefined) throw new AnswerProblem('"partial_json" is not text');
  return JSON.stringify(json);
}

function misplaced(): AnswerProblem {
  return new AnswerProblem("a delta is of another kind than its content block");
}

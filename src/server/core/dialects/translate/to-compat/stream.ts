/**
 * A stream of the messages dialect for a compat client: events in, chunks out. Source: dialects reference, 5.3 and 9.1.
 *
 * An answer is complete at `message_stop` and not before: a stream that ends without it has no end that could be told. A
 * second `message_start` tells only usage, as some providers send it. Blocks that interleave, or are never closed, are
 * taken as they come; a delta without its block, or of another kind than its block, is no answer.
 */
import { type JsonSource, readJson } from "../../json-source.ts";
import { raiseUsage, type Usage } from "../../usage.ts";
import { countsOf, mergeCounts, type UsageCounts, usageOf } from "../../usage-normalise.ts";
import { listOf, objectOf, parsedJson, type Values } from "../../values.ts";
import { translateErrorEvent } from "../errors.ts";
import { AnswerProblem, type AnswerStamp, type AnswerTerms, type StreamTranslation } from "../types.ts";
import { compatUsage } from "../usage-shape.ts";
import { readBlock, readFinish, readHead, readRefusal, readText } from "./answer-reading.ts";
import { ChunkWriter, hasInput, type OpenBlock } from "./chunk-writer.ts";

/** Of blocks that were not closed; the grammar knows one. */
const MAX_OPEN_BLOCKS = 1024;

const KEEP_ALIVE = ": ping\n\n";

const NO_VALUES: Values = {};

/** Events that are read; others by name mean nothing to this client. */
const EVENTS: ReadonlySet<string> = new Set([
  "message_start",
  "content_block_start",
  "content_block_delta",
  "content_block_stop",
  "message_delta",
  "message_stop",
  "error",
]);

export function openChunkStream(terms: AnswerTerms, stamp: AnswerStamp): StreamTranslation {
  return new ChunkStream(terms, stamp);
}

/** A class, since there is one for each stream. */
class ChunkStream implements StreamTranslation {
  readonly #terms: AnswerTerms;
  readonly #stamp: AnswerStamp;
  readonly #blocks = new Map<number, OpenBlock>();
  #writer: ChunkWriter | undefined;
  #counts: UsageCounts | undefined;
  #used: Usage | undefined;
  #isUsageFinal = false;
  #stopReason: unknown;
  #refusal: string | undefined;
  #state: StreamTranslation["state"] = "open";

  constructor(terms: AnswerTerms, stamp: AnswerStamp) {
    this.#terms = terms;
    this.#stamp = stamp;
  }

  get state(): StreamTranslation["state"] {
    return this.#state;
  }

  event(name: string, data: string): string {
    if (this.#state !== "open") return "";
    if (name === "ping") return KEEP_ALIVE;
    if (name === "" ? data === "" || data === "[DONE]" : !EVENTS.has(name)) return "";
    const value = parsedJson(data);
    if (name === "error") return this.#fail(value);
    const event = objectOf(value);
    if (event === undefined) throw new AnswerProblem("an event is no JSON object");
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
    if (this.#state === "open") throw new AnswerProblem("the stream ended before its answer did");
    return "";
  }

  #start(event: Values, data: string): string {
    const message = objectOf(event["message"]);
    if (message === undefined) throw new AnswerProblem("the stream begins without a message");
    this.#count(message["usage"], false);
    if (this.#writer !== undefined) return "";
    const writer = new ChunkWriter(readHead(message, this.#terms, this.#stamp), this.#terms, this.#stamp);
    this.#writer = writer;
    writer.start();
    if (listOf(message["content"]).length > 0) {
      const source = exactly(data);
      const content = listOf(objectOf(objectOf(source.value)?.["message"])?.["content"]);
      for (const block of content) writer.close(writer.open(readBlock(block), source.exact));
    }
    return writer.take();
  }

  #openBlock(event: Values, data: string): string {
    const writer = this.#begun();
    const index = readIndex(event);
    if (this.#blocks.has(index)) throw new AnswerProblem("a content block begins within itself");
    if (this.#blocks.size >= MAX_OPEN_BLOCKS) throw new AnswerProblem("too many content blocks are open");
    const block = readBlock(event["content_block"]);
    if (hasInput(block)) {
      const source = exactly(data);
      const exactBlock = readBlock(objectOf(source.value)?.["content_block"]);
      this.#blocks.set(index, writer.open(exactBlock, source.exact));
    } else {
      this.#blocks.set(index, writer.open(block));
    }
    return writer.take();
  }

  #delta(event: Values): string {
    const writer = this.#begun();
    const block = this.#blocks.get(readIndex(event));
    if (block === undefined) throw new AnswerProblem("a delta belongs to no content block");
    const delta = objectOf(event["delta"]);
    if (delta === undefined) throw new AnswerProblem("a delta is no object");
    if (block.kind === "untold") return "";
    switch (delta["type"]) {
      case "text_delta":
        if (block.kind !== "text") throw misplaced();
        writer.text(readText(delta, "text"));
        break;
      case "thinking_delta":
        if (block.kind !== "thinking") throw misplaced();
        writer.thinking(block, readText(delta, "thinking"));
        break;
      case "signature_delta":
        if (block.kind !== "thinking") throw misplaced();
        writer.sign(block, readText(delta, "signature"));
        break;
      case "input_json_delta":
        if (block.kind !== "tool_use") throw misplaced();
        writer.fragment(block, readText(delta, "partial_json"));
        break;
    }
    return writer.take();
  }

  #closeBlock(event: Values): string {
    const writer = this.#begun();
    const index = readIndex(event);
    const block = this.#blocks.get(index);
    if (block === undefined) throw new AnswerProblem("a content block ends that did not begin");
    this.#blocks.delete(index);
    writer.close(block);
    return writer.take();
  }

  #messageDelta(event: Values): string {
    this.#begun();
    this.#count(event["usage"], true);
    const delta = objectOf(event["delta"]) ?? NO_VALUES;
    if (typeof delta["stop_reason"] === "string") {
      this.#stopReason = delta["stop_reason"];
      this.#refusal = readRefusal(delta);
    }
    return "";
  }

  #finish(): string {
    const writer = this.#begun();
    for (const block of this.#blocks.values()) writer.close(block);
    this.#blocks.clear();
    this.#state = "ended";
    writer.finish(readFinish(this.#stopReason, writer.hasCalls, this.#terms), this.#refusal, this.#usage());
    return writer.take();
  }

  #fail(event: unknown): string {
    this.#state = "failed";
    return translateErrorEvent("compat", event, this.#stamp.seed);
  }

  #begun(): ChunkWriter {
    if (this.#writer === undefined) throw new AnswerProblem("the stream does not begin with its message");
    return this.#writer;
  }

  #count(usage: unknown, isFinal: boolean): void {
    const news = countsOf("messages", usage);
    if (news === undefined) return;
    this.#counts = mergeCounts(this.#counts, news);
    const used = usageOf("messages", this.#counts);
    this.#used = this.#used === undefined ? used : raiseUsage(this.#used, used, false);
    this.#isUsageFinal = isFinal;
  }

  /** As metering reads it: no count goes down again, and counts that are all zero are knowledge only when final. */
  #usage(): object | undefined {
    const used = this.#used;
    return used === undefined || (used.totalTokens === 0 && !this.#isUsageFinal) ? undefined : compatUsage(used);
  }
}

/** The event once more, for the exact text of its parts. */
function exactly(data: string): JsonSource {
  try {
    return readJson(data);
  } catch {
    throw new AnswerProblem("an event is nested too deep");
  }
}

function readIndex(event: Values): number {
  const index = event["index"];
  if (typeof index !== "number" || !Number.isSafeInteger(index) || index < 0) {
    throw new AnswerProblem("a content block has no index");
  }
  return index;
}

function misplaced(): AnswerProblem {
  return new AnswerProblem("a delta is of another kind than its content block");
}

/** Converts an answer of chat completions to a response. Source: responses reference, 5.3, 6 and 7.4. */

import { listOf, numberOf, objectOf, stringOf, type Values } from "../../json/json-values.ts";
import type { Usage } from "../../usage/usage.ts";
import { AnswerContent, type ContentImage, type ContentPart } from "../chat-answers/answer-content.ts";
import { ArgumentsScan } from "../chat-answers/arguments-scan.ts";
import { ArrivingCalls, type Call, type CallPart } from "../chat-answers/arriving-calls.ts";
import { ArrivingReasoning } from "../chat-answers/arriving-reasoning.ts";
import { BlockQueue, type BlockWriter } from "../chat-answers/block-queue.ts";
import { callsOf, checkFinish, readCompletion, refusalOf } from "../chat-answers/chat-answer-parts.ts";
import type { ChunkSink } from "../chat-answers/chunk-reader.ts";
import type { WriteArguments } from "../chat-answers/normalize-chat-answer.ts";
import { failureOf } from "../translate-errors.ts";
import { incompleteReason } from "./endings.ts";
import { COMMENT } from "./event-log.ts";
import type { Annotation } from "./item-writers.ts";
import { logprobsOf } from "./logprobs.ts";
import { addDetail, hasContent } from "./reasoning-details.ts";
import type { ResponseWriter } from "./response-writer.ts";

/** Approximate memory of an annotation in addition to its text, in UTF-16 units. */
const ANNOTATION_COST = 128;

interface TextBlock {
  readonly kind: "text" | "refusal";
  waitingText: string;
  /** Annotations that arrived before the block began. */
  annotations: Annotation[];
  hasBegun: boolean;
}

interface ReasoningBlock {
  readonly kind: "reasoning";
  waitingText: string;
  readonly details: Values[];
}

interface CallBlock {
  readonly kind: "call";
  waitingText: string;
  readonly call: Call;
}

interface ImageBlock {
  readonly kind: "image";
  waitingText: string;
  readonly image: ContentImage;
}

type Block = TextBlock | ReasoningBlock | CallBlock | ImageBlock;

export class ChunksToResponse implements ChunkSink, BlockWriter<Block> {
  readonly #writer: ResponseWriter;
  readonly #wantsLogprobs: boolean;
  readonly #arriving = new ArrivingCalls();
  readonly #reasoning = new ArrivingReasoning();
  readonly #calls = new Map<Call, CallBlock>();
  readonly #queue = new BlockQueue<Block>(this);
  readonly #content: AnswerContent;
  #lastText: TextBlock | undefined;
  /** Annotations that arrived before any text. */
  #earlyAnnotations: Annotation[] = [];
  /** JSON texts of the log probabilities for text that is not written yet. */
  #logprobs: readonly string[] = [];
  /** Whether the answer ran out of tokens, or was cut off for another reason. */
  #ranOut = false;
  #failed = "";

  constructor(writer: ResponseWriter, wantsLogprobs: boolean) {
    this.#writer = writer;
    this.#content = new AnswerContent((data) => writer.reserveImage(data.length));
    this.#wantsLogprobs = wantsLogprobs;
  }

  /** Starts the response with the whole answer, or its first chunk. */
  start(answer: Values): void {
    this.#writer.begin(answer["model"], stringOf(answer["service_tier"]) || undefined);
  }

  writeDelta(delta: Values, choice: Values, written: WriteArguments): void {
    this.writeMessage(delta, choice, { callOf: (part) => this.#arriving.callOf(part), written });
  }

  /** Writes a whole message, or a delta of one. `callOf` returns the call that a call part belongs to. */
  writeMessage(
    message: Values,
    choice: Values,
    { callOf, written }: { readonly callOf: (part: CallPart) => Call; readonly written: WriteArguments },
  ): void {
    const reasoning = this.#reasoning.read(message);
    const details = listOf(message["reasoning_details"]);
    if (reasoning.length > 0 || details.length > 0) {
      this.#addReasoning(
        reasoning.reduce((text, piece) => text + piece.text, ""),
        details,
      );
    }
    if (this.#wantsLogprobs) this.#keepLogprobs(logprobsOf(choice));
    this.#addContent(this.#content.read(message));
    this.#annotate(listOf(message["annotations"]));
    this.#addText("refusal", refusalOf(message));
    for (const part of callsOf(message, written)) this.#addCall(callOf(part), part.arguments);
  }

  finish(finishReason: string, usage: Usage | undefined): void {
    const shortage = incompleteReason(finishReason);
    this.#ranOut = shortage !== undefined;
    this.#addContent(this.#content.end());
    this.#queue.close();
    this.#writer.finish(shortage, usage);
  }

  fail(data: unknown, usage: Usage | undefined): void {
    this.#failed = this.#writer.fail(failureOf(data), usage);
  }

  keepAliveFrame(): string {
    return COMMENT;
  }

  takeFrames(): string {
    return this.#writer.takeFrames() + this.#failed;
  }

  begin(block: Block): void {
    if (block.kind === "call") this.#writer.beginCall(block.call.name, block.call.id);
    if (block.kind === "image") this.#writer.writeImage(block.image);
    this.appendText(block, block.waitingText);
    if (block.kind === "text") this.#beginText(block);
    if (block.kind === "reasoning") this.#writeDetails(block, 0);
  }

  appendText(block: Block, text: string): void {
    switch (block.kind) {
      case "text":
        this.#writer.writeText(text, this.#logprobs);
        this.#logprobs = [];
        return;
      case "refusal":
        this.#writer.writeRefusal(text);
        return;
      case "reasoning":
        this.#writer.writeReasoning(text);
        return;
      case "call":
        this.#writer.writeArguments(text);
        return;
      case "image":
    }
  }

  /**
   * Ends a block. Only a call that is known to be cut off is ended here; every other block ends when the next one begins, or
   * with the answer.
   */
  end(block: Block): void {
    if (block.kind === "call" && block.call.scan.holdsPlaceholder) this.#writer.writeArguments("{}");
    if (block.kind === "call" && block.call.scan.state === "cut" && this.#ranOut) this.#writer.endCutCall();
  }

  #addContent(parts: readonly ContentPart[]): void {
    for (const part of parts) {
      if ("text" in part) this.#addText("text", part.text);
      else this.#queue.addBlock({ kind: "image", waitingText: "", image: part.image });
    }
  }

  #addText(kind: TextBlock["kind"], text: string): void {
    if (text === "") return;
    const { last } = this.#queue;
    if (last?.kind === kind) {
      this.#queue.addText(last, text);
      return;
    }
    const block: TextBlock = { kind, waitingText: text, annotations: [], hasBegun: false };
    if (kind === "text") {
      this.#lastText = block;
      block.annotations = this.#earlyAnnotations;
      this.#earlyAnnotations = [];
    }
    this.#queue.addBlock(block);
  }

  #beginText(block: TextBlock): void {
    block.hasBegun = true;
    for (const annotation of block.annotations.splice(0)) this.#writer.annotate(annotation);
  }

  /** Annotates the latest text, even if a call followed it, or else the first text that arrives. */
  #annotate(annotations: readonly unknown[]): void {
    for (const value of annotations) {
      const page = objectOf(objectOf(value)?.["url_citation"]);
      const url = stringOf(page?.["url"]);
      if (url === undefined) continue;
      const title = stringOf(page?.["title"]) ?? "";
      const start = numberOf(page?.["start_index"]);
      const annotation: Annotation = { title, url, start, end: numberOf(page?.["end_index"]) };
      this.#writer.countHeld(ANNOTATION_COST + title.length + url.length);
      if (this.#lastText === undefined) this.#earlyAnnotations.push(annotation);
      else if (this.#lastText.hasBegun) this.#writer.annotate(annotation);
      else this.#lastText.annotations.push(annotation);
    }
  }

  #addReasoning(text: string, details: readonly unknown[]): void {
    const { last } = this.#queue;
    const open = last?.kind === "reasoning" ? last : undefined;
    const newDetails = details.filter((detail) => hasContent(detail, open !== undefined));
    if (text === "" && newDetails.length === 0) return;
    const block = open ?? { kind: "reasoning", waitingText: text, details: [] };
    const size = newDetails.length === 0 ? 0 : JSON.stringify(newDetails).length;
    for (const detail of newDetails) addDetail(block.details, detail);
    this.#queue.countHeld(size);
    if (open === undefined) {
      this.#queue.addBlock(block);
      return;
    }
    this.#queue.addText(open, text);
    if (this.#queue.isOpen(open)) this.#writeDetails(open, size);
  }

  #writeDetails({ details }: ReasoningBlock, size: number): void {
    if (details.length > 0) this.#writer.setDetails(details, size);
  }

  #addCall(call: Call, received: string): void {
    // A response contains arguments as text, so they are forwarded whatever they contain.
    const text = call.scan.newText(received);
    const known = this.#calls.get(call);
    if (known !== undefined) {
      this.#queue.addText(known, text);
      this.#queue.advance();
      return;
    }
    const block: CallBlock = { kind: "call", waitingText: text, call };
    this.#calls.set(call, block);
    this.#queue.addBlock(block);
  }

  #keepLogprobs(logprobs: readonly string[]): void {
    if (logprobs.length === 0) return;
    for (const each of logprobs) this.#queue.countHeld(each.length);
    this.#logprobs = this.#logprobs.length === 0 ? logprobs : [...this.#logprobs, ...logprobs];
  }
}

/** Writes a whole chat completion as a response. Throws `AnswerProblem`. */
export function writeCompletion(body: string, writer: ResponseWriter, wantsLogprobs: boolean): void {
  const { answer, choice, message, usage, writeArguments: written } = readCompletion(body);
  const sink = new ChunksToResponse(writer, wantsLogprobs);
  sink.start(answer);
  sink.writeMessage(message, choice, { callOf: ({ id, name }) => ({ id, name, scan: new ArgumentsScan() }), written });
  const finishReason = choice["finish_reason"];
  checkFinish(finishReason);
  sink.finish(stringOf(finishReason) ?? "", usage);
}

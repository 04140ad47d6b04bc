/**
 * Translates the chunks of a compat stream to events of a messages stream. Source: dialects reference, 3.3 (with its
 * deviations) and 9.2.
 */

import type { Values } from "../../json/json-values.ts";
import type { Usage } from "../../usage/usage.ts";
import { AnswerContent, type ContentPart } from "../chat-answers/answer-content.ts";
import { ArrivingCalls } from "../chat-answers/arriving-calls.ts";
import { ArrivingReasoning } from "../chat-answers/arriving-reasoning.ts";
import { MAX_HELD } from "../chat-answers/block-queue.ts";
import { callsOf, refusalOf } from "../chat-answers/chat-answer-parts.ts";
import { type ChunkSink, readChunks } from "../chat-answers/chunk-reader.ts";
import type { WriteArguments } from "../chat-answers/normalize-chat-answer.ts";
import { usualFinish } from "../finish-reasons.ts";
import { shownModel, shownTool } from "../shown-names.ts";
import { translateErrorEvent } from "../translate-errors.ts";
import { AnswerProblem, type AnswerStamp, type AnswerTerms, type StreamTranslation } from "../types.ts";
import { endingOf, messagesTier, messagesUsageOf } from "./ending.ts";
import { COMMENT, MESSAGE_STOP, messageDelta, messageStart, PING } from "./event-frames.ts";
import { messageId } from "./ids-of-answer.ts";
import { OpenBlocks } from "./open-blocks.ts";

export function openEventStream(terms: AnswerTerms, stamp: AnswerStamp): StreamTranslation {
  return readChunks(new EventStream(terms, stamp));
}

class EventStream implements ChunkSink {
  readonly #terms: AnswerTerms;
  readonly #stamp: AnswerStamp;
  readonly #blocks: OpenBlocks;
  readonly #content = new AnswerContent(() => false);
  readonly #calls = new ArrivingCalls();
  readonly #reasoning = new ArrivingReasoning();
  /** Frames to send before the frames of the blocks. */
  #frames = "";
  #hasStarted = false;
  #refusal = "";

  constructor(terms: AnswerTerms, stamp: AnswerStamp) {
    this.#terms = terms;
    this.#stamp = stamp;
    this.#blocks = new OpenBlocks({ stamp, nameOf: (name) => shownTool(terms, name) });
  }

  start({ id, model, service_tier: tier }: Values): void {
    this.#hasStarted = true;
    const shown = shownModel(this.#terms, model);
    const beginning = { id: messageId(this.#stamp, id), model: shown, serviceTier: messagesTier(tier) };
    this.#frames = messageStart(beginning, this.#terms.inputEstimate());
  }

  writeDelta(delta: Values, _choice: Values, written: WriteArguments): void {
    if (this.#terms.showsThinking) for (const piece of this.#reasoning.read(delta)) this.#blocks.writeThinking(piece);
    this.#writeContent(this.#content.read(delta));
    const refusal = refusalOf(delta);
    if (refusal !== "") {
      this.#refusal += refusal;
      if (this.#refusal.length > MAX_HELD) throw new AnswerProblem("the refusal is too long");
      this.#blocks.writeText("refusal", refusal);
    }
    for (const part of callsOf(delta, written)) this.#blocks.writeCall(this.#calls.callOf(part), part.arguments);
  }

  finish(finishReason: string, usage: Usage | undefined): void {
    this.#writeContent(this.#content.end());
    this.#blocks.close(usualFinish(finishReason) === "length");
    const { arguments: came } = this.#blocks;
    const ending = endingOf({ finishReason, arguments: came, refusal: this.#refusal });
    this.#frames += this.#blocks.take() + messageDelta(ending, messagesUsageOf(usage)) + MESSAGE_STOP;
  }

  #writeContent(parts: readonly ContentPart[]): void {
    for (const part of parts) if ("text" in part) this.#blocks.writeText("text", part.text);
  }

  fail(data: unknown): void {
    this.#frames += translateErrorEvent("messages", data, this.#stamp.seed);
  }

  keepAliveFrame(): string {
    return this.#hasStarted ? PING : COMMENT;
  }

  takeFrames(): string {
    const frames = this.#frames + this.#blocks.take();
    this.#frames = "";
    return frames;
  }
}

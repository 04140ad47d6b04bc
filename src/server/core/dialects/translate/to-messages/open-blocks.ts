/** Writes the blocks of an answer in progress as events. Source: dialects reference, 5.3 and 9.2. */

import type { ArgumentsState } from "../chat-answers/arguments-scan.ts";
import type { Call } from "../chat-answers/arriving-calls.ts";
import { BlockQueue, type BlockWriter } from "../chat-answers/block-queue.ts";
import { continuesBlock, type Reasoning } from "../chat-answers/chat-answer-parts.ts";
import type { AnswerStamp } from "../types.ts";
import * as frames from "./event-frames.ts";
import { createCallIds } from "./ids-of-answer.ts";

interface TextBlock {
  readonly kind: "text" | "refusal";
  waitingText: string;
}

interface ThinkingBlock {
  readonly kind: "thinking";
  waitingText: string;
  signature: string;
  index: number | undefined;
}

interface CallBlock {
  readonly kind: "call";
  waitingText: string;
  readonly call: Call;
}

type Block = TextBlock | ThinkingBlock | CallBlock;

interface OpenBlocksSettings {
  readonly stamp: AnswerStamp;
  /** Returns the client's name of a tool. `name` is the name that the provider knows. */
  readonly nameOf: (name: string) => string;
}

export class OpenBlocks implements BlockWriter<Block> {
  readonly #nameOf: (name: string) => string;
  readonly #callId: (id: string) => string;
  readonly #calls = new Map<Call, CallBlock>();
  readonly #queue = new BlockQueue<Block>(this);
  readonly #arguments = new Set<ArgumentsState>();
  #ranOut = false;
  #lastThinking: ThinkingBlock | undefined;
  /** Index of the open block, or of the next one. */
  #index = 0;
  #frames = "";

  constructor({ stamp, nameOf }: OpenBlocksSettings) {
    this.#nameOf = nameOf;
    this.#callId = createCallIds(stamp);
  }

  /** States of the arguments of the closed calls. */
  get arguments(): ReadonlySet<ArgumentsState> {
    return this.#arguments;
  }

  /** Returns the frames written since the last call. */
  take(): string {
    const written = this.#frames;
    this.#frames = "";
    return written;
  }

  writeText(kind: TextBlock["kind"], text: string): void {
    const { last } = this.#queue;
    if (last?.kind === kind) this.#queue.addText(last, text);
    else this.#queue.addBlock({ kind, waitingText: text });
  }

  writeThinking(piece: Reasoning): void {
    const last = this.#lastThinking;
    if (last !== undefined && last === this.#queue.last && continuesBlock(last, piece)) {
      last.index ??= piece.index;
      this.#queue.addText(last, piece.text);
      this.#sign(last, piece.signature);
      return;
    }
    // The block that this signature belongs to is closed, so the signature is dropped.
    if (piece.text === "" && last?.signature === "") return;
    const { text: waitingText, signature, index } = piece;
    this.#lastThinking = { kind: "thinking", waitingText, signature, index };
    this.#queue.addBlock(this.#lastThinking);
  }

  writeCall(call: Call, fragment: string): void {
    const text = call.scan.push(call.scan.newPart(fragment));
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

  /** Opens and closes all remaining blocks. `ranOut` is true if the model ran out of tokens, possibly within a call. */
  close(ranOut: boolean): void {
    this.#ranOut = ranOut;
    this.#queue.close();
  }

  begin(block: Block): void {
    this.#frames += this.#startOf(block);
    if (block.waitingText !== "") this.appendText(block, block.waitingText);
    if (block.kind === "thinking" && block.signature !== "")
      this.#frames += frames.signatureDelta(this.#index, block.signature);
  }

  appendText(block: Block, text: string): void {
    if (text === "") return;
    if (block.kind === "call") this.#frames += frames.inputDelta(this.#index, text);
    else if (block.kind === "thinking") this.#frames += frames.thinkingDelta(this.#index, text);
    else this.#frames += frames.textDelta(this.#index, text);
  }

  end(block: Block): void {
    if (block.kind === "call") this.#endCall(block.call);
    this.#frames += frames.blockStop(this.#index++);
  }

  #endCall({ scan }: Call): void {
    const ending = scan.completionText(this.#ranOut);
    if (ending !== "") this.#frames += frames.inputDelta(this.#index, ending);
    this.#arguments.add(scan.state);
  }

  #sign(block: ThinkingBlock, signature: string): void {
    if (signature === "") return;
    block.signature = signature;
    this.#queue.countHeld(signature.length);
    if (this.#queue.isOpen(block)) this.#frames += frames.signatureDelta(this.#index, signature);
  }

  #startOf(block: Block): string {
    switch (block.kind) {
      case "text":
      case "refusal":
        return frames.textStart(this.#index);
      case "thinking":
        return frames.thinkingStart(this.#index);
      case "call":
        return frames.toolUseStart(this.#index, this.#callId(block.call.id), this.#nameOf(block.call.name));
    }
  }
}

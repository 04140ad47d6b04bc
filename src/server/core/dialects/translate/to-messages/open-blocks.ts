/**
 * The blocks of an answer that is still coming, written as events one block after the other. Source: dialects reference,
 * 5.3 and 9.2.
 *
 * Invariants: blocks never interleave, and their indexes are 0, 1, 2 … Only the first in the queue is open. A block of
 * text is over when another follows it; a call is over when another follows and its arguments are whole, so that calls
 * whose fragments come interleaved wait for each other, and what is held is bounded.
 */
import { AnswerProblem, type AnswerStamp } from "../types.ts";
import { createCallIds, type Reasoning, takesIn } from "./answer-parts.ts";
import type { Call } from "./arriving-calls.ts";
import type { Arguments } from "./ending.ts";
import * as frames from "./frames.ts";

/** Held text and blocks, in UTF-16 units: as much as the largest event that is looked into. */
export const MAX_HELD = 8 << 20;

/** What a block costs beside its text, roughly. */
const BLOCK_COST = 256;

interface TextBlock {
  readonly kind: "text" | "refusal";
  /** Came while the block was not open. */
  held: string;
}

interface ThinkingBlock {
  readonly kind: "thinking";
  held: string;
  signature: string;
  index: number | undefined;
}

interface CallBlock {
  readonly kind: "call";
  held: string;
  readonly call: Call;
}

type Block = TextBlock | ThinkingBlock | CallBlock;

export interface OpenBlocksSettings {
  readonly stamp: AnswerStamp;
  /** From the provider's name of a tool to the client's. */
  readonly nameOf: (name: string) => string;
}

export class OpenBlocks {
  readonly #nameOf: (name: string) => string;
  readonly #callId: (given: string) => string;
  readonly #calls = new Map<Call, CallBlock>();
  #queue: Block[] = [];
  /** Of the first in the queue, or undefined: it has not begun. */
  #openIndex: number | undefined;
  #nextIndex = 0;
  #lastThinking: ThinkingBlock | undefined;
  #heldSize = 0;
  readonly #arguments = new Set<Arguments>();

  constructor({ stamp, nameOf }: OpenBlocksSettings) {
    this.#nameOf = nameOf;
    this.#callId = createCallIds(stamp);
  }

  /** Of the calls that are closed. */
  get arguments(): ReadonlySet<Arguments> {
    return this.#arguments;
  }

  text(kind: TextBlock["kind"], text: string): string {
    const last = this.#queue.at(-1);
    if (last?.kind === kind) return this.#add(last, text);
    return this.#append({ kind, held: text });
  }

  thinking(piece: Reasoning): string {
    const last = this.#lastThinking;
    if (last !== undefined && last === this.#queue.at(-1) && takesIn(last, piece)) {
      last.index ??= piece.index;
      return this.#add(last, piece.text) + this.#sign(last, piece.signature);
    }
    // The block that it signs is closed, and signs nothing any more.
    if (piece.text === "" && last?.signature === "") return "";
    const { text: held, signature, index } = piece;
    this.#lastThinking = { kind: "thinking", held, signature, index };
    return this.#append(this.#lastThinking);
  }

  call(call: Call, fragment: string): string {
    const text = call.scan.take(fragment);
    const known = this.#calls.get(call);
    if (known !== undefined) return this.#add(known, text) + this.#advance();
    const block: CallBlock = { kind: "call", held: text, call };
    this.#calls.set(call, block);
    return this.#append(block);
  }

  /** Opens and closes all that are left. */
  close(): string {
    let text = "";
    for (const block of this.#queue) {
      if (isNameless(block)) throw new AnswerProblem("a tool call has no name");
      text += this.#begin(block) + this.#end(block);
    }
    this.#queue = [];
    return text;
  }

  #append(block: Block): string {
    this.#queue.push(block);
    this.#hold(BLOCK_COST + block.held.length);
    return this.#advance();
  }

  #add(block: Block, text: string): string {
    if (text === "") return "";
    if (this.#isOpen(block)) return deltaOf(block, this.#openIndex ?? 0, text);
    this.#hold(text.length);
    block.held += text;
    return "";
  }

  #sign(block: ThinkingBlock, signature: string): string {
    if (signature === "") return "";
    block.signature = signature;
    this.#hold(signature.length);
    return this.#isOpen(block) ? frames.signatureDelta(this.#openIndex ?? 0, signature) : "";
  }

  #isOpen(block: Block): boolean {
    return this.#openIndex !== undefined && block === this.#queue[0];
  }

  #hold(size: number): void {
    this.#heldSize += size;
    if (this.#heldSize > MAX_HELD)
      throw new AnswerProblem("the answer has too many blocks, or too much of it came out of order");
  }

  /** Closes what is over and opens what can be opened. */
  #advance(): string {
    let text = "";
    let over = 0;
    for (const block of this.#queue) {
      if (isNameless(block)) break;
      text += this.#begin(block);
      const isLast = over === this.#queue.length - 1;
      if (isLast || (block.kind === "call" && block.call.scan.state !== "whole")) break;
      text += this.#end(block);
      over++;
    }
    if (over > 0) this.#queue.splice(0, over);
    return text;
  }

  #begin(block: Block): string {
    if (this.#openIndex !== undefined) return "";
    const index = this.#nextIndex++;
    this.#openIndex = index;
    let text = this.#startOf(block, index);
    if (block.held !== "") text += deltaOf(block, index, block.held);
    block.held = "";
    if (block.kind === "thinking" && block.signature !== "") text += frames.signatureDelta(index, block.signature);
    return text;
  }

  #end(block: Block): string {
    const index = this.#openIndex ?? 0;
    this.#openIndex = undefined;
    if (block.kind === "call") this.#arguments.add(block.call.scan.state);
    return frames.blockStop(index);
  }

  #startOf(block: Block, index: number): string {
    switch (block.kind) {
      case "text":
      case "refusal":
        return frames.textStart(index);
      case "thinking":
        return frames.thinkingStart(index);
      case "call":
        return frames.toolUseStart(index, this.#callId(block.call.id), this.#nameOf(block.call.name));
    }
  }
}

function isNameless(block: Block): boolean {
  return block.kind === "call" && block.call.name === "";
}

function deltaOf(block: Block, index: number, text: string): string {
  if (block.kind === "call") return frames.inputDelta(index, text);
  return block.kind === "thinking" ? frames.thinkingDelta(index, text) : frames.textDelta(index, text);
}

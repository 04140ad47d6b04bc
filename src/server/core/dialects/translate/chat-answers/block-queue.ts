/**
 * Writes the blocks of an answer in progress one after the other, although a stream of chunks may interleave them. Source:
 * dialects reference, 5.3 and 9.2.
 *
 * Invariants: blocks are written in the order in which they began, and never within each other. Only the first block in the
 * queue is open. A text block ends when another block follows it; a call ends when another block follows and its arguments are
 * complete. So calls with interleaved fragments wait for each other, and the amount of waiting text is bounded.
 */

import { AnswerProblem } from "../types.ts";
import type { Call } from "./arriving-calls.ts";

/** Maximum size of waiting text and blocks, in UTF-16 units: that of the largest event that is inspected. */
export const MAX_HELD = 8 << 20;

/** Approximate memory of a block in addition to its text, in UTF-16 units. */
const BLOCK_COST = 256;

interface QueuedBlock {
  /** Text that arrived while the block was not open. */
  waitingText: string;
  /** Tool call; `undefined` for other blocks. */
  readonly call?: Call;
}

export interface BlockWriter<Block extends QueuedBlock> {
  /** Begins a block. The text that the block already holds must be written too. */
  begin(block: Block): void;
  appendText(block: Block, text: string): void;
  end(block: Block): void;
}

export class BlockQueue<Block extends QueuedBlock> {
  readonly #writer: BlockWriter<Block>;
  #queue: Block[] = [];
  /** Whether the first block in the queue has begun. */
  #isOpen = false;
  #heldSize = 0;

  constructor(writer: BlockWriter<Block>) {
    this.#writer = writer;
  }

  get last(): Block | undefined {
    return this.#queue.at(-1);
  }

  isOpen(block: Block): boolean {
    return this.#isOpen && block === this.#queue[0];
  }

  addBlock(block: Block): void {
    this.#queue.push(block);
    this.countHeld(BLOCK_COST + block.waitingText.length);
    this.advance();
  }

  addText(block: Block, text: string): void {
    if (text === "") return;
    if (this.isOpen(block)) {
      this.#writer.appendText(block, text);
      return;
    }
    this.countHeld(text.length);
    block.waitingText += text;
  }

  /**
   * Counts data that a block keeps in addition to its text. The size is never subtracted again. Throws `AnswerProblem` above
   * the limit.
   */
  countHeld(size: number): void {
    this.#heldSize += size;
    if (this.#heldSize > MAX_HELD)
      throw new AnswerProblem("the answer has too many blocks, or too many of them came out of order");
  }

  /** Ends finished blocks and begins the next ones. Must be called after a call received a fragment. */
  advance(): void {
    let finishedCount = 0;
    for (const block of this.#queue) {
      if (isUnnamed(block)) break;
      this.#begin(block);
      const isLast = finishedCount === this.#queue.length - 1;
      if (isLast || mayContinue(block)) break;
      this.#end(block);
      finishedCount++;
    }
    if (finishedCount > 0) this.#queue.splice(0, finishedCount);
  }

  /** Begins and ends all remaining blocks. */
  close(): void {
    for (const block of this.#queue) {
      if (block.call?.name === "") throw new AnswerProblem("a tool call has no name");
      this.#begin(block);
      this.#end(block);
    }
    this.#queue = [];
  }

  #begin(block: Block): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#writer.begin(block);
    block.waitingText = "";
  }

  #end(block: Block): void {
    this.#isOpen = false;
    this.#writer.end(block);
    block.call?.scan.close();
  }
}

const mayContinue = ({ call }: QueuedBlock): boolean =>
  call !== undefined && (call.scan.state !== "whole" || call.scan.holdsPlaceholder);

/** Returns whether the name of a call is not known yet. More of it may arrive until the arguments begin. */
function isUnnamed({ call }: QueuedBlock): boolean {
  return call !== undefined && (call.name === "" || call.scan.state === "empty");
}

/**
 * Finds all matches of a program of RE2 instructions, in time linear in the text however far ahead the expression
 * reads.
 *
 * A forward-only machine must read on as long as a longer match may follow, and start again after the match that it
 * then takes: `a(?:.*b)?` reads the rest of the text at every `a`. So the text is first read backwards, to find at each
 * place the instructions from which a match can be reached (live instructions). Then it is read forwards: each choice
 * takes the preferred path that leads to a match, and only text that is part of a match is read.
 *
 * Live instructions are stored for one block of places at a time, and recomputed from the end of the block when a match
 * begins in it.
 */

import { type Instruction, instructionHolds, isCharacter, OP, type Program, takes } from "./linear-program.ts";
import { nextPlace, type Place } from "./match-search.ts";

/** Number of UTF-16 units whose live instructions are stored at once. */
const BLOCK = 1024;

/** Maximum number of marks. A text has fewer places, and the words that store marks hold at most twice as many. */
const MAX_MARKS = 2 ** 30;

/** Live instructions at the end of a block. */
interface Edge {
  readonly at: number;
  readonly live: Int32Array;
}

export class LiveProgram {
  readonly #code: readonly Instruction[];
  readonly #first: number;
  /** Predecessors of each instruction. */
  readonly #before: readonly (readonly number[])[];
  readonly #ends: readonly number[];
  /** ASCII characters that each instruction accepts. */
  readonly #takes: readonly Uint8Array[];
  /**
   * ASCII characters before which an instruction can become live when none is live after them; `undefined` if this
   * depends on the place.
   */
  readonly #wakes: Uint8Array | undefined;
  readonly #marks: Int32Array;
  #mark = 0;
  readonly #waiting: Int32Array;
  /** Instructions that consume the character at a place and lead to a match after it. */
  readonly #live: Int32Array;
  #liveSize = 0;

  constructor({ inst, start }: Program) {
    this.#code = inst;
    this.#first = start;
    const before: number[][] = inst.map(() => []);
    for (const [index, { op, out, arg }] of inst.entries()) {
      if (op === OP.fail || op === OP.match) continue;
      before[out]!.push(index);
      if ((op === OP.alt || op === OP.altMatch) && arg !== out) before[arg]!.push(index);
    }
    this.#before = before;
    this.#ends = inst.flatMap(({ op }, index) => (op === OP.match ? [index] : []));
    this.#takes = inst.map(asciiOf);
    this.#marks = new Int32Array(inst.length);
    this.#waiting = new Int32Array(inst.length);
    this.#live = new Int32Array(inst.length);
    this.#wakes = this.#wakesOf();
  }

  /** Computes the wake-up characters: most characters of most texts are neither part of a match nor followed by one. */
  #wakesOf(): Uint8Array | undefined {
    const wakes = new Uint8Array(0x80);
    const seen = new Set<number>(this.#ends);
    for (const reached of seen) {
      if (reached === this.#first || this.#code[reached]!.op === OP.empty) return undefined;
      for (const index of this.#before[reached]!) {
        if (isCharacter(this.#code[index]!))
          for (let unit = 0; unit < 0x80; unit++) wakes[unit]! |= this.#takes[index]![unit]!;
        else seen.add(index);
      }
    }
    return wakes;
  }

  search(text: string, place: Place): void {
    if (this.#mark > MAX_MARKS) {
      this.#marks.fill(0);
      this.#mark = 0;
    }
    const starts = new Uint8Array(text.length + 1);
    const edges = this.#readBackwards(text, starts);
    const block = new Block();
    for (let from = starts.indexOf(1); from >= 0; ) {
      const end = this.#matchFrom(text, from, edges, block);
      if (end > from) place(from, end);
      from = starts.indexOf(1, end > from ? end : nextPlace(text, from));
    }
  }

  /** Reads the text backwards. Marks in `starts` where matches begin; returns the ends of blocks, the last first. */
  #readBackwards(text: string, starts: Uint8Array): readonly Edge[] {
    this.#liveSize = 0;
    const edges: Edge[] = [{ at: text.length, live: new Int32Array(0) }];
    for (let at = text.length; ; ) {
      at = this.#awake(text, at);
      if (edges.at(-1)!.at - at >= BLOCK) edges.push({ at, live: this.#live.slice(0, this.#liveSize) });
      const onward = at;
      at = placeBefore(text, at);
      if (this.#stepBack(text, onward, at)) starts[onward] = 1;
      if (onward === 0) return edges;
    }
  }

  /**
   * Computes the live instructions at `to` from those at `at`, one character after it. Returns whether a match begins
   * at `at`.
   */
  #stepBack(text: string, at: number, to: number): boolean {
    const code = this.#code;
    const before = this.#before;
    const marks = this.#marks;
    const waiting = this.#waiting;
    const live = this.#live;
    const mark = ++this.#mark;
    let size = 0;
    for (const end of this.#ends) {
      marks[end] = mark;
      waiting[size++] = end;
    }
    for (let each = 0; each < this.#liveSize; each++) {
      marks[live[each]!] = mark;
      waiting[size++] = live[each]!;
    }
    const codePoint = at > 0 ? text.codePointAt(to)! : -1;
    let found = 0;
    // Each instruction that consumes a character has one successor, so it is visited once.
    while (size > 0) {
      const ways = before[waiting[--size]!]!;
      for (let each = 0; each < ways.length; each++) {
        const index = ways[each]!;
        const instruction = code[index]!;
        if (isCharacter(instruction)) {
          if (codePoint >= 0 && this.#takesAt(index, codePoint)) live[found++] = index;
        } else if (marks[index] !== mark && instructionHolds(instruction, text, at)) {
          marks[index] = mark;
          waiting[size++] = index;
        }
      }
    }
    this.#liveSize = found;
    return marks[this.#first] === mark;
  }

  #takesAt(index: number, codePoint: number): boolean {
    return codePoint < 0x80 ? this.#takes[index]![codePoint] === 1 : takes(this.#code[index]!, codePoint);
  }

  /** Returns the end of the preferred match from `start`, or nothing if there is none. */
  #matchFrom(text: string, start: number, edges: readonly Edge[], block: Block): number {
    for (let index = this.#first, at = start; ; ) {
      if (!block.has(at)) this.#fill(block, text, at, edges);
      const taken = this.#preferred(index, text, at, block);
      const { op, out } = this.#code[taken]!;
      if (op === OP.match) return at;
      index = out;
      at = nextPlace(text, at);
    }
  }

  /** Returns the first instruction, among those reachable without consuming a character, that leads to a match. */
  #preferred(from: number, text: string, at: number, block: Block): number {
    const code = this.#code;
    const marks = this.#marks;
    const isLive = this.#mark + 1;
    const isSeen = this.#mark + 2;
    this.#mark = isSeen;
    block.mark(at, marks, isLive);
    const ways = [from];
    for (let index = ways.pop(); index !== undefined; index = ways.pop()) {
      const instruction = code[index]!;
      const { op, out, arg } = instruction;
      if (op === OP.match || marks[index] === isLive) return index;
      if (isCharacter(instruction) || marks[index] === isSeen) continue;
      marks[index] = isSeen;
      if (op === OP.alt || op === OP.altMatch) ways.push(arg, out);
      else if (instructionHolds(instruction, text, at)) ways.push(out);
    }
    throw new Error("a live state leads to no match");
  }

  #fill(block: Block, text: string, at: number, edges: readonly Edge[]): void {
    const edge = edges.findLast((one) => one.at >= at)!;
    this.#live.set(edge.live);
    this.#liveSize = edge.live.length;
    block.begin(edge.at);
    if (edge.at > at) block.add(edge.at, edge.live, edge.live.length);
    for (let onward = edge.at; onward > at; ) {
      const to = placeBefore(text, onward);
      this.#stepBack(text, onward, to);
      block.add(to, this.#live, this.#liveSize);
      onward = Math.max(at, this.#awake(text, to));
    }
    block.add(at, this.#live, this.#liveSize);
  }

  /** Moves back from a place without live instructions to one just after a character that may change that. */
  #awake(text: string, at: number): number {
    const wakes = this.#wakes;
    if (this.#liveSize > 0 || wakes === undefined) return at;
    let to = at;
    while (to > 0 && text.charCodeAt(to - 1) < 0x80 && wakes[text.charCodeAt(to - 1)] === 0) to -= 1;
    return to;
  }
}

/** Live instructions at the places of one block, which is filled from its end. */
class Block {
  #from = 0;
  #end = -1;
  #indices = new Int32Array(BLOCK);
  #size = 0;
  /** Start and end of each place's indices, by the distance of the place from the end of the block. */
  readonly #begins = new Int32Array(BLOCK + 2);
  readonly #ends = new Int32Array(BLOCK + 2);

  has(at: number): boolean {
    return at >= this.#from && at <= this.#end;
  }

  begin(end: number): void {
    this.#end = end;
    this.#size = 0;
    this.#begins.fill(0);
    this.#ends.fill(0);
  }

  add(at: number, live: Int32Array, count: number): void {
    if (this.#size + count > this.#indices.length) {
      const larger = new Int32Array(2 * (this.#size + count));
      larger.set(this.#indices.subarray(0, this.#size));
      this.#indices = larger;
    }
    this.#from = at;
    this.#begins[this.#end - at] = this.#size;
    for (let each = 0; each < count; each++) this.#indices[this.#size++] = live[each]!;
    this.#ends[this.#end - at] = this.#size;
  }

  mark(at: number, marks: Int32Array, mark: number): void {
    const end = this.#ends[this.#end - at]!;
    for (let each = this.#begins[this.#end - at]!; each < end; each++) marks[this.#indices[each]!] = mark;
  }
}

const NO_CHARACTER = new Uint8Array(0x80);

function asciiOf(instruction: Instruction): Uint8Array {
  if (!isCharacter(instruction)) return NO_CHARACTER;
  return Uint8Array.from({ length: 0x80 }, (_, unit) => (takes(instruction, unit) ? 1 : 0));
}

function placeBefore(text: string, at: number): number {
  return at > 1 && text.codePointAt(at - 2)! > 0xffff ? at - 2 : at - 1;
}

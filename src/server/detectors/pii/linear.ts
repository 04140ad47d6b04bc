/**
 * Positions of the matches of an expression in linear time, without native code: the machine of Thompson and Pike over the
 * program that `@bufbuild/re2` compiles, which itself tells only whether there is a match. The leftmost match is taken, and
 * of those the one that a backtracking engine would prefer.
 */

import { RE2JS } from "@bufbuild/re2";
import { nextPlace, type Search } from "./search.ts";

type Program = ReturnType<RE2JS["re2"]>["prog"];
type Instruction = Program["inst"][number];

/** Of instructions (`Inst` of the library). */
export const OP = { alt: 1, altMatch: 2, capture: 3, empty: 4, fail: 5, match: 6, nop: 7 } as const;

/** Bits of what an empty instruction asks for (`Utils` of the library). */
const BEGIN_LINE = 1;
const END_LINE = 2;
const BEGIN_TEXT = 4;
const END_TEXT = 8;
const WORD_BOUNDARY = 16;
const NO_WORD_BOUNDARY = 32;

/** Bounds the time for one character of a text. */
export const MOST_INSTRUCTIONS = 4000;

/** Throws on what is not RE2 syntax, and on a program of more than `MOST_INSTRUCTIONS`. */
export function compileLinear(regex: string, isCaseSensitive: boolean): RE2JS {
  const flags = RE2JS.DOTALL | RE2JS.MULTILINE | (isCaseSensitive ? 0 : RE2JS.CASE_INSENSITIVE);
  const expression = RE2JS.compile(regex, flags);
  const size = expression.re2().prog.numInst();
  if (size > MOST_INSTRUCTIONS) {
    throw new Error(
      `the expression is too large: ${size} steps with its repeats written out, at most ${MOST_INSTRUCTIONS}`,
    );
  }
  return expression;
}

export function linearSearch(regex: string, isCaseSensitive: boolean): Search {
  const expression = compileLinear(regex, isCaseSensitive);
  const machine = new Machine(expression.re2().prog);
  return (text, place) => {
    if (!expression.test(text)) return;
    for (let from = 0; from <= text.length; ) {
      if (!machine.find(text, from)) return;
      if (machine.end > machine.start) place(machine.start, machine.end);
      from = machine.end > machine.start ? machine.end : nextPlace(text, machine.end);
    }
  };
}

/** Instructions that wait for the next character, most preferred first, each with where its match began. */
class Threads {
  readonly at: Int32Array;
  readonly starts: Int32Array;
  readonly #seen: Int32Array;
  #mark = 0;
  size = 0;

  constructor(instructions: number) {
    this.at = new Int32Array(instructions);
    this.starts = new Int32Array(instructions);
    this.#seen = new Int32Array(instructions);
  }

  clear(): void {
    this.size = 0;
    this.#mark += 1;
  }

  isNew(instruction: number): boolean {
    if (this.#seen[instruction] === this.#mark) return false;
    this.#seen[instruction] = this.#mark;
    return true;
  }

  push(instruction: number, start: number): void {
    this.at[this.size] = instruction;
    this.starts[this.size++] = start;
  }
}

class Machine {
  readonly #code: readonly Instruction[];
  readonly #first: number;
  #now: Threads;
  #next: Threads;
  start = 0;
  end = 0;

  constructor(program: Program) {
    this.#code = program.inst;
    this.#first = program.start;
    this.#now = new Threads(program.inst.length);
    this.#next = new Threads(program.inst.length);
  }

  find(text: string, from: number): boolean {
    let isFound = false;
    this.#now.clear();
    for (let at = from; at <= text.length; ) {
      if (!isFound) this.#follow(this.#now, this.#first, at, text, at);
      if (this.#now.size === 0 && isFound) break;
      const codePoint = at < text.length ? text.codePointAt(at)! : -1;
      const onward = at + (codePoint > 0xffff ? 2 : 1);
      this.#next.clear();
      for (let each = 0; each < this.#now.size; each++) {
        const instruction = this.#code[this.#now.at[each]!]!;
        if (instruction.op === OP.match) {
          // Those after it are less preferred.
          isFound = true;
          this.start = this.#now.starts[each]!;
          this.end = at;
          break;
        }
        if (codePoint >= 0 && isOf(instruction, codePoint)) {
          this.#follow(this.#next, instruction.out, this.#now.starts[each]!, text, onward);
        }
      }
      [this.#now, this.#next] = [this.#next, this.#now];
      at = onward;
    }
    return isFound;
  }

  /** Adds what can be reached without a character, by preference. */
  #follow(threads: Threads, first: number, start: number, text: string, at: number): void {
    const waiting = [first];
    for (let index = waiting.pop(); index !== undefined; index = waiting.pop()) {
      if (!threads.isNew(index)) continue;
      const { op, out, arg } = this.#code[index]!;
      if (op === OP.alt || op === OP.altMatch) waiting.push(arg, out);
      else if (op === OP.capture || op === OP.nop) waiting.push(out);
      else if (op === OP.empty) {
        if (holds(arg, text, at)) waiting.push(out);
      } else if (op !== OP.fail) threads.push(index, start);
    }
  }
}

function isOf(instruction: Instruction, codePoint: number): boolean {
  if (instruction.op === 10) return true;
  if (instruction.op === 11) return codePoint !== 0x0a;
  return instruction.matchRune(codePoint);
}

function holds(asked: number, text: string, at: number): boolean {
  if ((asked & BEGIN_TEXT) !== 0 && at > 0) return false;
  if ((asked & END_TEXT) !== 0 && at < text.length) return false;
  if ((asked & BEGIN_LINE) !== 0 && at > 0 && text.charCodeAt(at - 1) !== 0x0a) return false;
  if ((asked & END_LINE) !== 0 && at < text.length && text.charCodeAt(at) !== 0x0a) return false;
  if ((asked & (WORD_BOUNDARY | NO_WORD_BOUNDARY)) === 0) return true;
  const isBoundary = isWord(text.charCodeAt(at - 1)) !== isWord(text.charCodeAt(at));
  return (asked & WORD_BOUNDARY) !== 0 ? isBoundary : !isBoundary;
}

function isWord(unit: number): boolean {
  return (
    (unit >= 0x30 && unit <= 0x39) || (unit >= 0x41 && unit <= 0x5a) || (unit >= 0x61 && unit <= 0x7a) || unit === 0x5f
  );
}

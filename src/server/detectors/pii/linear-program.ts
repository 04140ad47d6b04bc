/** Instructions of an expression compiled by `@bufbuild/re2`, and their conditions on a text. */

import type { RE2JS } from "@bufbuild/re2";

export type Program = ReturnType<RE2JS["re2"]>["prog"];
export type Instruction = Program["inst"][number];

/** Operation codes of instructions (`Inst` of the library). Higher codes consume a character. */
export const OP = { alt: 1, altMatch: 2, capture: 3, empty: 4, fail: 5, match: 6, nop: 7 } as const;
/** Operation codes that match any character, and any character except a line feed. */
const ANY = 10;
const ANY_IN_LINE = 11;

/** Condition bits of an empty instruction (`Utils` of the library). */
const BEGIN_LINE = 1;
const END_LINE = 2;
const BEGIN_TEXT = 4;
const END_TEXT = 8;
const WORD_BOUNDARY = 16;
const NO_WORD_BOUNDARY = 32;

export function isCharacter({ op }: Instruction): boolean {
  return op > OP.nop;
}

/** Returns whether an instruction that consumes a character accepts it. */
export function takes(instruction: Instruction, codePoint: number): boolean {
  if (instruction.op === ANY) return true;
  if (instruction.op === ANY_IN_LINE) return codePoint !== 0x0a;
  return instruction.matchRune(codePoint);
}

/** Returns whether an instruction that consumes no character is satisfied at a place. */
export function instructionHolds({ op, arg: asked }: Instruction, text: string, at: number): boolean {
  if (op !== OP.empty) return true;
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

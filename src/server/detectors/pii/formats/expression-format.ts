/**
 * Format of the values of a regular expression: the characters allowed at each place are read from its compiled
 * program.
 */

import { compileLinear } from "../linear.ts";
import { type Instruction, instructionHolds, isCharacter, OP, type Program, takes } from "../linear-program.ts";
import type { Search } from "../match-search.ts";
import { ALPHANUMERICS, type PatternFormat, pick } from "./types.ts";

/** Maximum length of a value in characters; longer ones have no format. */
const LONGEST_VALUE = 256;

/** Characters that a sample may contain in addition to ASCII letters and digits. */
const PRINTABLE = Array.from({ length: 0x5f }, (_, at) => String.fromCharCode(0x20 + at));

interface ExpressionTerms {
  readonly regex: string;
  readonly isCaseSensitive: boolean;
  /** Search that finds the expression in running text. */
  readonly search: Search;
  /** Check of a value; omitted if there is none. */
  readonly isValid?: ((value: string) => boolean) | undefined;
}

/** Returns the format of an expression. Throws on invalid RE2 syntax. */
export function expressionFormat({ regex, isCaseSensitive, search, isValid }: ExpressionTerms): PatternFormat {
  const { prog } = compileLinear(valuePart(regex), isCaseSensitive).re2();
  const members = new Map<Instruction, string | undefined>();
  /** Returns the characters that an instruction accepts; `undefined` for a literal. */
  const membersOf = (instruction: Instruction): string | undefined => {
    if (members.has(instruction)) return members.get(instruction);
    const found = [...ALPHANUMERICS].filter((symbol) => takes(instruction, symbol.charCodeAt(0)));
    const isLiteral = new Set(found.map((symbol) => symbol.toLowerCase())).size < 2;
    members.set(instruction, isLiteral ? undefined : found.join(""));
    return members.get(instruction);
  };
  const classesOf: PatternFormat["classesOf"] = (value) =>
    pathsOf(prog, value)?.map((instructions) => {
      const all = [...instructions].map(membersOf);
      const open = all.filter((one): one is string => one !== undefined);
      if (open.length === 0) return undefined;
      return open.length === 1
        ? open[0]
        : [...ALPHANUMERICS].filter((it) => open.some((of) => of.includes(it))).join("");
    });
  return {
    classesOf,
    each: search,
    accepts: (value) => classesOf(value) !== undefined && isValid?.(value) !== false,
    proof: isValid === undefined ? "none" : "check",
    sample: (random) => sampleOf(prog, random),
  };
}

/** Returns, for each character of a text that the program matches as a whole, the instructions that may consume it. */
function pathsOf({ inst: code, start }: Program, text: string): readonly ReadonlySet<Instruction>[] | undefined {
  const characters = [...text];
  if (characters.length === 0 || characters.length > LONGEST_VALUE) return undefined;
  const places: number[] = [0];
  for (const character of characters) places.push(places.at(-1)! + character.length);
  /** Returns the instructions that consume a character, or the match, reachable from one without consuming any. */
  const reached = (from: number, at: number): ReadonlySet<number> => {
    const seen = new Set<number>();
    const ends = new Set<number>();
    const stack = [from];
    while (stack.length > 0) {
      const index = stack.pop()!;
      if (seen.has(index)) continue;
      seen.add(index);
      const instruction = code[index]!;
      if (isCharacter(instruction) || instruction.op === OP.match) ends.add(index);
      else if (instruction.op !== OP.fail && instructionHolds(instruction, text, places[at]!)) {
        stack.push(instruction.out);
        if (instruction.op === OP.alt || instruction.op === OP.altMatch) stack.push(instruction.arg);
      }
    }
    return ends;
  };
  const isMatch = (index: number): boolean => code[index]!.op === OP.match;
  const steps: Map<number, ReadonlySet<number>>[] = [];
  let now = reached(start, 0);
  for (const [at, character] of characters.entries()) {
    const codePoint = character.codePointAt(0)!;
    const step = new Map<number, ReadonlySet<number>>();
    const next = new Set<number>();
    for (const index of now) {
      const instruction = code[index]!;
      if (!isCharacter(instruction) || !takes(instruction, codePoint)) continue;
      const onward = reached(instruction.out, at + 1);
      step.set(index, onward);
      for (const one of onward) next.add(one);
    }
    steps.push(step);
    now = next;
  }
  if (![...now].some(isMatch)) return undefined;
  const paths = new Array<ReadonlySet<Instruction>>(characters.length);
  let alive: ReadonlySet<number> = new Set([...now].filter(isMatch));
  for (let at = characters.length - 1; at >= 0; at -= 1) {
    const before = new Set<number>();
    for (const [index, onward] of steps[at]!) if ([...onward].some((one) => alive.has(one))) before.add(index);
    paths[at] = new Set([...before].map((index) => code[index]!));
    alive = before;
  }
  return paths;
}

/** Returns the text of a random path through the program. */
function sampleOf({ inst: code, start }: Program, random: () => number): string | undefined {
  let text = "";
  for (let index = start; text.length <= LONGEST_VALUE; ) {
    const instruction = code[index]!;
    if (instruction.op === OP.match) return text;
    if (instruction.op === OP.fail) return undefined;
    if (isCharacter(instruction)) {
      const symbols = [...ALPHANUMERICS].filter((symbol) => takes(instruction, symbol.charCodeAt(0)));
      const choice =
        symbols.length > 0 ? symbols : PRINTABLE.filter((character) => takes(instruction, character.charCodeAt(0)));
      if (choice.length > 0) text += pick(choice, random);
      else if (instruction.runes[0] !== undefined) text += String.fromCodePoint(instruction.runes[0]);
      else return undefined;
    }
    const isFork = instruction.op === OP.alt || instruction.op === OP.altMatch;
    index = isFork && random() < 0.5 ? instruction.arg : instruction.out;
  }
  return undefined;
}

/** Returns the group `value` of an expression, which is the reported part, or the whole expression without such a group. */
function valuePart(regex: string): string {
  const opening = /\(\?P?<value>/.exec(regex);
  if (opening === null) return regex;
  const from = opening.index + opening[0].length;
  let depth = 1;
  let inClass = false;
  for (let at = from; at < regex.length; at += 1) {
    const character = regex[at];
    if (character === "\\") at += 1;
    else if (inClass) inClass = character !== "]";
    else if (character === "[") {
      inClass = true;
      if (regex[at + 1] === "^") at += 1;
      if (regex[at + 1] === "]") at += 1;
    } else if (character === "(") depth += 1;
    else if (character === ")") {
      depth -= 1;
      if (depth === 0) return regex.slice(from, at);
    }
  }
  return regex;
}

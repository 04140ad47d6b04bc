/**
 * Bounds of the length of pattern matches, for streams: derived from shapes, and from the programs of expressions.
 * Lengths are of the original text, in UTF-8 bytes, where a digit has up to four. Source: guardrails reference, 5.2.
 */

import { RE2JS } from "@bufbuild/re2";
import type { Horizon, Reach } from "../../core/guardrails/index.ts";
import { type Instruction, isCharacter, OP, type Program } from "./linear-program.ts";
import { foldOf, KEPT, MARK } from "./normalize-code-points.ts";
import { toRe2 } from "./pattern-syntax.ts";
import type { Pattern, Recognizer } from "./types.ts";

/** Maximum size of the character after a match, which shows where the match ends. */
const EDGE_BYTES = 4;

const ANY: readonly Range[] = [[0, 0x10ffff]];

type Range = readonly [first: number, last: number];

interface Extent {
  readonly ranges: readonly Range[];
  readonly maxBytes: number;
  readonly prefix: string;
}

export function horizonOf(recognizers: readonly Recognizer[]): Horizon {
  const groups = new Map<string, { names: string[]; extent: Extent }>();
  for (const { name, patterns } of recognizers) {
    for (const pattern of patterns) {
      const extent = extentOf(pattern);
      const key = `${extent.prefix} ${extent.ranges.join(" ")}`;
      const group = groups.get(key);
      if (group === undefined) groups.set(key, { names: [name], extent });
      else {
        if (!group.names.includes(name)) group.names.push(name);
        if (extent.maxBytes > group.extent.maxBytes) group.extent = extent;
      }
    }
  }
  return Object.freeze({ reaches: [...groups.values()].map(({ names, extent }) => reachOf(names, extent)) });
}

function reachOf([first = "", ...others]: readonly string[], { ranges, maxBytes, prefix }: Extent): Reach {
  return Object.freeze({
    name: others.length === 0 ? first : `${first} and ${others.length} more`,
    maxBytes,
    rightBytes: EDGE_BYTES,
    mayContain: (codePoint: number) => {
      const folded = foldOf(codePoint);
      return folded >= MARK || has(ranges, folded === KEPT ? codePoint : folded);
    },
    // There may be any number of ignored characters: `max_hold_bytes` limits what is held back.
    isIgnored: (codePoint: number) => foldOf(codePoint) >= MARK,
    prefix,
  });
}

function has(ranges: readonly Range[], codePoint: number): boolean {
  return ranges.some(([first, last]) => codePoint >= first && codePoint <= last);
}

function extentOf(pattern: Pattern): Extent {
  if (pattern.kind === "search") return extentOfExpression(pattern.containingRegex, false);
  if (pattern.kind === "text") return extentOfExpression(pattern.regex, pattern.isCaseSensitive === true);
  const letters: readonly Range[] = pattern.shapes.some((shape) => /[Lx]/.test(shape))
    ? [
        [0x41, 0x5a],
        [0x61, 0x7a],
      ]
    : [];
  const separators = pattern.shapes.some((shape) => shape.includes("-")) ? (pattern.separators ?? " -") : "";
  let maxBytes = 0;
  for (const shape of pattern.shapes) {
    let bytes = (shape.split("-").length - 1) * widthOf(0x20);
    for (const [, kind, count] of shape.matchAll(/([dLx])(\d+)/g)) bytes += Number(count) * (kind === "L" ? 3 : 4);
    maxBytes = Math.max(maxBytes, bytes);
  }
  const ofSeparators = [...separators].map((one): Range => [one.charCodeAt(0), one.charCodeAt(0)]);
  return { ranges: merged([[0x30, 0x39], ...letters, ...ofSeparators]), maxBytes, prefix: "" };
}

/** Returns the extent of an expression; infinite for an unbounded repeat. Throws on invalid syntax. */
export function extentOfExpression(regex: string, isCaseSensitive: boolean): Extent {
  const flags = RE2JS.DOTALL | RE2JS.MULTILINE | (isCaseSensitive ? 0 : RE2JS.CASE_INSENSITIVE);
  const { prog } = RE2JS.compile(toRe2(regex), flags).re2();
  const ranges: Range[] = [];
  const maxBytes = longest(prog, ranges);
  // If only a group is reported, it begins elsewhere than the whole match.
  const prefix = /\(\?P?<value>/.test(regex) ? "" : prefixOf(prog);
  return { ranges: merged(ranges), maxBytes, prefix };
}

/**
 * Returns the longest path from the start to a match, and collects the characters on paths. Searches depth first with
 * an explicit stack.
 */
function longest({ inst: code, start }: Program, ranges: Range[]): number {
  const OPEN = -1;
  const bytes = new Float64Array(code.length).fill(Number.NaN);
  const stack = [start];
  while (stack.length > 0) {
    const index = stack.at(-1)!;
    const instruction = code[index]!;
    const onward = next(instruction);
    if (Number.isNaN(bytes[index]!)) {
      bytes[index] = OPEN;
      for (const other of onward) {
        // A cycle is an unbounded repeat.
        if (bytes[other] === OPEN) return unbounded(code, ranges);
        if (Number.isNaN(bytes[other]!)) stack.push(other);
      }
      continue;
    }
    stack.pop();
    if (bytes[index] !== OPEN) continue;
    const own = isCharacter(instruction) ? rangesOf(instruction) : [];
    ranges.push(...own);
    const width = own.reduce((most, range) => Math.max(most, widest(range)), 0);
    bytes[index] = width + onward.reduce((most, other) => Math.max(most, bytes[other]!), 0);
  }
  return bytes[start]!;
}

function unbounded(code: readonly Instruction[], ranges: Range[]): number {
  ranges.length = 0;
  for (const instruction of code) if (isCharacter(instruction)) ranges.push(...rangesOf(instruction));
  return Number.POSITIVE_INFINITY;
}

function next({ op, out, arg }: Instruction): readonly number[] {
  if (op === OP.match || op === OP.fail) return [];
  return op === OP.alt || op === OP.altMatch ? [out, arg] : [out];
}

/**
 * Returns the ranges of an instruction that consumes a character. An instruction with one unit may ignore letter case
 * (`arg`).
 */
function rangesOf({ op, runes, arg }: Instruction): readonly Range[] {
  if (op >= 10) return ANY;
  if (runes.length === 1) {
    const text = String.fromCodePoint(runes[0]!);
    const cases = (arg & 1) === 1 ? [text, text.toLowerCase(), text.toUpperCase()] : [text];
    return cases.filter((one) => [...one].length === 1).map((one): Range => [one.codePointAt(0)!, one.codePointAt(0)!]);
  }
  const found: Range[] = [];
  for (let at = 0; at + 1 < runes.length; at += 2) found.push([runes[at]!, runes[at + 1]!]);
  return found;
}

/**
 * Returns the size in bytes of the widest character that a view may map into the range: digits have four, characters
 * folded to ASCII three.
 */
function widest([first, last]: Range): number {
  if (first <= 0x39 && last >= 0x30) return 4;
  return Math.max(first < 0x80 ? widthOf(first) : 0, widthOf(last));
}

function widthOf(codePoint: number): number {
  return codePoint > 0xffff ? 4 : 3;
}

/** Returns the prefix common to all matches: the single characters, in either case, on the only path from the start. */
function prefixOf({ inst: code, start }: Program): string {
  let prefix = "";
  for (let index = start; ; ) {
    const instruction = code[index]!;
    if (isCharacter(instruction)) {
      const cases = new Set(
        rangesOf(instruction).flatMap(([first, last]) => (first === last ? [lower(first)] : [`${first}`, `${last}`])),
      );
      const [only] = cases;
      if (cases.size !== 1 || only === undefined) return prefix;
      prefix += only;
    } else if (next(instruction).length !== 1) return prefix;
    index = instruction.out;
  }
}

/**
 * Converts a character to lower case, including the two letters that a view folds to ASCII, which case-insensitive
 * classes contain.
 */
function lower(codePoint: number): string {
  return codePoint === 0x17f ? "s" : String.fromCodePoint(codePoint).toLowerCase();
}

function merged(ranges: readonly Range[]): readonly Range[] {
  const found: [number, number][] = [];
  for (const [first, last] of [...ranges].sort((one, other) => one[0] - other[0])) {
    const before = found.at(-1);
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else found.push([first, last]);
  }
  return found;
}

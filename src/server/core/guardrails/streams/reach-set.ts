/**
 * Compiled reaches of all detectors in a stream, so that one walk back over a text serves every reach. Each class of characters
 * has one bit per reach, for the reaches that contain it and those whose prefix it may begin. Source: guardrails reference, 5.2
 * and 5.3.
 */
import type { Reach } from "../types.ts";
import { bytesOf, codePointBefore, foldedForm, pendingFrom } from "./horizon.ts";

export interface ReachSet {
  /** Returns the maximum number of bytes that bounded detectors hold back, limited to `maxHoldBytes`. */
  readonly horizonBytes: (maxHoldBytes: number) => number;
  /**
   * Returns the smallest `pendingFrom` of all reaches: where a match may begin whose end or required context has not arrived
   * yet.
   */
  readonly pendingFrom: (text: string) => number;
  /** Returns the name of a reach that is pending at that position; empty if there is none. */
  readonly pendingReachName: (text: string, pending: number) => string;
  /**
   * Returns the last position, at most `last`, at which the text can be cut without changing what is found after `to`: no match
   * crosses it, and matching starts again between it and `to`. Returns `undefined` if there is none.
   */
  readonly cleanCut: (text: string, last: number, to: number) => number | undefined;
}

/** Compiles reaches. The largest right context of any reach is used for all of them. */
export function compileReaches(given: readonly Reach[]): ReachSet {
  const rightBytes = given.reduce((most, reach) => Math.max(most, reach.rightBytes), 0);
  // Reaches are sorted, so that those with the shortest matches have the first bits.
  const reaches = given.map((reach) => ({ ...reach, rightBytes })).sort((one, other) => one.maxBytes - other.maxBytes);
  return new CompiledReachSet(reaches, rightBytes);
}

/** Kinds of the reaches that are still possible: none, only reaches with a prefix, or also reaches without one. */
const NONE_POSSIBLE = 0;
const PREFIXED = 1;
const PLAIN = 2;

/** Maximum number of code points above U+FFFF whose class is cached. */
const MAX_ASTRAL = 4_096;

class CompiledReachSet implements ReachSet {
  readonly #reaches: readonly Reach[];
  readonly #rightBytes: number;
  readonly #longest: Float64Array;
  /** Number of 32-bit words per set of reaches. */
  readonly #width: number;
  readonly #plain: Int32Array;
  /** Reaches that are still possible in the current walk; walks are synchronous. */
  readonly #alive: Int32Array;
  /** Class by UTF-16 unit; 0 if not known yet. */
  readonly #classOf = new Uint16Array(0x10000);
  readonly #astral = new Map<number, number>();
  readonly #classes = new Map<string, number>();
  /** True for each class whose characters count. Characters that every reach ignores do not. */
  readonly #counts: boolean[] = [true];
  /** Reaches by class, in `#width` words each: reaches that contain it, and reaches whose prefix it may begin. */
  #holds: Int32Array;
  #starts: Int32Array;

  constructor(reaches: readonly Reach[], rightBytes: number) {
    this.#reaches = reaches;
    this.#rightBytes = rightBytes;
    this.#longest = Float64Array.from(reaches, ({ maxBytes }) => maxBytes);
    this.#width = Math.max(1, Math.ceil(reaches.length / 32));
    this.#plain = this.#bits((reach) => reach.prefix === "");
    this.#alive = new Int32Array(this.#width);
    this.#holds = new Int32Array(this.#width);
    this.#starts = new Int32Array(this.#width);
  }

  horizonBytes(maxHoldBytes: number): number {
    return this.#reaches.reduce((most, it) => Math.max(most, Math.min(it.maxBytes + it.rightBytes, maxHoldBytes)), 0);
  }

  pendingReachName(text: string, pending: number): string {
    const holding = this.#pendingCandidates(text, pending);
    return this.#reaches.find((reach, at) => holding(at) && pendingFrom(text, 0, reach) === pending)?.name ?? "";
  }

  /**
   * Returns which reaches may be pending at a position, without a walk for each: a run that begins there extends at least to the
   * point after which only required context is left.
   */
  #pendingCandidates(text: string, pending: number): (reach: number) => boolean {
    let last = text.length;
    for (let beyond = 0; last > pending && beyond < this.#rightBytes; ) {
      const codePoint = codePointBefore(text, last);
      last -= codePoint > 0xffff ? 2 : 1;
      if (!this.#reaches.some(({ isIgnored }) => isIgnored?.(codePoint) === true)) beyond += bytesOf(codePoint);
    }
    this.#resetAlive();
    for (let at = last; at > pending; ) {
      const codePoint = codePointBefore(text, at);
      at -= codePoint > 0xffff ? 2 : 1;
      if (this.#keepContaining(this.#class(codePoint) * this.#width) === NONE_POSSIBLE) break;
    }
    const alive = Int32Array.from(this.#alive);
    return (at) => ((alive[at >> 5] ?? 0) & (1 << (at & 31))) !== 0;
  }

  pendingFrom(text: string): number {
    let earliest = text.length;
    let at = text.length;
    this.#resetAlive();
    // A match may end within the required context, so each character there may be the last one of a match.
    for (let beyond = 0; at > 0 && beyond < this.#rightBytes; ) {
      const codePoint = codePointBefore(text, at);
      const found = this.#class(codePoint);
      const bytes = this.#counts[found] === true ? bytesOf(codePoint) : 0;
      at -= codePoint > 0xffff ? 2 : 1;
      beyond += bytes;
      if (this.#mayBegin(text, at, found, bytes)) earliest = at;
    }
    for (let bytes = 0, expired = 0; at > 0; ) {
      const codePoint = codePointBefore(text, at);
      const found = this.#class(codePoint);
      at -= codePoint > 0xffff ? 2 : 1;
      if (this.#counts[found] === true) bytes += bytesOf(codePoint);
      for (; expired < this.#longest.length && this.#longest[expired]! < bytes; expired++) {
        this.#alive[expired >> 5]! &= ~(1 << expired);
      }
      const row = found * this.#width;
      const left = this.#keepContaining(row);
      if (left === NONE_POSSIBLE) break;
      if (left === PLAIN || this.#isAtPrefix(text, at, row)) earliest = at;
    }
    return earliest;
  }

  cleanCut(text: string, last: number, to: number): number | undefined {
    let cut: number | undefined;
    this.#resetAlive();
    for (let at = to; at > 0; ) {
      const codePoint = codePointBefore(text, at);
      at -= codePoint > 0xffff ? 2 : 1;
      const row = this.#class(codePoint) * this.#width;
      const left = this.#keepContaining(row);
      if (cut === undefined) {
        // The runs of all reaches without a prefix ended between here and `to`.
        if (left !== PLAIN && at <= last) cut = at;
      } else if (left === NONE_POSSIBLE) break;
      // Text that begins with a prefix is kept completely.
      else if (this.#isAtPrefix(text, at, row)) cut = at;
    }
    return cut === 0 ? undefined : cut;
  }

  /** Removes reaches that do not contain a character, and returns the kind of the remaining reaches. */
  #keepContaining(row: number): typeof NONE_POSSIBLE | typeof PREFIXED | typeof PLAIN {
    const alive = this.#alive;
    let left = 0;
    let plain = 0;
    for (let word = 0; word < this.#width; word++) {
      const bits = alive[word]! & this.#holds[row + word]!;
      alive[word] = bits;
      left |= bits;
      plain |= bits & this.#plain[word]!;
    }
    return plain !== 0 ? PLAIN : left !== 0 ? PREFIXED : NONE_POSSIBLE;
  }

  #resetAlive(): void {
    this.#alive.fill(-1);
  }

  /** Returns whether this character alone may begin a match of any reach. */
  #mayBegin(text: string, at: number, found: number, bytes: number): boolean {
    const row = found * this.#width;
    for (let word = 0; word < this.#width; word++) {
      for (let left = this.#holds[row + word]! & this.#plain[word]!; left !== 0; left &= left - 1) {
        if (this.#longest[word * 32 + lowest(left)]! >= bytes) return true;
      }
    }
    return this.#isAtPrefix(text, at, row);
  }

  /** Returns whether the prefix of a possible reach is at a position, or begins there at the text's end. */
  #isAtPrefix(text: string, at: number, row: number): boolean {
    for (let word = 0; word < this.#width; word++) {
      for (let left = this.#alive[word]! & this.#starts[row + word]!; left !== 0; left &= left - 1) {
        if (isPrefixAt(text, at, this.#reaches[word * 32 + lowest(left)]!.prefix)) return true;
      }
    }
    return false;
  }

  #class(codePoint: number): number {
    if (codePoint > 0xffff) return this.#astral.get(codePoint) ?? this.#classify(codePoint);
    const known = this.#classOf[codePoint]!;
    return known === 0 ? this.#classify(codePoint) : known;
  }

  #classify(codePoint: number): number {
    const form = foldedForm(codePoint);
    const holds = this.#bits((reach) => reach.mayContain(codePoint));
    const starts = this.#bits(({ prefix }) => prefix !== "" && prefixOffset(form, prefix) >= 0);
    const counts = this.#reaches.some(({ isIgnored }) => isIgnored?.(codePoint) !== true);
    const key = `${counts};${holds.join()};${starts.join()}`;
    const known = this.#classes.get(key) ?? this.#addClass(key, holds, starts);
    this.#counts[known] = counts;
    if (codePoint <= 0xffff) this.#classOf[codePoint] = known;
    else {
      if (this.#astral.size >= MAX_ASTRAL) this.#astral.clear();
      this.#astral.set(codePoint, known);
    }
    return known;
  }

  #addClass(key: string, holds: Int32Array, starts: Int32Array): number {
    const added = this.#classes.size + 1;
    this.#classes.set(key, added);
    this.#holds = Int32Array.of(...this.#holds, ...holds);
    this.#starts = Int32Array.of(...this.#starts, ...starts);
    return added;
  }

  #bits(has: (reach: Reach) => boolean): Int32Array {
    const bits = new Int32Array(this.#width);
    this.#reaches.forEach((reach, at) => {
      if (has(reach)) bits[at >> 5]! |= 1 << at;
    });
    return bits;
  }
}

const lowest = (bits: number): number => 31 - Math.clz32(bits & -bits);

/** Returns whether a normalized prefix is at a position, or begins there at the text's end. */
function isPrefixAt(text: string, from: number, prefix: string): boolean {
  const first = text.codePointAt(from) ?? 0;
  let at = from;
  let matched = 0;
  if (first >= 0x80) {
    const form = foldedForm(first);
    matched = form.length - prefixOffset(form, prefix);
    at += first > 0xffff ? 2 : 1;
  }
  while (matched < prefix.length && at < text.length) {
    const codePoint = text.codePointAt(at) ?? 0;
    at += codePoint > 0xffff ? 2 : 1;
    if (codePoint < 0x80) {
      const lower = codePoint >= 0x41 && codePoint <= 0x5a ? codePoint | 0x20 : codePoint;
      if (prefix.charCodeAt(matched) !== lower) return false;
      matched++;
    } else {
      const form = foldedForm(codePoint);
      const rest = prefix.slice(matched);
      if (!isEitherPrefix(form, rest)) return false;
      matched += form.length;
    }
  }
  return true;
}

/** Returns the offset in a normalized character at which a prefix may begin; -1 if there is none. */
function prefixOffset(form: string, prefix: string): number {
  for (let at = 0; at < form.length; at++) if (isEitherPrefix(form.slice(at), prefix)) return at;
  return -1;
}

const isEitherPrefix = (one: string, other: string): boolean => one.startsWith(other) || other.startsWith(one);

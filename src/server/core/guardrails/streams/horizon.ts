/**
 * From where on a text that goes on may still become a match, and where a text can be cut without another one being found
 * behind the cut. Source: guardrails reference, 5.2 and 5.3.
 */
import type { Reach } from "../types.ts";

/** Characters that are looked at behind a cut for an end of what stands at it. */
const NEAR = 256;

/**
 * The smallest place at or after `from` at which a match may begin whose end, or what must follow it, is not there yet; the
 * text's length where there is none.
 */
export function pendingFrom(text: string, from: number, { maxBytes, rightBytes, holds, prefix }: Reach): number {
  const { length } = text;
  let earliest = length;
  // What a match ends with may lie before the last bytes, which are then those that must follow it.
  for (let end = length, beyond = 0; ; ) {
    const start = runStart(text, from, end, maxBytes, holds);
    if (start < end) earliest = Math.min(earliest, begun(text, start, length, prefix));
    // A run that reaches back over the next places holds them all.
    if (end <= from || beyond >= rightBytes) return earliest;
    const before = end - widthBefore(text, end);
    beyond += bytesAt(text, before);
    end = before;
  }
}

/** Whether all that a reach finds behind the cut is found alike when the text begins there. `to`: nothing behind it counts yet. */
export function isCleanCut(text: string, at: number, to: number, reach: Reach): boolean {
  const { maxBytes, holds, prefix } = reach;
  if (at >= text.length || !holds(text.codePointAt(at) ?? 0)) return true;
  const start = runStart(text, 0, at, maxBytes, holds);
  if (start < at && prefix !== "") return begun(text, start, at, prefix) >= at;
  return start === at && endsWithin(text, at, Math.min(to, at + NEAR), holds);
}

/** A place within a surrogate pair is moved before it. */
export function boundary(text: string, at: number): number {
  return at > 0 && at < text.length && isLow(text.charCodeAt(at)) && isHigh(text.charCodeAt(at - 1)) ? at - 1 : at;
}

/** The place that is at most `bytes` before the end. */
export function tailStart(text: string, bytes: number): number {
  let at = text.length;
  for (let left = bytes; at > 0; ) {
    const before = at - widthBefore(text, at);
    left -= bytesAt(text, before);
    if (left < 0) break;
    at = before;
  }
  return at;
}

export const isHigh = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00;
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000;

function endsWithin(text: string, from: number, to: number, holds: Reach["holds"]): boolean {
  for (let at = from; at < to; ) {
    const codePoint = text.codePointAt(at) ?? 0;
    if (!holds(codePoint)) return true;
    at += codePoint > 0xffff ? 2 : 1;
  }
  return false;
}

/** Where the run of characters that ends at `end` begins, as far back as a match can be long. */
function runStart(text: string, from: number, end: number, maxBytes: number, holds: Reach["holds"]): number {
  let at = end;
  for (let left = maxBytes; at > from; ) {
    const before = at - widthBefore(text, at);
    left -= bytesAt(text, before);
    if (left < 0 || before < from || !holds(text.codePointAt(before) ?? 0)) break;
    at = before;
  }
  return at;
}

/** The first place from `start` on at which the prefix stands, or the text's end where it may still come to stand; else `end`. */
function begun(text: string, start: number, end: number, prefix: string): number {
  if (prefix === "") return start;
  const { folded, places } = fold(text, start, Math.min(text.length, end + prefix.length));
  const at = folded.indexOf(prefix);
  if (at >= 0) return Math.min(end, places[at] ?? start + at);
  for (let length = Math.min(prefix.length - 1, folded.length); length > 0; length--) {
    if (!folded.endsWith(prefix.slice(0, length))) continue;
    const place = folded.length - length;
    return Math.min(end, places[place] ?? start + place);
  }
  return end;
}

const NO_PLACES: readonly number[] = [];
const BEYOND_ASCII = /[^\0-\x7f]/;
const IGNORABLE = /[\p{Cf}\p{Mn}\u115f\u1160\u3164\uffa0]/u;

/** As prefixes are written: wide and accented forms are as plain ones, what cannot be seen is not there. */
function fold(text: string, start: number, end: number): { folded: string; places: readonly number[] } {
  const part = text.slice(start, end);
  if (!BEYOND_ASCII.test(part)) return { folded: part.toLowerCase(), places: NO_PLACES };
  let folded = "";
  const places: number[] = [];
  let at = start;
  for (const character of part) {
    const plain = IGNORABLE.test(character) ? "" : character.normalize("NFKC").toLowerCase();
    for (let i = 0; i < plain.length; i++) places.push(at);
    folded += plain;
    at += character.length;
  }
  return { folded, places };
}

function widthBefore(text: string, at: number): number {
  return at > 1 && isLow(text.charCodeAt(at - 1)) && isHigh(text.charCodeAt(at - 2)) ? 2 : 1;
}

function bytesAt(text: string, at: number): number {
  const codePoint = text.codePointAt(at) ?? 0;
  return codePoint < 0x80 ? 1 : codePoint < 0x800 ? 2 : codePoint < 0x10000 ? 3 : 4;
}

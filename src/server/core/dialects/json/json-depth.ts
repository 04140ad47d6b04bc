/**
 * Finds top-level members by native search, and walks the text only from a match to the nearer end.
 *
 * A request's numbers come before or after its messages, and the messages are the long part: a scan of every member would cost
 * ten times as much. The text must be one that `scanObject` found valid; for other text the result is meaningless, but the
 * function returns. Offsets are in bytes.
 */
import { scanObject, skipSpace, stringEnd } from "./json-scan.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const OPEN_ARRAY = 0x5b;
const CLOSE_OBJECT = 0x7d;
const CLOSE_ARRAY = 0x5d;

/** Maximum number of places. No request has more, including the schemas of its tools; beyond it every member is scanned. */
const MAX_MATCHES = 1_000;

/**
 * Members that are searched for together. `ending` is the common end of their names, closing quote included: it is the text
 * that is searched, and the search is faster the rarer its first byte is in prose. Names are ASCII; a name that is written with
 * escapes is not found.
 */
export interface MemberSearch {
  readonly names: readonly string[];
  readonly ending: string;
}

/** Returns the offsets of the values of these members, where they are at the top level. */
export function topLevelValues(bytes: Buffer, wanted: MemberSearch): readonly number[] {
  const nameOffsets = findNames(bytes, wanted);
  if (nameOffsets.length === MAX_MATCHES) return valuesByScan(bytes, wanted);
  const middle = bytes.length / 2;
  const found: number[] = [];
  let depth = 0;
  let from = 0;
  for (const place of nameOffsets) {
    if (place >= middle) break;
    depth += netDepth(bytes, from, place);
    from = place;
    if (depth === 1) found.push(place);
  }
  depth = 0;
  let to = bytes.length;
  for (const place of nameOffsets.reverse()) {
    if (place < middle) break;
    // No bracket is open at the end of the text, so the brackets that close unmatched after this place are open at it.
    depth -= netDepth(bytes, place, to);
    to = place;
    if (depth === 1) found.push(place);
  }
  return found.map((place) => skipSpace(bytes, skipSpace(bytes, endOfString(bytes, place)) + 1));
}

/** Returns the number of values in the array that opens at `start` and is not empty. */
export function countValues(bytes: Buffer, start: number): number {
  let values = 1;
  let depth = 0;
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(bytes, at) - 1;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth++;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth--;
    else if (byte === COMMA && depth === 1) values++;
    if (depth === 0) break;
  }
  return values;
}

/**
 * Returns the offsets of the names' opening quotes. Matches within strings are excluded: there the quotes are escaped, and a
 * string value has no colon after it.
 */
function findNames(bytes: Buffer, { names, ending }: MemberSearch): number[] {
  const nameOffsets: number[] = [];
  for (let at = bytes.indexOf(ending); at >= 0; at = bytes.indexOf(ending, at + ending.length)) {
    const end = at + ending.length;
    if (bytes[skipSpace(bytes, end)] !== COLON) continue;
    const start = bytes.lastIndexOf(QUOTE, end - 2);
    // The quote is escaped, so the match is only the end of a longer name.
    if (bytes[start - 1] === BACKSLASH) continue;
    if (names.includes(bytes.toString("latin1", start + 1, end - 1)) && nameOffsets.push(start) === MAX_MATCHES) break;
  }
  return nameOffsets;
}

function valuesByScan(bytes: Buffer, { names }: MemberSearch): readonly number[] {
  const scan = scanObject(bytes, names);
  return scan.kind === "problem"
    ? []
    : scan.members.flatMap((member) => (member === undefined ? [] : [member.valueStart]));
}

/** Returns the number of opening minus closing brackets between two offsets, neither of which is within a string. */
function netDepth(bytes: Buffer, from: number, to: number): number {
  let net = 0;
  for (let at = from; at < to; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(bytes, at) - 1;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) net++;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) net--;
  }
  return net;
}

/** Returns the end of the string, or the end of the text if it is cut off. */
function endOfString(bytes: Buffer, start: number): number {
  const end = stringEnd(bytes, start);
  return end < 0 ? bytes.length : end;
}

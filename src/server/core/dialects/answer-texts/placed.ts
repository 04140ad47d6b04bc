/**
 * JSON text as a tree of places, so that single strings in it can be exchanged and every other character stays. A name
 * that stands twice in an object has two members here: readers differ in which of them they take.
 */
import { MAX_DEPTH } from "../json-scan.ts";
import { nameIn, scalarEnd, skipComma, skipSpace, stringEnd } from "../json-source.ts";
import { parsedJson } from "../values.ts";

/** `start`, `end`: UTF-16 units of the text, end exclusive. A string's include its quotes. */
export type Placed =
  | { readonly kind: "string" | "scalar"; readonly start: number; readonly end: number }
  | { readonly kind: "object"; readonly start: number; readonly end: number; readonly members: readonly PlacedMember[] }
  | { readonly kind: "array"; readonly start: number; readonly end: number; readonly items: readonly Placed[] };

export interface PlacedMember {
  readonly name: string;
  readonly value: Placed;
}

export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

class TooMuch extends Error {}

/** `left`: how many values may still be placed. */
interface Bound {
  left: number;
}

/** Undefined: no JSON, nested deeper than any message is, or of more values than `maxValues`. */
export function placedIn(text: string, maxValues = Number.POSITIVE_INFINITY): Placed | undefined {
  if (parsedJson(text) === undefined) return undefined;
  try {
    return valueAt(text, skipSpace(text, 0), 0, { left: maxValues });
  } catch (error) {
    if (error instanceof TooMuch) return undefined;
    throw error;
  }
}

function valueAt(text: string, start: number, depth: number, bound: Bound): Placed {
  if (--bound.left < 0) throw new TooMuch();
  const first = text.charAt(start);
  if (first === '"') return { kind: "string", start, end: stringEnd(text, start) };
  if (first !== "{" && first !== "[") return { kind: "scalar", start, end: scalarEnd(text, start) };
  if (depth >= MAX_DEPTH) throw new TooMuch();
  let at = skipSpace(text, start + 1);
  if (first === "[") {
    const items: Placed[] = [];
    while (text.charAt(at) !== "]") {
      const item = valueAt(text, at, depth + 1, bound);
      items.push(item);
      at = skipComma(text, item.end);
    }
    return { kind: "array", start, end: at + 1, items };
  }
  const members: PlacedMember[] = [];
  while (text.charAt(at) !== "}") {
    const nameEnd = stringEnd(text, at);
    const name = nameIn(text, at, nameEnd);
    // Past the colon.
    const value = valueAt(text, skipSpace(text, skipSpace(text, nameEnd) + 1), depth + 1, bound);
    members.push({ name, value });
    at = skipComma(text, value.end);
  }
  return { kind: "object", start, end: at + 1, members };
}

/** Objects of more members are looked at with a set. */
const FEW = 12;

/** Whether some object within has two members of one name. */
export function hasTwins(node: Placed): boolean {
  if (node.kind === "array") return node.items.some(hasTwins);
  if (node.kind !== "object") return false;
  const { members } = node;
  if (members.length > FEW) {
    if (new Set(members.map(({ name }) => name)).size < members.length) return true;
  } else {
    for (let at = 1; at < members.length; at++)
      for (let before = 0; before < at; before++) if (members[at]?.name === members[before]?.name) return true;
  }
  return members.some(({ value }) => hasTwins(value));
}

/** The last member of that name, as `JSON.parse` takes it. */
export function memberOf(node: Placed | undefined, name: string): Placed | undefined {
  if (node?.kind !== "object") return undefined;
  const { members } = node;
  for (let at = members.length - 1; at >= 0; at--) if (members[at]?.name === name) return members[at]?.value;
  return undefined;
}

/** Of a string; undefined for everything else. */
export function stringIn(text: string, node: Placed | undefined): string | undefined {
  return node?.kind === "string" ? nameIn(text, node.start, node.end) : undefined;
}

/** Of a whole number from 0; undefined for everything else. */
export function indexIn(text: string, node: Placed | undefined): number | undefined {
  if (node?.kind !== "scalar") return undefined;
  const written = text.slice(node.start, node.end);
  return /^\d{1,12}$/.test(written) ? Number(written) : undefined;
}

/** `null`, or not there. */
export function isNothing(text: string, node: Placed | undefined): boolean {
  return node === undefined || (node.kind === "scalar" && text.startsWith("null", node.start));
}

/** The text itself where nothing is spliced. Splices lie apart. */
export function spliced(text: string, splices: readonly Splice[]): string {
  let made = "";
  let at = 0;
  for (const splice of splices.toSorted((one, other) => one.start - other.start)) {
    made += text.slice(at, splice.start) + splice.text;
    at = splice.end;
  }
  return at === 0 ? text : made + text.slice(at);
}

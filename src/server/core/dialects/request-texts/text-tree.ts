/**
 * Parses valid JSON text to a tree of positions. Unlike parsed values, it keeps every member of a repeated name, and the
 * position of each string. The caller that validated the text has bounded its depth.
 */
import { decodeString, scalarEnd, skipComma, skipSpace, stringEnd } from "../json/json-source.ts";
import { Unreadable } from "./types.ts";

/** Text that contains other texts: a body, or JSON within one of its strings. */
export interface Source {
  readonly text: string;
  /** Spot of the string that contains it; `undefined` for the body. */
  readonly spot: Spot | undefined;
}

/** Part of a source's text that a new text replaces. Offsets are UTF-16 units. */
export interface Spot {
  readonly source: Source;
  readonly start: number;
  readonly end: number;
  /** Encodes the new text for this place, for example as a JSON string. */
  write(text: string): string;
}

export type Node = StringNode | ListNode | ObjectNode | ScalarNode;

export interface StringNode {
  readonly kind: "string";
  readonly source: Source;
  readonly start: number;
  readonly end: number;
}

interface ListNode {
  readonly kind: "list";
  readonly items: readonly Node[];
}

export interface ObjectNode {
  readonly kind: "object";
  /** Members with decoded names. A name may occur more than once. */
  readonly members: readonly TreeMember[];
}

interface TreeMember {
  readonly name: string;
  readonly value: Node;
  /** Whether another member of that name follows, which most readers use instead. */
  isShadowed: boolean;
}

interface ScalarNode {
  readonly kind: "scalar";
}

/** Maximum number of strings, lists and objects of one text; each takes about 100 bytes. */
const MAX_NODES = 200_000;

const SCALAR: ScalarNode = { kind: "scalar" };

export function treeOf(source: Source): Node {
  const { text } = source;
  let at = skipSpace(text, 0);
  let nodes = 0;

  function value(): Node {
    const first = text.charAt(at);
    const start = at;
    if (first !== '"' && first !== "{" && first !== "[") {
      at = scalarEnd(text, at);
      return SCALAR;
    }
    if (++nodes > MAX_NODES)
      throw new Unreadable(`the body has more than ${MAX_NODES} strings, lists and objects: send it in parts`);
    if (first === "{") return object();
    if (first === "[") return list();
    at = stringEnd(text, at);
    return { kind: "string", source, start, end: at };
  }

  function list(): ListNode {
    const items: Node[] = [];
    at = skipSpace(text, at + 1);
    while (text.charAt(at) !== "]") {
      items.push(value());
      at = skipComma(text, at);
    }
    at += 1;
    return { kind: "list", items };
  }

  function object(): ObjectNode {
    const members: TreeMember[] = [];
    at = skipSpace(text, at + 1);
    while (text.charAt(at) !== "}") {
      const start = at;
      const end = stringEnd(text, at);
      // Move past the colon.
      at = skipSpace(text, skipSpace(text, end) + 1);
      members.push({ name: decodeString(text, start, end), value: value(), isShadowed: false });
      at = skipComma(text, at);
    }
    at += 1;
    markShadowed(members);
    return { kind: "object", members };
  }

  return value();
}

/** Maximum number of members that are compared directly; larger objects use a map. */
const FEW = 12;

function markShadowed(members: readonly TreeMember[]): void {
  if (members.length > FEW) {
    const last = new Map<string, TreeMember>();
    for (const member of members) {
      const before = last.get(member.name);
      if (before !== undefined) before.isShadowed = true;
      last.set(member.name, member);
    }
    return;
  }
  for (let at = 1; at < members.length; at++)
    for (let before = 0; before < at; before++) {
      const earlier = members[before] as TreeMember;
      if (earlier.name === members[at]?.name) earlier.isShadowed = true;
    }
}

/** Returns the decoded text. Raw control characters within strings are accepted, as lenient readers do. */
export function stringIn({ source, start, end }: StringNode): string {
  const inner = source.text.slice(start + 1, end - 1);
  if (!inner.includes("\\")) return inner;
  try {
    return JSON.parse(`"${escapedControls(inner)}"`) as string;
  } catch {
    throw new Unreadable("a string of the body has an invalid escape");
  }
}

export const spotOf = ({ source, start, end }: StringNode): Spot => ({ source, start, end, write: JSON.stringify });

/** Returns the only string with this name. Throws `Unreadable` if there are two, since readers differ in which they use. */
export function uniqueString({ members }: ObjectNode, name: string): string | undefined {
  let found: string | undefined;
  for (const member of members) {
    if (member.name !== name || member.value.kind !== "string") continue;
    const text = stringIn(member.value);
    if (found !== undefined && found !== text) throw new Unreadable(`the body names "${name}" twice in one object`);
    found = text;
  }
  return found;
}

const FIRST_PRINTABLE = 0x20;

function escapedControls(text: string): string {
  return text.replace(/\p{Cc}/gu, (control) => {
    const code = control.charCodeAt(0);
    return code < FIRST_PRINTABLE ? `\\u${code.toString(16).padStart(4, "0")}` : control;
  });
}

/** Collects the texts of a body with their places, and writes the body again with other texts. */
import { tryParseJson } from "../json/json-values.ts";
import { type Channel, type JoinedText, joinedTexts } from "./join-texts.ts";
import { type Node, type Source, type Spot, type StringNode, spotOf, stringIn, treeOf } from "./text-tree.ts";
import { type MessageText, type TextKind, Unreadable } from "./types.ts";

/** Properties that a text gets from its position. */
export interface Context {
  readonly kind: TextKind;
  readonly turn: number;
  /** Channel of texts that it is joined with; `undefined` if none. */
  readonly channel?: Channel | undefined;
}

/**
 * Maximum number of texts. Each costs a segment and its scan in one turn of the event loop; the largest client requests have a
 * few thousand.
 */
const MAX_TEXTS = 20_000;

export class Collector {
  readonly texts: MessageText[] = [];
  readonly uninspected: string[] = [];
  /** Position of each text in its source; `undefined` if the text is read-only. */
  readonly #spots: (Spot | undefined)[] = [];
  /** Channel of each text; `undefined` if the text is joined with none. */
  readonly #channels: (Channel | undefined)[] = [];

  add(text: string, spot: Spot | undefined, { kind, turn, channel }: Context): void {
    if (text === "") return;
    if (this.texts.length === MAX_TEXTS)
      throw new Unreadable(`the body has more than ${MAX_TEXTS} texts: send it in parts`);
    this.texts.push({ kind, text, turn, isReadOnly: spot === undefined });
    this.#spots.push(spot);
    this.#channels.push(channel);
  }

  /** Returns the joined texts around seams, which are inspected in addition. */
  joined(): readonly JoinedText[] {
    return joinedTexts(this.texts, this.#channels);
  }

  addString(node: StringNode, context: Context): void {
    this.add(stringIn(node), spotOf(node), context);
  }

  /** Adds every string value, whatever its name. */
  addAll(node: Node, context: Context): void {
    if (node.kind === "string") this.addString(node, context);
    else if (node.kind === "list") for (const item of node.items) this.addAll(item, context);
    else if (node.kind === "object") for (const { value } of node.members) this.addAll(value, context);
  }

  /** Adds the arguments of a call: for JSON in a string each string value within it, for another string its text. */
  addArguments(node: Node, context: Context): void {
    if (node.kind === "object") for (const { value } of node.members) this.addAll(value, context);
    else if (node.kind === "list") for (const item of node.items) this.addArguments(item, context);
    if (node.kind !== "string") return;
    const inner = nestedTree(stringIn(node), spotOf(node));
    if (inner === undefined) this.addString(node, context);
    else this.addAll(inner, context);
  }

  /** Returns the text of the body with these changes. `body` is the source of the first level. */
  rewrite(body: Source, changes: readonly (string | undefined)[]): string | undefined {
    const edits = new Map<Source, Edit[]>();
    const addEdit = ({ source, start, end, write }: Spot, text: string): void => {
      const edit = { start, end, text: write(text) };
      const known = edits.get(source);
      if (known === undefined) edits.set(source, [edit]);
      else known.push(edit);
    };
    for (const [at, { text }] of this.texts.entries()) {
      const change = changes[at];
      const spot = this.#spots[at];
      if (change !== undefined && change !== text && spot !== undefined) addEdit(spot, change);
    }
    // Sources are nested at most one level deep. The loop visits entries that are added meanwhile last, so an outer
    // source comes after its nested ones.
    for (const [source, made] of edits) {
      if (source.spot !== undefined) addEdit(source.spot, applyEdits(source.text, made));
    }
    const made = edits.get(body);
    return made === undefined ? undefined : applyEdits(body.text, made);
  }
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Maximum depth of nested JSON, as for bodies. Deeper JSON is a plain text. */
const MAX_NESTING = 512;

/**
 * Returns the tree of JSON that is written within another text, or `undefined` if it is not an object or array, or is nested
 * too deep.
 */
export function nestedTree(text: string, spot: Spot): Node | undefined {
  if (!/^\s*[[{]/.test(text) || tryParseJson(text) === undefined || isTooDeep(text)) return undefined;
  return treeOf({ text, spot });
}

function isTooDeep(text: string): boolean {
  let depth = 0;
  let isString = false;
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (isString && character === BACKSLASH) at++;
    else if (character === QUOTE) isString = !isString;
    else if (isString) continue;
    else if (character === OPEN_OBJECT || character === OPEN_ARRAY) {
      if (++depth > MAX_NESTING) return true;
    } else if (character === CLOSE_OBJECT || character === CLOSE_ARRAY) depth--;
  }
  return false;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const OPEN_ARRAY = 0x5b;
const CLOSE_OBJECT = 0x7d;
const CLOSE_ARRAY = 0x5d;

function applyEdits(text: string, edits: readonly Edit[]): string {
  const pieces: string[] = [];
  let at = 0;
  for (const edit of [...edits].sort((a, b) => a.start - b.start)) {
    pieces.push(text.slice(at, edit.start), edit.text);
    at = edit.end;
  }
  pieces.push(text.slice(at));
  return pieces.join("");
}

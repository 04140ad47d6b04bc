/**
 * Searches for literals as whole words. If several begin at one place, the first in the list wins; matches do not
 * overlap.
 */

import { viewsOf } from "../text-view.ts";
import type { SearchPattern } from "../types.ts";

interface Node {
  readonly next: Map<string, Node>;
  /** Index of the first literal that ends at this node. */
  entry: number | undefined;
}

const WORD = /[\p{L}\p{M}\p{N}_]/u;

/** Maximum length of a literal in UTF-16 units, which limits the time for each character of a text. */
export const LONGEST_LITERAL = 256;

export function denyList(literals: readonly string[], isCaseSensitive: boolean, score: number): SearchPattern {
  const fold = (text: string): string => (isCaseSensitive ? text : lower(text));
  const root: Node = { next: new Map(), entry: undefined };
  let longest = 1;
  for (const [entry, literal] of literals.entries()) {
    const folded = fold(viewsOf(literal)[0].text);
    longest = Math.max(longest, folded.length);
    let node = root;
    for (let at = 0; at < folded.length; at++) node = step(node, folded[at]!);
    node.entry ??= entry;
  }
  return {
    kind: "search",
    name: "deny list",
    score,
    keywords: [],
    containingRegex: `.{1,${Math.min(longest, 1000)}}`,
    search: (text, found) => {
      const folded = fold(text);
      for (let at = 0; at < folded.length; ) {
        const match = root.next.has(folded[at]!) ? firstListed(root, folded, at) : undefined;
        if (match === undefined) {
          at += 1;
          continue;
        }
        found(at, match.end, undefined, `entry ${match.entry + 1}`);
        at = match.end;
      }
    },
  };
}

function step(node: Node, unit: string): Node {
  const known = node.next.get(unit);
  if (known !== undefined) return known;
  const made: Node = { next: new Map(), entry: undefined };
  node.next.set(unit, made);
  return made;
}

function firstListed(root: Node, text: string, start: number): { entry: number; end: number } | undefined {
  if (isJoined(text, start)) return undefined;
  let best: { entry: number; end: number } | undefined;
  let node: Node | undefined = root;
  for (let at = start; at < text.length; at++) {
    node = node.next.get(text[at]!);
    if (node === undefined) break;
    const { entry } = node;
    if (entry === undefined || (best !== undefined && best.entry < entry) || isJoined(text, at + 1)) continue;
    best = { entry, end: at + 1 };
  }
  return best;
}

/** Returns whether there are word characters on both sides of a place. */
function isJoined(text: string, at: number): boolean {
  return at > 0 && at < text.length && isWord(text, at - 1) && isWord(text, at);
}

function isWord(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  if ((unit & 0xfc00) === 0xdc00) return WORD.test(text.slice(at - 1, at + 1));
  return WORD.test(String.fromCodePoint(text.codePointAt(at)!));
}

/** Converts a text to lower case without changing its length, so that places match the original. */
function lower(text: string): string {
  const folded = text.toLowerCase();
  if (folded.length === text.length) return folded;
  return Array.from(text, (character) => {
    const one = character.toLowerCase();
    return one.length === character.length ? one : character;
  }).join("");
}

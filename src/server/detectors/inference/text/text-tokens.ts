/**
 * Tokens of a text for a model: ids, positions in the text, and beginnings of words. Positions are UTF-16 units of the original
 * text. Source: guardrails reference, 3.1; dependencies reference, 5.
 */

import type { TokenizedView } from "./marks.ts";

/** Used part of the package `tokenizers`. Offsets are code points of the encoded text. */
export interface Encoder {
  encode(
    text: string,
    pair: null,
    options: { readonly addSpecialTokens: boolean },
  ): Promise<{
    getIds(): readonly number[];
    getTypeIds(): readonly number[];
    getSpecialTokensMask(): readonly number[];
    getOffsets(): readonly (readonly number[])[];
  }>;
  idToToken(id: number): string | null;
}

/** Properties of a tokenizer that determine which tokens form a word. */
export interface WordRule {
  /** Prefix `##` for WordPiece; empty if tokens do not mark that they continue a word. */
  readonly continuingPrefix: string;
  /** Id of the unknown token, which is a word by itself; -1 for none. */
  readonly unknownId: number;
}

export interface Tokens {
  readonly length: number;
  readonly ids: Int32Array;
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  /** 1 for each token that begins a word, otherwise 0. */
  readonly begins: Uint8Array;
  /** Length in UTF-16 units of the original text. */
  readonly textLength: number;
}

/**
 * Number of UTF-16 units that are encoded at once. It limits the arrays of one call, and the time for white space,
 * which is quadratic with byte-level tokenizers (8 K take seconds).
 */
const PIECE_LENGTH = 2_048;

const SPACE = /\s/;
const SPACES_ONLY = /^\s*$/;
const PUNCTUATION = /[\p{P}\p{S}]/u;

export async function tokensOf(
  view: TokenizedView,
  originalLength: number,
  encoder: Encoder,
  rule: WordRule,
  signal?: AbortSignal,
): Promise<Tokens> {
  const pieces: Piece[] = [];
  for (const [from, to] of piecesOf(view.text)) {
    signal?.throwIfAborted();
    pieces.push(await encodePiece(view.text, from, to, encoder));
  }
  const length = pieces.reduce((sum, { ids }) => sum + ids.length, 0);
  const ids = new Int32Array(length);
  const starts = new Int32Array(length);
  const ends = new Int32Array(length);
  let at = 0;
  for (const piece of pieces) {
    ids.set(piece.ids, at);
    starts.set(piece.starts, at);
    ends.set(piece.ends, at);
    at += piece.ids.length;
  }
  const begins = wordBeginnings(view.text, { ids, starts }, encoder, rule);
  for (let token = 0; token < length; token++) {
    const isEmpty = starts[token] === ends[token];
    starts[token] = view.startOf(starts[token] as number);
    ends[token] = isEmpty ? (starts[token] as number) : view.endOf(ends[token] as number);
  }
  return { length, ids, starts, ends, begins, textLength: originalLength };
}

/** Splits long texts before white space, which tokenizers treat as the beginning of the following word. */
function* piecesOf(text: string): Generator<readonly [from: number, to: number]> {
  for (let from = 0; from < text.length; ) {
    let to = from + PIECE_LENGTH;
    if (to >= text.length) to = text.length;
    else {
      let cut = to;
      while (cut > from + 1 && !(SPACE.test(text[cut] as string) && !SPACE.test(text[cut - 1] as string))) cut -= 1;
      // Without white space, the text is split between two characters.
      if (cut > from + 1) to = cut;
      else if (isLowSurrogate(text.charCodeAt(to))) to -= 1;
    }
    yield [from, to];
    from = to;
  }
}

const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;

interface Piece {
  readonly ids: readonly number[];
  readonly starts: Int32Array;
  readonly ends: Int32Array;
}

async function encodePiece(text: string, from: number, to: number, encoder: Encoder): Promise<Piece> {
  const piece = from === 0 && to === text.length ? text : text.slice(from, to);
  const encoding = await encoder.encode(piece, null, { addSpecialTokens: false });
  const ids = encoding.getIds();
  const offsets = encoding.getOffsets();
  const places = placesOfCodePoints(piece);
  const starts = new Int32Array(ids.length);
  const ends = new Int32Array(ids.length);
  offsets.forEach(([start = 0, end = 0], token) => {
    starts[token] = from + (places === undefined ? start : (places[start] ?? piece.length));
    ends[token] = from + (places === undefined ? end : (places[end] ?? piece.length));
  });
  return { ids, starts, ends };
}

/** Returns the UTF-16 place of each code point, and of the end; `undefined` if they are the same. */
export function placesOfCodePoints(text: string): Int32Array | undefined {
  if (!/[\ud800-\udbff]/.test(text)) return undefined;
  const places = new Int32Array(text.length + 1);
  let count = 0;
  for (let at = 0; at < text.length; count++) {
    places[count] = at;
    at += (text.codePointAt(at) as number) > 0xffff ? 2 : 1;
  }
  places[count] = text.length;
  return places.subarray(0, count + 1);
}

/**
 * Returns where words begin. A token continues a word if the tokenizer marks it so; if it never marks any, a token
 * continues a word unless white space is at its start. Punctuation at the edges of white-space-separated parts is a
 * separate word. Source: guardrails reference, 3.1.
 */
function wordBeginnings(
  text: string,
  { ids, starts }: { readonly ids: Int32Array; readonly starts: Int32Array },
  encoder: Encoder,
  { continuingPrefix, unknownId }: WordRule,
): Uint8Array {
  const begins = new Uint8Array(ids.length);
  const continuing = new Map<number, boolean>();
  const saysItContinues = (id: number): boolean => {
    let known = continuing.get(id);
    if (known === undefined) {
      known = encoder.idToToken(id)?.startsWith(continuingPrefix) === true;
      continuing.set(id, known);
    }
    return known;
  };
  const partAt = partsOfWords(text);
  let part = -1;
  for (let token = 0; token < ids.length; token++) {
    const id = ids[token] as number;
    const start = starts[token] as number;
    const continues =
      id !== unknownId &&
      (continuingPrefix === ""
        ? start > 0 && !SPACE.test(text[start - 1] as string) && !SPACE.test(text[start] ?? "")
        : saysItContinues(id));
    const next = partAt(start);
    begins[token] = continues && token > 0 && next === part ? 0 : 1;
    part = next;
  }
  return begins;
}

/**
 * Returns a function that numbers the parts of words: each run of edge punctuation, and each core of a word. Call it
 * for ascending places.
 */
function partsOfWords(text: string): (place: number) => number {
  let word = 0;
  let end = 0;
  let coreStart = 0;
  let coreEnd = 0;
  return (place) => {
    let at = place;
    while (at < text.length && SPACE.test(text[at] as string)) at += 1;
    if (at >= end) {
      let start = at;
      // A token may begin within a word if a new piece or an empty token came before.
      while (start > end && !SPACE.test(text[start - 1] as string)) start -= 1;
      end = at;
      while (end < text.length && !SPACE.test(text[end] as string)) end += 1;
      word += 1;
      coreStart = start;
      while (coreStart < end && isPunctuation(text, coreStart)) coreStart += sizeAt(text, coreStart);
      coreEnd = end;
      while (coreEnd > coreStart && isPunctuation(text, before(text, coreEnd))) coreEnd = before(text, coreEnd);
    }
    return word * 3 + (at < coreStart ? 0 : at < coreEnd ? 1 : 2);
  };
}

const sizeAt = (text: string, at: number): number => ((text.codePointAt(at) as number) > 0xffff ? 2 : 1);

const before = (text: string, at: number): number =>
  at > 1 && isLowSurrogate(text.charCodeAt(at - 1)) && (text.codePointAt(at - 2) as number) > 0xffff ? at - 2 : at - 1;

const isPunctuation = (text: string, at: number): boolean =>
  PUNCTUATION.test(String.fromCodePoint(text.codePointAt(at) as number));

/** Special tokens around every sequence, and the type of each token. */
export interface Frame {
  readonly before: readonly number[];
  readonly after: readonly number[];
  /** Type ids of the tokens before, of the text, and of those after. */
  readonly types: readonly [before: readonly number[], text: number, after: readonly number[]];
}

/** Learns what the tokenizer adds around a word. A tokenizer without a post-processor adds nothing. */
export async function learnFrame(encoder: Encoder): Promise<Frame> {
  const encoding = await encoder.encode("a", null, { addSpecialTokens: true });
  const ids = encoding.getIds();
  const types = encoding.getTypeIds();
  const mask = encoding.getSpecialTokensMask();
  const first = mask.indexOf(0);
  const last = mask.lastIndexOf(0);
  const from = first < 0 ? ids.length : first;
  const to = first < 0 ? ids.length : last + 1;
  return {
    before: ids.slice(0, from),
    after: ids.slice(to),
    types: [types.slice(0, from), types[from] ?? 0, types.slice(to)],
  };
}

/** Returns the ids of a text alone, without special tokens. */
export async function idsOf(text: string, encoder: Encoder): Promise<readonly number[]> {
  if (SPACES_ONLY.test(text)) return [];
  return (await encoder.encode(text, null, { addSpecialTokens: false })).getIds();
}

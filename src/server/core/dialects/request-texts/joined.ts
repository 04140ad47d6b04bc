/**
 * Joins texts as a provider or a translation does, without a separator: blocks of one message, and consecutive messages of one
 * role. The text around such a seam is inspected once more as one text. Source: dialects reference, 8.4.
 */
import type { MessageText } from "./types.ts";

/** Group of a turn's strings that are joined. Strings of `apart` are not joined. */
export type Channel = "text" | "thought" | "apart";

/** Number of UTF-16 units at each end of a long text that are inspected together with its neighbor. */
const MAX_SIDE = 256;

interface Piece {
  /** Index of the text that the piece is part of. */
  readonly at: number;
  /** Offset in that text at which the piece begins, in UTF-16 units. */
  readonly from: number;
  /** Offset of the piece in the joined text. */
  readonly start: number;
  readonly end: number;
}

export interface JoinedText {
  readonly text: MessageText;
  readonly pieces: readonly Piece[];
}

interface Run {
  readonly kind: MessageText["kind"];
  turn: number;
  readonly texts: number[];
}

/** Returns the joined texts. `channels` has the channel of each text, or `undefined` for a text that is joined with none. */
export function joinedTexts(
  texts: readonly MessageText[],
  channels: readonly (Channel | undefined)[],
): readonly JoinedText[] {
  const joined: JoinedText[] = [];
  const runs = new Map<string, Run>();
  const end = (key: string, { texts: members }: Run): void => {
    runs.delete(key);
    if (members.length > 1) joined.push(...seams(members, texts));
  };
  for (const [at, { kind, turn, isReadOnly }] of texts.entries()) {
    for (const [key, run] of runs) if (run.kind !== kind && run.turn !== turn) end(key, run);
    const channel = isReadOnly ? undefined : channels[at];
    if (channel === undefined || channel === "apart") continue;
    const key = `${kind} ${channel}`;
    const run = runs.get(key);
    if (run === undefined) runs.set(key, { kind, turn, texts: [at] });
    else {
      run.texts.push(at);
      run.turn = turn;
    }
  }
  for (const [key, run] of runs) end(key, run);
  return joined;
}

/** Builds the joined texts. A long text ends one joined text and begins the next. Texts are not joined across a line break. */
function seams(members: readonly number[], texts: readonly MessageText[]): readonly JoinedText[] {
  const made: JoinedText[] = [];
  let pieces: Piece[] = [];
  let text = "";
  // Looking at the end of `text` itself would copy all of it for each part.
  let endsLine = false;
  const add = (at: number, from: number, part: string): void => {
    pieces.push({ at, from, start: text.length, end: text.length + part.length });
    text += part;
    if (part !== "") endsLine = part.endsWith("\n");
  };
  const close = (): void => {
    const first = texts[pieces[0]?.at ?? -1];
    if (pieces.length > 1 && first !== undefined)
      made.push({ text: { kind: first.kind, turn: first.turn, text, isReadOnly: false }, pieces });
    pieces = [];
    text = "";
    endsLine = false;
  };
  for (const at of members) {
    const own = texts[at]?.text ?? "";
    if (endsLine || own.startsWith("\n")) close();
    if (own.length <= 2 * MAX_SIDE) {
      add(at, 0, own);
      continue;
    }
    if (pieces.length > 0) add(at, 0, own.slice(0, MAX_SIDE));
    close();
    add(at, own.length - MAX_SIDE, own.slice(-MAX_SIDE));
  }
  close();
  return made;
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Returns the changed texts, including changes across seams. `changes` has the changes of `texts`, followed by those of
 * `joined`.
 */
export function withSeams(
  texts: readonly MessageText[],
  joined: readonly JoinedText[],
  changes: readonly (string | undefined)[],
): readonly (string | undefined)[] {
  const own = changes.slice(0, texts.length);
  const settled = [...own];
  for (const [i, { text, pieces }] of joined.entries()) {
    const change = changes[texts.length + i];
    if (change === undefined || change === text.text || change === apart(texts, pieces, own)) continue;
    const edit = editOf(text.text, change);
    const touched = pieces.filter(({ start, end }) => start < edit.end && edit.start < end);
    if (touched.length < 2) continue;
    for (const [nth, piece] of touched.entries()) {
      const { at, from, start, end } = piece;
      const before = texts[at]?.text ?? "";
      const across: Edit = {
        start: from + Math.max(0, edit.start - start),
        end: from + Math.min(end, edit.end) - start,
        text: nth === 0 ? edit.text : "",
      };
      const known = settled[at];
      const other = known === undefined ? undefined : editOf(before, known);
      // The edit of the joined text already includes changes within the piece.
      const kept = other === undefined || isWithin(other, piece) ? [] : [other];
      // Providers refuse an empty block, so it gets the new text.
      settled[at] = applied(before, [...kept, across]) || edit.text;
    }
  }
  return settled;
}

const isWithin = (edit: Edit, { from, start, end }: Piece): boolean =>
  edit.start >= from && edit.end <= from + end - start;

/** Returns the joined text after the changes of its texts. */
function apart(texts: readonly MessageText[], pieces: readonly Piece[], own: readonly (string | undefined)[]): string {
  return pieces
    .map((piece) => {
      const { at, from, start, end } = piece;
      const before = texts[at]?.text ?? "";
      const part = before.slice(from, from + end - start);
      const known = own[at];
      if (known === undefined) return part;
      const edit = editOf(before, known);
      if (!isWithin(edit, piece)) return part;
      return applied(part, [{ start: edit.start - from, end: edit.end - from, text: edit.text }]);
    })
    .join("");
}

/** Returns the single edit that turns the old text into the new one. */
function editOf(before: string, after: string): Edit {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start++;
  let same = 0;
  while (same < most - start && before[before.length - 1 - same] === after[after.length - 1 - same]) same++;
  return { start, end: before.length - same, text: after.slice(start, after.length - same) };
}

function applied(text: string, edits: readonly Edit[]): string {
  const [first, second] = edits.toSorted((one, other) => one.start - other.start);
  if (first === undefined) return text;
  if (second === undefined) return text.slice(0, first.start) + first.text + text.slice(first.end);
  const between = text.slice(first.end, Math.max(first.end, second.start));
  const last = text.slice(Math.max(first.end, second.end));
  return text.slice(0, first.start) + first.text + between + second.text + last;
}

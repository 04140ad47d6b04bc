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
  readonly indexes: number[];
}

/** Returns the joined texts. `channels` has the channel of each text, or `undefined` for a text that is joined with none. */
export function joinedTexts(
  texts: readonly MessageText[],
  channels: readonly (Channel | undefined)[],
): readonly JoinedText[] {
  const joined: JoinedText[] = [];
  const runs = new Map<string, Run>();
  const end = (key: string, { indexes: members }: Run): void => {
    runs.delete(key);
    if (members.length > 1) joined.push(...buildSeams(members, texts));
  };
  for (const [at, { kind, turn, isReadOnly }] of texts.entries()) {
    for (const [key, run] of runs) if (run.kind !== kind && run.turn !== turn) end(key, run);
    const channel = isReadOnly ? undefined : channels[at];
    if (channel === undefined || channel === "apart") continue;
    const key = `${kind} ${channel}`;
    const run = runs.get(key);
    if (run === undefined) runs.set(key, { kind, turn, indexes: [at] });
    else {
      run.indexes.push(at);
      run.turn = turn;
    }
  }
  for (const [key, run] of runs) end(key, run);
  return joined;
}

/** Builds the joined texts. A long text ends one joined text and begins the next. Texts are not joined across a line break. */
function buildSeams(members: readonly number[], texts: readonly MessageText[]): readonly JoinedText[] {
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
    const textToJoin = texts[at]?.text ?? "";
    if (endsLine || textToJoin.startsWith("\n")) close();
    if (textToJoin.length <= 2 * MAX_SIDE) {
      add(at, 0, textToJoin);
      continue;
    }
    if (pieces.length > 0) add(at, 0, textToJoin.slice(0, MAX_SIDE));
    close();
    add(at, textToJoin.length - MAX_SIDE, textToJoin.slice(-MAX_SIDE));
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
export function applySeamChanges(
  texts: readonly MessageText[],
  joined: readonly JoinedText[],
  changes: readonly (string | undefined)[],
): readonly (string | undefined)[] {
  const ownChanges = changes.slice(0, texts.length);
  const merged = [...ownChanges];
  for (const [i, { text, pieces }] of joined.entries()) {
    const change = changes[texts.length + i];
    if (change === undefined || change === text.text || change === joinAfterOwnChanges(texts, pieces, ownChanges))
      continue;
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
      const known = merged[at];
      const ownEdit = known === undefined ? undefined : editOf(before, known);
      // The edit of the joined text already includes changes within the piece.
      const otherEdits = ownEdit === undefined || isWithin(ownEdit, piece) ? [] : [ownEdit];
      // Providers refuse an empty block, so it gets the new text.
      merged[at] = applyEdits(before, [...otherEdits, across]) || edit.text;
    }
  }
  return merged;
}

const isWithin = (edit: Edit, { from, start, end }: Piece): boolean =>
  edit.start >= from && edit.end <= from + end - start;

/** Returns the joined text after the changes of its texts. */
function joinAfterOwnChanges(
  texts: readonly MessageText[],
  pieces: readonly Piece[],
  ownChanges: readonly (string | undefined)[],
): string {
  return pieces
    .map((piece) => {
      const { at, from, start, end } = piece;
      const before = texts[at]?.text ?? "";
      const part = before.slice(from, from + end - start);
      const known = ownChanges[at];
      if (known === undefined) return part;
      const edit = editOf(before, known);
      if (!isWithin(edit, piece)) return part;
      return applyEdits(part, [{ start: edit.start - from, end: edit.end - from, text: edit.text }]);
    })
    .join("");
}

/** Returns the single edit that turns the old text into the new one. */
function editOf(before: string, after: string): Edit {
  const maxLength = Math.min(before.length, after.length);
  let start = 0;
  while (start < maxLength && before[start] === after[start]) start++;
  let commonSuffix = 0;
  while (
    commonSuffix < maxLength - start &&
    before[before.length - 1 - commonSuffix] === after[after.length - 1 - commonSuffix]
  )
    commonSuffix++;
  return { start, end: before.length - commonSuffix, text: after.slice(start, after.length - commonSuffix) };
}

function applyEdits(text: string, edits: readonly Edit[]): string {
  const [first, second] = edits.toSorted((one, other) => one.start - other.start);
  if (first === undefined) return text;
  if (second === undefined) return text.slice(0, first.start) + first.text + text.slice(first.end);
  const between = text.slice(first.end, Math.max(first.end, second.start));
  const last = text.slice(Math.max(first.end, second.end));
  return text.slice(0, first.start) + first.text + between + second.text + last;
}

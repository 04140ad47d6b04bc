/**
 * Reads the configuration of another gateway and keeps account of it: each key is read once, and a key that nobody read gets a
 * note with its line.
 *
 * YAML and JSON are read within the bounds of our own documents: 4 MiB, 64 levels, 100,000 values with aliases expanded, no
 * duplicate keys. A value of an unexpected type is left out with a note. Notes contain key names of the source but none of its
 * values, because any value may be a credential.
 */

import {
  formatPath,
  formatProblem,
  type Path,
  parseTree,
  type Source,
  type Tree,
} from "../../server/core/config/index.ts";

/** Note for the reader of the imported document. */
export interface Note {
  /** `left-out`: the setting is not in the document. `changed`: it is, and means something else. */
  readonly kind: "changed" | "left-out";
  /** Line of the source, from 1. */
  readonly line: number;
  readonly path: string;
  readonly keyPath: Path;
  /** Object that is left out as a whole for the reason of this note. */
  readonly unit?: Path | undefined;
  /** Difference, its reason, and what to do. */
  readonly message: string;
}

/** Place of a setting in the source. */
export interface SettingLocation {
  /** Line, from 1. */
  readonly line: number;
  readonly path: Path;
}

/** Adds a note. `words` begins with `left out` if the setting is not in the document, or `left out in part`. */
export type AddNote = (at: number, path: Path, message: string) => void;

export interface ForeignSource {
  readonly root: Section;
  readonly notes: readonly Note[];
  readonly addNote: AddNote;
  /** Account to pass to `sectionOf` for a value that was read as a tree. */
  readonly tracker: ReadTracker;
  readonly lineOf: (at: number) => number;
  /** Declares that nothing below `path` is in the document, for the reason of the last note there. */
  leaveOut(path: Path): void;
  /** Returns the object that is left out as a whole because of a note, if there is one. */
  leftOutWith(note: Note): Path | undefined;
  /** Returns the settings that were read, are not left out and have no note of their own, by line. */
  carriedOver(): readonly SettingLocation[];
}

type Opened =
  /** `foreign` starts a new reading, in which nothing has been read yet. */
  | { readonly kind: "opened"; readonly foreign: () => ForeignSource }
  | { readonly kind: "refused"; readonly problems: readonly string[] };

/** Maximum number of reported problems of a file that cannot be read. The first few show what kind of file it is. */
const MAX_PROBLEMS = 20;
/** Maximum number of notes; nobody reads more. */
const MAX_NOTES = 10_000;

export function openForeignSource(source: Source): Opened {
  const comment = jsonCommentAt(source.text);
  if (comment !== undefined) {
    const line = source.text.slice(0, comment).split("\n").length;
    return { kind: "refused", problems: [`${source.name}:${line}: JSON has no comments: remove this one`] };
  }
  const parsed = parseTree({ ...source, text: source.text.replace(/^\ufeff/, "") }, { aliases: "written out" });
  const errors = parsed.problems.filter(({ severity }) => severity === "error");
  if (errors.length > 0) {
    const more = errors.length > MAX_PROBLEMS ? [`and ${errors.length - MAX_PROBLEMS} more`] : [];
    return { kind: "refused", problems: [...errors.slice(0, MAX_PROBLEMS).map(formatProblem), ...more] };
  }
  const { tree } = parsed;
  if (tree?.kind !== "map") {
    const expectation =
      tree === undefined ? "the file is empty" : "expected an object with the sections of the configuration";
    return { kind: "refused", problems: [`${source.name}:1:1: ${expectation}`] };
  }
  const lineOf = (at: number): number => parsed.placeOf(at).line;
  const foreign = (): ForeignSource => {
    const notes: Note[] = [];
    const notedKeys = new Set<string>();
    const units: Path[] = [];
    const unitOf = new Map<Note, Path>();
    const read = new Map<string, SettingLocation>();
    // A key that is read for two purposes gets one note.
    const addNote: AddNote = (at, path, message) => {
      const kind = LEFT_OUT.test(message) ? "left-out" : "changed";
      const note: Note = { kind, line: lineOf(at), path: formatPath(path), keyPath: path, message };
      const name = JSON.stringify(note);
      if (notes.length >= MAX_NOTES || notedKeys.has(name)) return;
      notedKeys.add(name);
      notes.push(note);
    };
    const markRead = (at: number, path: Path): void => void read.set(formatPath(path), { line: lineOf(at), path });
    const tracker: ReadTracker = { addNote, markRead };
    return {
      root: sectionOf(tree, [], tracker),
      notes,
      addNote,
      tracker,
      lineOf,
      leaveOut(path) {
        const reason = notes.findLast(({ kind, keyPath: place }) => kind === "left-out" && isWithin(place, path));
        if (reason !== undefined) unitOf.set(reason, path);
        units.push(path);
      },
      leftOutWith: (note) => unitOf.get(note),
      carriedOver() {
        const withNote = new Set(notes.map(({ path }) => path));
        const leftOut = notes.filter(({ kind, path }) => kind === "left-out" && path !== "").map(({ path }) => path);
        const without = new Set([...units.map(formatPath), ...leftOut]);
        return [...read]
          .filter(([name, { path }]) => !withNote.has(name) && !prefixesOf(path).some((it) => without.has(it)))
          .map(([, place]) => place)
          .sort((a, b) => a.line - b.line);
      },
    };
  };
  return { kind: "opened", foreign };
}

const LEFT_OUT = /^left out(?! in part)/;

const isWithin = (path: Path, unit: Path): boolean => unit.every((step, at) => step === path[at]);

const prefixesOf = (path: Path): readonly string[] => path.map((_, length) => formatPath(path.slice(0, length + 1)));

/** Returns the offset of a comment in JSON. JSON is read as YAML, where it would be part of the key or value beside it. */
function jsonCommentAt(text: string): number | undefined {
  if (!/^\ufeff?\s*[{[]/.test(text)) return undefined;
  for (const { 0: token, index } of text.matchAll(JSON_TOKENS)) if (token.startsWith("/")) return index;
  return undefined;
}

/** Matches strings in quotes, YAML comments, and the start of a JSON comment where a value or key may begin or end. */
const JSON_TOKENS = /"(?:[^"\\]|\\.)*"|(?<=[\s,:{[])'[^']*'|(?<=\s)#[^\n]*|(?<![^\s,{[\]}"])\/[/*]/gs;

type TreeMap = Extract<Tree, { kind: "map" }>;

/** Object of the source. A key counts as read once a method was called for it, whatever its value. */
export interface Section {
  readonly path: Path;
  readonly at: number;
  readonly keys: readonly string[];
  has(key: string): boolean;
  /** Offset of the key, or of the object if it has no such key. */
  offsetOf(key: string): number;
  text(key: string): string | undefined;
  number(key: string): number | undefined;
  flag(key: string): boolean | undefined;
  texts(key: string): readonly string[];
  section(key: string): Section | undefined;
  /** Objects of a list. Other items get a note. */
  sections(key: string): readonly Section[];
  /** Value of any type. */
  tree(key: string): Tree | undefined;
  /** Reads keys that only describe the object, such as labels and ids. They appear in no report. */
  ignore(...keys: readonly string[]): void;
  /** Adds a note that the key is left out, if it exists. */
  leaveOutKey(key: string, message: string): void;
  addNote(key: string, message: string): void;
  /** Adds a note to each key that was not read, with the advice for it. */
  noteUnread(advice: Readonly<Record<string, string>>, general: string): void;
}

/** Returns the entries of `settings`, and those of `defaults` that `settings` does not have. */
export const withDefaults = (settings: TreeMap, defaults: TreeMap): TreeMap => ({
  ...settings,
  entries: new Map([...defaults.entries, ...settings.entries]),
});

/** Functions with which sections report what was read. */
interface ReadTracker {
  readonly addNote: AddNote;
  /** Records that a setting was read. */
  readonly markRead: (at: number, path: Path) => void;
}

/** Returns the section of an object. `inheritedPaths`: paths of keys that come from another object of the source. */
export function sectionOf(
  tree: TreeMap,
  path: Path,
  tracker: ReadTracker,
  inheritedPaths: ReadonlyMap<string, Path> = new Map(),
): Section {
  const { addNote } = tracker;
  const readKeys = new Set<string>();
  const valueAt = (key: string): Tree | undefined => {
    readKeys.add(key);
    const value = tree.entries.get(key)?.value;
    if (value === undefined || (value.kind === "scalar" && value.value === null)) return undefined;
    if (isSetting(value)) tracker.markRead(offsetOf(key), pathOf(key));
    return value;
  };
  const offsetOf = (key: string): number => tree.entries.get(key)?.keyAt ?? tree.at;
  const pathOf = (key: string): Path => (tree.entries.has(key) ? (inheritedPaths.get(key) ?? [...path, key]) : path);
  const noteKey = (key: string, message: string): void => addNote(offsetOf(key), pathOf(key), message);
  const wrong = (key: string, expected: string): undefined => {
    noteKey(key, `left out: expected ${expected}`);
    return undefined;
  };
  return {
    path,
    at: tree.at,
    keys: [...tree.entries.keys()],
    has: (key) => tree.entries.has(key),
    offsetOf,
    text(key) {
      const value = valueAt(key);
      return value === undefined ? undefined : (textOf(value) ?? wrong(key, "a string"));
    },
    number(key) {
      const value = valueAt(key);
      if (value === undefined) return undefined;
      const number =
        value.kind !== "scalar" ? Number.NaN : typeof value.value === "string" ? numberIn(value.value) : value.value;
      return typeof number === "number" && Number.isFinite(number) ? number : wrong(key, "a number");
    },
    flag(key) {
      const value = valueAt(key);
      if (value === undefined) return undefined;
      return value.kind === "scalar"
        ? (FLAGS.get(String(value.value).toLowerCase()) ?? wrong(key, "true or false"))
        : wrong(key, "true or false");
    },
    texts(key) {
      const value = valueAt(key);
      if (value === undefined) return [];
      if (value.kind !== "list") {
        const one = textOf(value);
        return one === undefined ? (wrong(key, "a list of strings") ?? []) : [one];
      }
      return value.items.flatMap((item, index) => {
        const text = textOf(item);
        if (text === undefined) addNote(item.at, [...path, key, index], "left out: expected a string");
        return text ?? [];
      });
    },
    section(key) {
      const value = valueAt(key);
      if (value === undefined) return undefined;
      return value.kind === "map" ? sectionOf(value, [...path, key], tracker) : wrong(key, "an object");
    },
    sections(key) {
      const value = valueAt(key);
      if (value === undefined) return [];
      if (value.kind !== "list") return wrong(key, "a list") ?? [];
      return value.items.flatMap((item, index) => {
        if (item.kind === "map") return [sectionOf(item, [...path, key, index], tracker)];
        addNote(item.at, [...path, key, index], "left out: expected an object");
        return [];
      });
    },
    tree: valueAt,
    ignore(...keys) {
      for (const key of keys) readKeys.add(key);
    },
    leaveOutKey(key, message) {
      readKeys.add(key);
      if (tree.entries.has(key)) noteKey(key, message);
    },
    addNote: noteKey,
    noteUnread(advice, general) {
      for (const [key, { isShared }] of tree.entries) {
        if (readKeys.has(key)) continue;
        const own = Object.hasOwn(advice, key) ? advice[key] : undefined;
        noteKey(key, own ?? (isShared ? "read only where a YAML alias refers to it" : general));
      }
    },
  };
}

/** Returns whether the value is a single setting: a scalar or a list of scalars. An object contains several settings. */
const isSetting = (value: Tree): boolean =>
  value.kind === "scalar" || (value.kind === "list" && value.items.every(({ kind }) => kind === "scalar"));

/** Texts for true and false, including those of YAML 1.1, which Python reads. */
const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["yes", true],
  ["on", true],
  ["false", false],
  ["no", false],
  ["off", false],
]);

/** Returns a scalar as text; a number as it was written. */
export function textOf(tree: Tree): string | undefined {
  if (tree.kind !== "scalar") return undefined;
  return typeof tree.value === "string" ? tree.value : tree.written;
}

const numberIn = (text: string): number => (/^\s*-?\d+(\.\d+)?\s*$/.test(text) ? Number(text) : Number.NaN);

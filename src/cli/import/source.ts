/**
 * A foreign configuration as it is read: each key is taken once, and what nobody took is told of with its line.
 *
 * YAML and JSON alike, within the bounds of our own documents (4 MiB, 64 levels, 100,000 values with aliases written out;
 * no keys twice). A value of another type than the format has is told of and left out. Words never hold a text of the source but
 * names of its keys: any text of it may be a credential.
 */

import {
  formatPath,
  formatProblem,
  type Path,
  parseTree,
  type Source,
  type Tree,
} from "../../server/core/config/index.ts";

export interface Note {
  /** Of the source, counted from 1. */
  readonly line: number;
  readonly path: string;
  /** What has no counterpart or became something else, and what to do. */
  readonly words: string;
}

export type Telling = (at: number, path: Path, words: string) => void;

export interface Foreign {
  readonly root: Section;
  readonly notes: readonly Note[];
  readonly tell: Telling;
  readonly lineOf: (at: number) => number;
}

export type Opened =
  /** Each `foreign` is a reading of its own, of which nothing is taken yet. */
  | { readonly kind: "opened"; readonly foreign: () => Foreign }
  | { readonly kind: "refused"; readonly problems: readonly string[] };

/** What keeps a file from being read at all; the first few tell of which kind it is. */
const MAX_PROBLEMS = 20;
/** Whoever reads ten thousand lines of it reads none. */
const MAX_NOTES = 10_000;

export function openForeign(source: Source): Opened {
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
    const what = tree === undefined ? "the file is empty" : "expected an object with the sections of the configuration";
    return { kind: "refused", problems: [`${source.name}:1:1: ${what}`] };
  }
  const lineOf = (at: number): number => parsed.placeOf(at).line;
  const foreign = (): Foreign => {
    const notes: Note[] = [];
    const told = new Set<string>();
    // What is read for two ends is told of once.
    const tell: Telling = (at, path, words) => {
      const note = { line: lineOf(at), path: formatPath(path), words };
      const name = JSON.stringify(note);
      if (notes.length >= MAX_NOTES || told.has(name)) return;
      told.add(name);
      notes.push(note);
    };
    return { root: sectionOf(tree, [], tell), notes, tell, lineOf };
  };
  return { kind: "opened", foreign };
}

/** As YAML, which JSON is read as, it would be part of the key or value beside it. */
function jsonCommentAt(text: string): number | undefined {
  if (!/^\ufeff?\s*[{[]/.test(text)) return undefined;
  for (const { 0: token, index } of text.matchAll(JSON_TOKENS)) if (token.startsWith("/")) return index;
  return undefined;
}

/** Texts in quotes, comments of YAML, and what begins a comment where a value or key may begin or end. */
const JSON_TOKENS = /"(?:[^"\\]|\\.)*"|(?<=[\s,:{[])'[^']*'|(?<=\s)#[^\n]*|(?<![^\s,{[\]}"])\/[/*]/gs;

type TreeMap = Extract<Tree, { kind: "map" }>;

/** An object of the source. What is asked for counts as taken, whatever came of it. */
export interface Section {
  readonly path: Path;
  readonly at: number;
  readonly keys: readonly string[];
  has(key: string): boolean;
  /** Where the key stands, or the object where it does not. */
  placeOf(key: string): number;
  text(key: string): string | undefined;
  number(key: string): number | undefined;
  flag(key: string): boolean | undefined;
  texts(key: string): readonly string[];
  section(key: string): Section | undefined;
  /** Of a list; what is no object in it is told of. */
  sections(key: string): readonly Section[];
  /** Whatever it is, for a value that may have several shapes. */
  tree(key: string): Tree | undefined;
  /** Tells that the key is left out, and why. */
  drop(key: string, words: string): void;
  tell(key: string, words: string): void;
  /** Tells of each key that was not taken, with the advice for it. */
  rest(advice: Readonly<Record<string, string>>, general: string): void;
}

/** The first, with what stands in the second alone. */
export const withDefaults = (own: TreeMap, defaults: TreeMap): TreeMap => ({
  ...own,
  entries: new Map([...defaults.entries, ...own.entries]),
});

/** `elsewhere`: paths of those keys that stand in another object of the source. */
export function sectionOf(
  tree: TreeMap,
  path: Path,
  tell: Telling,
  elsewhere: ReadonlyMap<string, Path> = new Map(),
): Section {
  const taken = new Set<string>();
  const valueAt = (key: string): Tree | undefined => {
    taken.add(key);
    const value = tree.entries.get(key)?.value;
    return value?.kind === "scalar" && value.value === null ? undefined : value;
  };
  const placeOf = (key: string): number => tree.entries.get(key)?.keyAt ?? tree.at;
  const pathOf = (key: string): Path => (tree.entries.has(key) ? (elsewhere.get(key) ?? [...path, key]) : path);
  const told = (key: string, words: string): void => tell(placeOf(key), pathOf(key), words);
  const wrong = (key: string, expected: string): undefined => {
    told(key, `left out: expected ${expected}`);
    return undefined;
  };
  return {
    path,
    at: tree.at,
    keys: [...tree.entries.keys()],
    has: (key) => tree.entries.has(key),
    placeOf,
    text(key) {
      const value = valueAt(key);
      return value === undefined ? undefined : (textOf(value) ?? wrong(key, "a text"));
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
        return one === undefined ? (wrong(key, "a list of texts") ?? []) : [one];
      }
      return value.items.flatMap((item, index) => {
        const text = textOf(item);
        if (text === undefined) tell(item.at, [...path, key, index], "left out: expected a text");
        return text ?? [];
      });
    },
    section(key) {
      const value = valueAt(key);
      if (value === undefined) return undefined;
      return value.kind === "map" ? sectionOf(value, [...path, key], tell) : wrong(key, "an object");
    },
    sections(key) {
      const value = valueAt(key);
      if (value === undefined) return [];
      if (value.kind !== "list") return wrong(key, "a list") ?? [];
      return value.items.flatMap((item, index) => {
        if (item.kind === "map") return [sectionOf(item, [...path, key, index], tell)];
        tell(item.at, [...path, key, index], "left out: expected an object");
        return [];
      });
    },
    tree: valueAt,
    drop(key, words) {
      taken.add(key);
      if (tree.entries.has(key)) told(key, words);
    },
    tell: told,
    rest(advice, general) {
      for (const [key, { isShared }] of tree.entries) {
        if (taken.has(key)) continue;
        const own = Object.hasOwn(advice, key) ? advice[key] : undefined;
        told(key, own ?? (isShared ? "no counterpart by itself: it is read where an alias names it" : general));
      }
    },
  };
}

/** Also of the YAML that Python reads. */
const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["yes", true],
  ["on", true],
  ["false", false],
  ["no", false],
  ["off", false],
]);

/** A number is the text that it was written as. */
export function textOf(tree: Tree): string | undefined {
  if (tree.kind !== "scalar") return undefined;
  return typeof tree.value === "string" ? tree.value : tree.written;
}

const numberIn = (text: string): number => (/^\s*-?\d+(\.\d+)?\s*$/.test(text) ? Number(text) : Number.NaN);

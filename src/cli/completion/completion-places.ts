/**
 * Places on the command line at which shells complete words, identified by the words typed so far, and the values of flags. The
 * scripts of the shells differ only in the syntax of a place.
 */

import { OPERATIONS } from "../../admin-api/index.ts";
import { compiledCatalog } from "../../server/core/catalog/index.ts";
import { ALL_LISTS } from "../operate/printable-lists.ts";
import { CONDITION_NAMES } from "../operate/wait-conditions.ts";
import type { Flag, FlagTable } from "../parse-flags.ts";
import { noFlags } from "../verb-flags.ts";
import { DAEMON, HELP_TOPICS, type NameKind, type Positionals, SCHEMAS, SHELLS, VERBS } from "../verb-table.ts";

export interface Place {
  /** Words typed so far: none, a verb, or the first word of a two-word verb. */
  readonly path: string;
  readonly flags: FlagTable;
  readonly words: readonly Word[];
  /** Words that may follow one of `words`. */
  readonly after: ReadonlyMap<string, readonly string[]>;
  /** Whether file names may follow the flags. */
  readonly takesFiles: boolean;
  /** Kind of names that the running gateway is asked for. */
  readonly names?: NameKind | undefined;
}

interface Word {
  readonly word: string;
  readonly meaning: string;
}

const NONE: Pick<Place, "words" | "after" | "takesFiles"> = { words: [], after: new Map(), takesFiles: false };

/** Returns every place of the command line. */
export function places(): readonly Place[] {
  const first = new Map<string, string>();
  const second = new Map<string, Word[]>();
  for (const { name, summary } of VERBS) {
    const [head = "", tail] = name.split(" ");
    const known = first.get(head);
    first.set(head, known === undefined ? summary : `${known}; ${summary}`);
    if (tail !== undefined) second.set(head, [...(second.get(head) ?? []), { word: tail, meaning: summary }]);
  }
  return [
    {
      ...NONE,
      path: "",
      flags: { ...DAEMON.flags, version: { kind: "boolean", meaning: "print build, commit, date and platform" } },
      words: [...first].map(([word, meaning]) => ({ word, meaning })),
    },
    ...[...second].map(([path, words]) => ({ ...NONE, path, flags: noFlags, words })),
    ...VERBS.map(({ name, flags, positionals }) => ({
      ...NONE,
      path: name,
      flags,
      ...suggestionsOf(positionals),
      takesFiles: positionals.areFiles ?? false,
      names: positionals.names,
    })),
    // After `help`, the words of a verb are completed as on the command line.
    ...[...second].map(([path, words]) => ({ ...NONE, path: `help ${path}`, flags: noFlags, words })),
  ];
}

function suggestionsOf({ suggestions: words }: Positionals): Pick<Place, "words" | "after"> {
  const plain = (all: readonly string[]) => ({ words: all.map((word) => ({ word, meaning: "" })), after: NONE.after });
  switch (words) {
    case undefined:
      return NONE;
    case "shells":
      return plain(SHELLS);
    case "schemas":
      return plain(SCHEMAS);
    case "verbs":
      return plain([...firstWords(VERBS.map(({ name }) => name)), ...HELP_TOPICS]);
    case "operations":
      return operationWords();
    case "lists":
      return plain(ALL_LISTS.map(({ table }) => table));
    case "conditions":
      return plain(CONDITION_NAMES);
    default:
      return words satisfies never;
  }
}

/** Returns the HTTP methods, the paths of each method, and the paths that can be read without typing GET. */
function operationWords(): Pick<Place, "words" | "after"> {
  const after = new Map<string, string[]>();
  const summaries = new Map<string, string>();
  for (const { method, path, help } of Object.values(OPERATIONS)) {
    const [typed = ""] = path.slice(1).split("{");
    const of = after.get(method) ?? [];
    after.set(method, of.includes(typed) ? of : [...of, typed]);
    if (method === "GET" && !summaries.has(typed)) summaries.set(typed, help);
  }
  const methods = [...after.keys()].sort().map((word) => ({ word, meaning: "" }));
  const reads = [...summaries].map(([word, meaning]) => ({ word, meaning }));
  return { words: [...methods, ...reads], after };
}

/** Returns the first words of names that have one word or two, each once. */
function firstWords(names: readonly string[]): readonly string[] {
  return [...new Set(names.map((name) => name.split(" ")[0] ?? ""))];
}

/** Returns the values of a flag: some words, a file, or anything; `undefined` for a flag that takes none. */
export function valuesOf(flag: Flag): "file" | "any" | readonly string[] | undefined {
  if (flag.kind === "boolean") return undefined;
  if (flag.value === "PATH" || flag.value === "FILE") return "file";
  if (flag.suggestions === "presets") return [...compiledCatalog().keys()].sort();
  return flag.kind === "string" && flag.choices !== undefined ? flag.choices : "any";
}

/** Puts the text in single quotes, which all three shells support. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

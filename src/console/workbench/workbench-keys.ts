/**
 * Key table of the query workbench, in the form of `model/key-bindings.ts`: the hint bar, the help screen and the handler use it.
 * While editing, all letters belong to the statement; so the workbench's own verbs are control keys, which always work in it.
 */

import type { Chord } from "../model/key-event.ts";
import type { WorkbenchState } from "../model/state.ts";

/** Part of the workbench that receives the keys. */
type Mode = "asking" | "params" | "editor" | "result";

interface WorkbenchKey {
  /** Chords; hints show the first. */
  readonly chords: readonly Chord[];
  readonly label: string;
  readonly help: string;
  readonly modes: readonly Mode[];
  /** Modes in which the hint bar shows it; if missing, all `modes`. */
  readonly hinted?: readonly Mode[];
}

const WRITING = ["params", "editor", "result"] as const;

/** Keys of the workbench in the order of the hint bar, which shows only the first few if it is short. */
export const WORKBENCH_KEYS = {
  accept: { chords: ["enter"], label: "ok", help: "accept the typed name", modes: ["asking"] },
  complete_name: { chords: ["tab"], label: "complete", help: "complete the name", modes: ["asking"] },
  edit: { chords: ["enter"], label: "edit", help: "return to the statement", modes: ["result"] },
  run: {
    chords: ["ctrl-r", "alt-enter"],
    label: "run",
    help: "run the statement; Enter after a closing `;` does the same",
    modes: WRITING,
  },
  line: {
    chords: ["enter"],
    label: "new line",
    help: "a new line, or runs the statement if it ends with `;`",
    modes: ["editor"],
    hinted: [],
  },
  complete: {
    chords: ["tab"],
    label: "complete",
    help: "complete tables, columns and keywords; again the next",
    modes: ["editor"],
  },
  complete_before: {
    chords: ["shift-tab"],
    label: "complete",
    help: "the previous completion",
    modes: ["editor"],
    hinted: [],
  },
  earlier: {
    chords: ["up"],
    label: "history",
    help: "in the first line, the previous statement",
    modes: ["editor"],
  },
  later: {
    chords: ["down"],
    label: "history",
    help: "in the last line, the next statement",
    modes: ["editor"],
    hinted: [],
  },
  page_up: {
    chords: ["pageup"],
    label: "page up",
    help: "a page of the result up",
    modes: ["editor", "params"],
    hinted: [],
  },
  page_down: {
    chords: ["pagedown"],
    label: "page down",
    help: "a page of the result down",
    modes: ["editor", "params"],
    hinted: [],
  },
  copy: { chords: ["c"], label: "copy row", help: "copy the row, its columns separated by tabs", modes: ["result"] },
  params: {
    chords: ["ctrl-p"],
    label: "params",
    help: "edit the values of the `?`, one per line, as the flag `-p` of `gateway query` takes them; again goes back",
    modes: WRITING,
  },
  leave: {
    chords: ["esc"],
    label: "leave",
    help: "cancel the running statement; leave the editor, so that letters are keys of the console again",
    modes: ["asking", "params", "editor", "result"],
    hinted: ["asking", "params", "editor"],
  },
  nodes: {
    chords: ["ctrl-n"],
    label: "nodes",
    help: "ask all nodes, or only the connected one; the result says which",
    modes: WRITING,
    hinted: ["editor", "result"],
  },
  format: { chords: ["ctrl-o"], label: "table/json", help: "show the result as a table or as JSON", modes: WRITING },
  save: {
    chords: ["ctrl-s"],
    label: "save",
    help: "save the statement under a name; an empty statement deletes it",
    modes: WRITING,
    hinted: ["editor"],
  },
  recall: {
    chords: ["ctrl-g"],
    label: "saved",
    help: "load a saved statement by its name",
    modes: WRITING,
    hinted: ["editor", "result"],
  },
  export: {
    chords: ["ctrl-x", "w"],
    label: "export",
    help: "save the result to a file: CSV if the name ends in `.csv`, otherwise JSON",
    modes: WRITING,
    hinted: ["editor", "result"],
  },
} as const satisfies Readonly<Record<string, WorkbenchKey>>;

const MODES: Readonly<Record<Mode, string>> = {
  editor: "the statement",
  params: "the values of its `?`",
  result: "the result",
  asking: "a prompt for a name",
};

const partOf = (modes: readonly Mode[]): string => {
  const all = Object.keys(MODES).filter((mode): mode is Mode => mode in MODES);
  if (modes.length === all.length) return "anywhere in the workbench";
  return `in ${all.flatMap((mode) => (modes.includes(mode) ? MODES[mode] : [])).join(", ")}`;
};

/** Keys by the part of the workbench in which they work. */
export const WORKBENCH_PARTS: readonly { readonly where: string; readonly keys: readonly WorkbenchKey[] }[] = (() => {
  const parts = new Map<string, WorkbenchKey[]>();
  for (const key of Object.values<WorkbenchKey>(WORKBENCH_KEYS)) {
    const where = partOf(key.modes);
    parts.set(where, [...(parts.get(where) ?? []), key]);
  }
  return [...parts].map(([where, keys]) => ({ where, keys }));
})();

export type WorkbenchKeyId = keyof typeof WORKBENCH_KEYS;

export function modeOf({ asking, isEditingParams, isEditing }: WorkbenchState): Mode {
  if (asking !== undefined) return "asking";
  if (isEditingParams) return "params";
  return isEditing ? "editor" : "result";
}

const KEYS = Object.entries(WORKBENCH_KEYS) as readonly (readonly [WorkbenchKeyId, WorkbenchKey])[];

/** Returns the verb of a chord; `undefined` if it has none. A letter is a verb only where letters are not typed. */
export function workbenchKeyOf(chord: Chord, mode: Mode): WorkbenchKeyId | undefined {
  const isTyped = chord.length === 1 && mode !== "result";
  if (isTyped) return undefined;
  return KEYS.find(([, { chords, modes }]) => modes.includes(mode) && chords.includes(chord))?.[0];
}

/** Returns the current hints of the hint bar. */
export function workbenchHints(
  workbench: WorkbenchState,
): readonly { readonly chord: Chord; readonly label: string }[] {
  const mode = modeOf(workbench);
  const isRunning = workbench.run.kind === "running";
  const cancel = isRunning ? [{ chord: "esc", label: "cancel" }] : [];
  const own = KEYS.filter(([, { modes, hinted = modes }]) => hinted.includes(mode)).flatMap(([, { chords, label }]) => {
    const [chord] = chords;
    return chord === undefined || (isRunning && chord === "esc") ? [] : [{ chord, label }];
  });
  return [...cancel, ...own];
}

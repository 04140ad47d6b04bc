/** Keys of the help: typing searches it, Up and Down choose an entry, and Enter runs the entry. */

import { applyEdit, editAtEnd } from "../edit/edit.ts";
import { MOVING } from "../model/key-bindings.ts";
import type { KeyEvent } from "../model/key-event.ts";
import type { PromptState, State, Step } from "../model/state.ts";
import type { View } from "../model/view.ts";
import { withFlash } from "./flash.ts";
import { type EntryRun, searchEntries } from "./help-entries.ts";
import { bodyRows } from "./layout.ts";
import { clamp } from "./navigation.ts";
import { stateOnly } from "./step-helpers.ts";

/** Maximum length of a search, in UTF-16 units. */
const MAX_SEARCH_LENGTH = 200;

/** Opens the help with an empty search. */
export const openHelp = (state: State): State => ({
  ...state,
  awaitsColumnFor: undefined,
  prompt: { kind: "help", label: "search keys", edit: editAtEnd(""), before: "" },
});

/** Handles a key of the help. `run` executes an entry in the state without the help. */
export function stepHelp(
  state: State,
  prompt: PromptState,
  event: KeyEvent,
  views: readonly View[],
  run: (state: State, entry: EntryRun) => Step,
): Step {
  const closed: State = { ...state, prompt: undefined };
  if (event.kind === "key") {
    const { chord } = event;
    if (chord === "esc" || (chord === "?" && prompt.edit.text === "")) return stateOnly(closed);
    const { sections, chosen } = searchEntries(state, views);
    const entries = sections.flatMap((section) => section.entries);
    const to = (at: number): Step =>
      stateOnly({ ...state, prompt: { ...prompt, chosen: clamp(at, 0, entries.length - 1) } });
    const page = Math.max(1, bodyRows(state.size) - 1);
    if (chord === "up") return to(chosen - 1);
    if (chord === "down") return to(chosen + 1);
    if (chord === MOVING.page_up.chords[0]) return to(chosen - page);
    if (chord === MOVING.page_down.chords[0]) return to(chosen + page);
    if (chord === "enter") {
      const entry = entries[chosen];
      if (entry === undefined) return stateOnly(withFlash(state, "no key or action matches the search"));
      if (entry.runs.kind === "none") return stateOnly(withFlash(state, `Esc, then one of the keys ${entry.key}`));
      return run(closed, entry.runs);
    }
  }
  const edit = applyEdit(prompt.edit, event, { isMultiline: false });
  if (edit === undefined) return stateOnly(state);
  if (edit.text.length > MAX_SEARCH_LENGTH) return stateOnly(withFlash(state, "the search text is too long", "warn"));
  return stateOnly({
    ...state,
    prompt: { ...prompt, edit, ...(edit.text !== prompt.edit.text && { chosen: undefined }) },
  });
}

/**
 * File name completion in a prompt. Tab looks up the matches: a single one is inserted; of several, their common prefix is
 * inserted and they are listed, and Tab and the arrows cycle through them.
 */

import { editAtEnd } from "../edit/edit.ts";
import type { Event, PromptState, State, Step } from "../model/state.ts";
import { commonStart } from "./common-start.ts";
import { withFoundFile } from "./step-dialog.ts";
import { stateOnly } from "./step-helpers.ts";

type Completed = Event & { readonly kind: "completed" };

/** Adds the found file names to the open dialog or prompt. Ignores results for a text that has changed meanwhile. */
export function withFound(state: State, { text, found }: Completed): State {
  const { prompt, workbench, dialog } = state;
  if (dialog !== undefined) return { ...state, dialog: withFoundFile(dialog, text, found) };
  if (prompt?.isFile !== undefined) {
    const { head, name } = lastOf(prompt);
    if (name === text) {
      const all = prompt.isFile === "many" ? found.map((one) => head + escaped(one)) : found;
      return { ...state, prompt: { ...prompt, ...takeCandidate(prompt.edit.text, all), chosen: undefined } };
    }
  }
  const { asking } = workbench;
  if (asking?.kind !== "export" || asking.edit.text !== text) return state;
  return { ...state, workbench: { ...workbench, asking: { ...asking, ...takeCandidate(text, found) } } };
}

/** Returns the name that is completed, unescaped, and the text before it. */
function lastOf({ isFile, edit: { text } }: PromptState): { readonly head: string; readonly name: string } {
  if (isFile !== "many") return { head: "", name: text };
  const [last = ""] = /(?:\\.|[^\s\\])*$/u.exec(text) ?? [];
  return { head: text.slice(0, text.length - last.length), name: last.replace(/\\(.)/gu, "$1") };
}

/** Escapes characters that would split a name or be interpreted. */
const escaped = (name: string): string => name.replace(/[\s'"\\]/gu, "\\$&");

function takeCandidate(text: string, found: readonly string[]): Pick<PromptState, "edit" | "found"> {
  const [first] = found;
  if (first === undefined) return { edit: editAtEnd(text), found };
  return { edit: editAtEnd(commonStart(found)), found: found.length === 1 ? undefined : found };
}

/** Handles Tab, and the arrows once matches are listed. */
export function stepFound(state: State, prompt: PromptState, by: 1 | -1, isTab: boolean): Step {
  const { found, edit, chosen } = prompt;
  if (found === undefined || found.length === 0) {
    if (!isTab) return stateOnly(state);
    const effect = { kind: "complete", id: state.nextId, text: lastOf(prompt).name } as const;
    return { state: { ...state, nextId: state.nextId + 1 }, effects: [effect] };
  }
  const from = chosen ?? (by === 1 ? -1 : 0);
  const at = (from + by + found.length) % found.length;
  return stateOnly({ ...state, prompt: { ...prompt, chosen: at, edit: editAtEnd(found[at] ?? edit.text) } });
}

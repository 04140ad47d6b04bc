/**
 * Names of files in a line that asks for one. Tab looks for them; the only one is taken, of several what they begin with,
 * and they are listed: Tab and the arrows then go through them.
 */

import { editAtEnd } from "../edit/edit.ts";
import type { Event, PromptState, State, Step } from "../model/state.ts";
import { commonStart } from "./common-start.ts";
import { withFoundFile } from "./dialog.ts";
import { only } from "./only.ts";

type Completed = Event & { readonly kind: "completed" };

/** What came for another text than the one that is there is too late. */
export function withFound(state: State, { text, found }: Completed): State {
  const { prompt, workbench, dialog } = state;
  if (dialog !== undefined) return { ...state, dialog: withFoundFile(dialog, text, found) };
  if (prompt?.isFile !== undefined) {
    const { head, name } = lastOf(prompt);
    if (name === text) {
      const all = prompt.isFile === "many" ? found.map((one) => head + escaped(one)) : found;
      return { ...state, prompt: { ...prompt, ...taken(prompt.edit.text, all), chosen: undefined } };
    }
  }
  const { asking } = workbench;
  if (asking?.kind !== "export" || asking.edit.text !== text) return state;
  return { ...state, workbench: { ...workbench, asking: { ...asking, ...taken(text, found) } } };
}

/** The name that is completed, as the machine spells it, and what stands before it. */
function lastOf({ isFile, edit: { text } }: PromptState): { readonly head: string; readonly name: string } {
  if (isFile !== "many") return { head: "", name: text };
  const [last = ""] = /(?:\\.|[^\s\\])*$/u.exec(text) ?? [];
  return { head: text.slice(0, text.length - last.length), name: last.replace(/\\(.)/gu, "$1") };
}

/** What would part a name in two, or be taken for something else. */
const escaped = (name: string): string => name.replace(/[\s'"\\]/gu, "\\$&");

function taken(text: string, found: readonly string[]): Pick<PromptState, "edit" | "found"> {
  const [first] = found;
  if (first === undefined) return { edit: editAtEnd(text), found };
  return { edit: editAtEnd(commonStart(found)), found: found.length === 1 ? undefined : found };
}

/** Tab, and the arrows once something was found. */
export function stepFound(state: State, prompt: PromptState, by: 1 | -1, isTab: boolean): Step {
  const { found, edit, chosen } = prompt;
  if (found === undefined || found.length === 0) {
    if (!isTab) return only(state);
    const effect = { kind: "complete", id: state.nextId, text: lastOf(prompt).name } as const;
    return { state: { ...state, nextId: state.nextId + 1 }, effects: [effect] };
  }
  const from = chosen ?? (by === 1 ? -1 : 0);
  const at = (from + by + found.length) % found.length;
  return only({ ...state, prompt: { ...prompt, chosen: at, edit: editAtEnd(found[at] ?? edit.text) } });
}

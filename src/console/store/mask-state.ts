/**
 * Removes from a state what a recording must not contain: texts that are shown once, and typed or pasted keys. A mask
 * has the length of the text that it replaces, so that the layout does not change.
 */

import type { Edit, State } from "../model/state.ts";

/** Matches keys of this gateway and of common providers, tokens, and the text after `Bearer`. */
const KEY = /\b(?:gwk_|sk-|sk_|xox[a-z]-|gh[a-z]_|AKIA|AIza|eyJ)[\w.+/=-]{4,}|\bBearer\s+\S+/g;

export const maskText = (text: string): string => text.replace(KEY, (found) => "*".repeat(found.length));

const maskEdit = (edit: Edit): Edit => ({ ...edit, text: maskText(edit.text) });

export function maskState(state: State): State {
  const { dialog, prompt, workbench, flash } = state;
  return {
    ...state,
    ...(dialog !== undefined && {
      dialog: {
        ...dialog,
        values: Object.fromEntries(Object.entries(dialog.values).map(([id, value]) => [id, maskText(value)])),
        typed: maskEdit(dialog.typed),
        edit: maskEdit(dialog.edit),
        ...(dialog.stage.kind === "done" && {
          stage: { ...dialog.stage, secret: "*".repeat(dialog.stage.secret.length) },
        }),
      },
    }),
    ...(prompt !== undefined && { prompt: { ...prompt, edit: maskEdit(prompt.edit) } }),
    ...(flash !== undefined && { flash: { ...flash, message: maskText(flash.message) } }),
    workbench: { ...workbench, edit: maskEdit(workbench.edit), params: workbench.params.map(maskText) },
  };
}

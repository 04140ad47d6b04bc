/**
 * Key `u`, wherever the cursor is: lifts the suspension of the row under the cursor if it is suspended, otherwise undoes the
 * last action of this console. Both ask first and say what they will do.
 */

import { ago } from "../format/times.ts";
import type { Context } from "../model/context.ts";
import type { Dialog } from "../model/dialog.ts";
import type { Undoable } from "../model/state.ts";
import { line } from "../model/text.ts";
import type { Offer } from "../model/view.ts";

/** Returns the offer to undo the last action; `undefined` if there is nothing to undo. */
export function undoOffer(undo: Undoable | undefined, context: Context): Offer | undefined {
  if (undo === undefined) return undefined;
  const dialog = undo.createDialog(context);
  const initial = Object.fromEntries(dialog.fields.map(({ id, initial }) => [id, initial]));
  if (dialog.blockedReason?.(initial, context) !== undefined) return undefined;
  return {
    verb: "lift",
    label: "undo",
    needsRow: false,
    start: (_, now) => ({ kind: "dialog", dialog: undoDialog(undo, now) }),
  };
}

function undoDialog({ createDialog, doneText, at }: Undoable, context: Context): Dialog {
  const dialog = createDialog(context);
  return {
    ...dialog,
    title: `Undo: ${dialog.title}`,
    lines: (values, then) => [
      ["Undoes", line(`${doneText}, ${ago(new Date(at).toISOString(), then.now)} in this console`)],
      ...dialog.lines(values, then),
    ],
  };
}

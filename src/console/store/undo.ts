/**
 * `u` wherever the cursor is: a row that is suspended is lifted, and where none is under the cursor, what was done last in
 * this console is taken back. Either asks first, and says what it will do.
 */

import { ago } from "../format/times.ts";
import type { Context } from "../model/context.ts";
import type { Dialog } from "../model/dialog.ts";
import type { Undoable } from "../model/state.ts";
import { line } from "../model/text.ts";
import type { Offer } from "../model/view.ts";

/** Undefined: there is nothing to take back, or nothing any more. */
export function undoOffer(undo: Undoable | undefined, context: Context): Offer | undefined {
  if (undo === undefined) return undefined;
  const dialog = undo.make(context);
  const initial = Object.fromEntries(dialog.fields.map(({ id, initial }) => [id, initial]));
  if (dialog.why?.(initial, context) !== undefined) return undefined;
  return {
    verb: "lift",
    does: "undo",
    needsRow: false,
    start: (_, now) => ({ kind: "dialog", dialog: undoDialog(undo, now) }),
  };
}

function undoDialog({ make, did, at }: Undoable, context: Context): Dialog {
  const dialog = make(context);
  return {
    ...dialog,
    title: `Undo: ${dialog.title}`,
    lines: (values, then) => [
      ["Undoes", line(`${did}, ${ago(new Date(at).toISOString(), then.now)} in this console`)],
      ...dialog.lines(values, then),
    ],
  };
}

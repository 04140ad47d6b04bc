/** Keys `s` and `u` for every table whose row ids name subjects that can be suspended. */

import type { SuspensionKind } from "../../admin-api/index.ts";
import {
  liftDialog,
  type Subjects,
  suspendDialog,
  whyAllSuspended,
  whyNotSuspended,
} from "../actions/suspension-dialogs.ts";
import type { Context } from "../model/context.ts";
import type { Offer, Selection } from "../model/view.ts";

/** Builds the offers. `whyNotSuspendable` returns the reason why the chosen subjects can never be suspended. */
export function suspensionOffers(
  kind: SuspensionKind,
  whyNotSuspendable: (chosen: Selection, context: Context) => string | undefined = () => undefined,
): readonly [suspend: Offer, lift: Offer] {
  const subjects = ({ ids }: Selection): Subjects => ({ kind, names: ids });
  return [
    {
      verb: "suspend",
      needsRow: true,
      takesMany: true,
      disabledReason: (chosen, context) =>
        whyNotSuspendable(chosen, context) ?? whyAllSuspended(context.data, subjects(chosen)),
      start: (chosen, context) => ({ kind: "dialog", dialog: suspendDialog(subjects(chosen), context) }),
    },
    {
      verb: "lift",
      needsRow: true,
      takesMany: true,
      disabledReason: ({ ids }, { data }) =>
        whyNotSuspended(
          data,
          ids.map((name) => ({ kind, name })),
        ),
      start: (chosen, context) => ({ kind: "dialog", dialog: liftDialog(subjects(chosen), context) }),
    },
  ];
}

/** View of the virtual keys: permissions, spending, last use and expiry. */

import { escapeControls } from "../../base/index.ts";
import { extendDialog, mintDialog, revokeDialog, rotateDialog } from "../actions/key-dialogs.ts";
import { keyNamed } from "../actions/keys-by-name.ts";
import { describedAs } from "../format/labeled-lines.ts";
import type { Context } from "../model/context.ts";
import type { Dialog } from "../model/dialog.ts";
import type { Intent, Offer, Selection, View } from "../model/view.ts";
import { bucketId, isShared } from "./budgets-bucket.ts";
import { budgetFilter, callerFilter, keyFilter } from "./keys-filters.ts";
import { spendingIn } from "./keys-index.ts";
import { keyPane } from "./keys-pane.ts";
import { keysTable } from "./keys-table.ts";
import { requestsOffer } from "./requests.ts";
import { suspensionOffers } from "./suspension-offers.ts";
import { xrayOffer } from "./xray.ts";

const MINT_COMMAND = '-d \'{"name":"ci"}\' POST keys';

const isKnown = ({ data }: Context): boolean => data.get({ id: "list_keys" })?.value !== undefined;

/** Returns the reason if the key of a single-key verb no longer exists. */
function whyGone({ ids: [name = ""] }: Selection, context: Context): string | undefined {
  if (!isKnown(context) || keyNamed(context.data, name) !== undefined) return undefined;
  return `${escapeControls(name)} no longer exists`;
}

const dialogIntent = (dialog: Dialog): Intent => ({ kind: "dialog", dialog });

/** Returns the bucket that the key uses, or the reason why there is none. */
function bucketFor({ ids: [name = ""] }: Selection, { data }: Context) {
  const key = keyNamed(data, name);
  const named = escapeControls(name);
  if (key === undefined) return `${named} no longer exists`;
  if (key.profile === null) return `${named} has no profile, so no budget`;
  const { budget, bucket } = spendingIn(data)(key);
  if (budget === undefined) return `the profile of ${named} has no budget`;
  return bucket ?? `${named} has not used budget ${escapeControls(budget)} yet, so there is no bucket`;
}

const followToBudget: Offer = {
  verb: "follow",
  label: "budget",
  needsRow: true,
  disabledReason(chosen, context) {
    const found = bucketFor(chosen, context);
    return typeof found === "string" ? found : undefined;
  },
  start(chosen, context) {
    const found = bucketFor(chosen, context);
    if (typeof found === "string") return { kind: "flash", message: found, tone: "warn" };
    const [name = ""] = chosen.ids;
    const filter = isShared(found) ? budgetFilter(found.budget) : keyFilter(name);
    return { kind: "go", place: { view: "budgets" }, filter, row: bucketId(found) };
  },
};

export const keysView: View = {
  id: "keys",
  rows: "key",
  aliases: ["key"],
  digit: "3",
  title: "Keys",
  about: "virtual keys: profile, state, last use, budget, expiry",
  group: "keys",
  subject: "key's id",
  needs: (subject) => [
    { id: "list_keys" },
    { id: "list_profiles" },
    { id: "list_budgets" },
    { id: "list_suspensions" },
    { id: "list_cluster_members" },
    ...(subject === undefined ? [] : [{ id: "list_requests" } as const]),
  ],
  body: {
    kind: "table",
    table: keysTable,
    sort: { column: "name", isDescending: false },
    pane: keyPane,
    describe: (name, context) => describedAs(keyPane(name, context), keyNamed(context.data, name)),
    empty: ({ subject, endpointFlags, isReadOnly }) => ({
      sentence: subject === undefined ? "No keys." : `No key of this gateway has the id ${escapeControls(subject)}.`,
      next:
        subject !== undefined
          ? "It was revoked or rotated (see `:changes`), or belongs to another gateway."
          : `${isReadOnly ? "Mint one with" : "Press m to mint one, or"} \`gateway admin ${endpointFlags} ${MINT_COMMAND}\``,
    }),
    query: {
      table: "keys",
      columns: ["name", "profile", "status", "created_at", "last_used_at", "expires_at", "id"],
      key: ["name"],
      order: "name",
    },
  },
  offers: [
    { verb: "mint", needsRow: false, start: ({ ids: [like] }, context) => dialogIntent(mintDialog(context, like)) },
    ...suspensionOffers("key"),
    {
      verb: "extend",
      label: "expiry",
      needsRow: true,
      disabledReason: whyGone,
      start: ({ ids: [name = ""] }) => dialogIntent(extendDialog(name)),
    },
    {
      verb: "rotate",
      needsRow: true,
      disabledReason: whyGone,
      start: ({ ids: [name = ""] }) => dialogIntent(rotateDialog(name)),
    },
    {
      verb: "remove",
      label: "revoke",
      needsRow: true,
      takesMany: true,
      disabledReason: ({ ids }, context) => (ids.length === 1 ? whyGone({ ids }, context) : undefined),
      start: ({ ids }) => dialogIntent(revokeDialog(ids)),
    },
    requestsOffer(callerFilter),
    xrayOffer,
    followToBudget,
  ],
};

/** View of the profiles: named policies that keys and issuers refer to, with the number of keys. */

import type { ProfileRecord } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";
import { profileNamed } from "../actions/keys-by-name.ts";
import { suspensionOf, suspensionText } from "../actions/suspension-dialogs.ts";
import { countColumn, textColumn } from "../format/column-kinds.ts";
import { describedAs, labeledLine, shown } from "../format/labeled-lines.ts";
import { count } from "../format/numbers.ts";
import type { Context } from "../model/context.ts";
import { type Data, rowsOf } from "../model/data.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import { type Line, span } from "../model/text.ts";
import type { Intent, Offer, View } from "../model/view.ts";
import { BUDGET_STATES, bucketLine, isShared } from "./budgets-bucket.ts";
import { budgetFilter, profileFilter } from "./keys-filters.ts";
import { capsOf, detectorsOf, modelsOf, profileLines } from "./profiles-facts.ts";
import { requestsOffer } from "./requests.ts";
import { suspensionOffers } from "./suspension-offers.ts";
import { xrayOffer } from "./xray.ts";

const columnsOf = (data: Data): readonly Column<ProfileRecord>[] => [
  textColumn(
    { head: "NAME", letter: "n", width: { least: 14, flex: 2 }, priority: 1, cut: "middle" },
    ({ name }) => name,
  ),
  {
    id: "state",
    head: "STATE",
    letter: "s",
    width: 9,
    align: "left",
    priority: 2,
    cell: ({ name }) => (isSuspended(data, name) ? span("SUSPENDED", "off") : span("active")),
    sortKey: ({ name }) => (isSuspended(data, name) ? "suspended" : "active"),
  },
  textColumn(
    { head: "BUDGET", letter: "b", width: { least: 10, flex: 1 }, priority: 4, cut: "middle" },
    ({ budget }) => budget,
  ),
  {
    id: "models",
    head: "MODELS",
    letter: "m",
    width: { least: 10, flex: 3 },
    align: "left",
    priority: 5,
    cell: (profile) => shown(modelsOf(profile)),
    sortKey: ({ allowed_models }) => allowed_models.length,
  },
  {
    id: "caps",
    head: "CAPS",
    letter: "c",
    width: { least: 6, flex: 1 },
    align: "left",
    priority: 7,
    cell: (profile) => shown(capsOf(profile)),
    sortKey: ({ require_caps }) => require_caps.length,
  },
  countColumn({ head: "RULES", letter: "r", width: 5, priority: 6 }, ({ access_rules }) => access_rules),
  {
    id: "detectors",
    head: "DETECTORS",
    letter: "d",
    width: { least: 9, flex: 1 },
    align: "left",
    priority: 8,
    cell: (profile) => shown(detectorsOf(profile)),
    sortKey: detectorsOf,
  },
  countColumn({ head: "KEYS", letter: "k", width: 6, priority: 3 }, ({ keys }) => keys),
];

const isSuspended = (data: Data, name: string): boolean => suspensionOf(data, "profile", name) !== undefined;

const table = ({ data }: Pick<Context, "data">): Table =>
  tableOf<ProfileRecord>(
    {
      columns: columnsOf(data),
      idOf: ({ name }) => name,
      nameOf: ({ name }) => name,
      haystack: ({ name, budget, allowed_models: models, require_caps: caps, detectors }) =>
        [
          profileFilter(name),
          budget === null ? "" : budgetFilter(budget),
          ...models,
          ...caps,
          ...(detectors ?? []),
        ].join(" "),
      isBad: ({ name }) => isSuspended(data, name),
      jsonOf: (profile) => profile,
    },
    rowsOf(data, "profiles"),
  );

/** Maximum number of buckets in the pane; those that need attention come first. */
const MAX_BUCKETS = 4;

function pane(name: string, { data, now, isAscii }: Context): readonly Line[] {
  const profile = profileNamed(data, name);
  if (profile === undefined) return [];
  const suspension = suspensionOf(data, "profile", name);
  const buckets = rowsOf(data, "budgets").filter(({ budget }) => budget === profile.budget);
  const shared = buckets.filter(isShared);
  const bad = buckets.filter((it) => !isShared(it) && BUDGET_STATES[it.status].mark !== "");
  const listed = [...shared, ...bad].slice(0, MAX_BUCKETS);
  return [
    ...profileLines(profile),
    ...(suspension === undefined ? [] : [labeledLine("", span(`SUSPENDED ${suspensionText(suspension, now)}`, "off"))]),
    ...listed.map((bucket) => labeledLine("budget", ...bucketLine(bucket, now, isAscii))),
    ...(buckets.length > listed.length
      ? [labeledLine("", span(`${count(buckets.length - listed.length)} more buckets; f shows them`, "dim"))]
      : []),
  ];
}

const followToBudget: Offer = {
  verb: "follow",
  label: "budget",
  needsRow: true,
  disabledReason({ ids: [name = ""] }, { data }) {
    const profile = profileNamed(data, name);
    const named = escapeControls(name);
    if (profile === undefined) return `${named} no longer exists`;
    return profile.budget === null ? `${named} has no budget` : undefined;
  },
  start: ({ ids: [name = ""] }, { data }): Intent => ({
    kind: "go",
    place: { view: "budgets" },
    filter: budgetFilter(profileNamed(data, name)?.budget ?? ""),
  }),
};

export const profilesView: View = {
  id: "profiles",
  rows: "profile",
  aliases: ["profile"],
  title: "Profiles",
  about: "profiles of callers: models, capabilities, budget, rules",
  group: "keys",
  needs: () => [
    { id: "list_profiles" },
    { id: "list_suspensions" },
    { id: "list_budgets" },
    { id: "list_cluster_members" },
  ],
  body: {
    kind: "table",
    table,
    sort: { column: "name", isDescending: false },
    pane,
    describe: (name, context) => describedAs(pane(name, context), profileNamed(context.data, name)),
    empty: ({ endpointFlags }) => ({
      sentence: "No profiles.",
      next: `Define them in the deployment document (\`profiles:\`); to see what is in force: \`gateway admin ${endpointFlags} GET config\``,
    }),
    open: (name) => ({ kind: "go", place: { view: "keys" }, filter: profileFilter(name) }),
    query: {
      table: "profiles",
      columns: ["name", "budget", "allowed_models", "require_caps", "access_rules", "detectors", "keys"],
      key: ["name"],
      order: "name",
    },
  },
  offers: [...suspensionOffers("profile"), requestsOffer(profileFilter), xrayOffer, followToBudget],
};

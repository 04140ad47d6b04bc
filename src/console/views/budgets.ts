/** View of the budgets: each bucket in its current window, the remainder, and how long it lasts at the current rate. */

import type { BudgetRecord } from "../../admin-api/index.ts";
import { padTo } from "../format/cut-text.ts";
import { describedAs, labeledLine, shown } from "../format/labeled-lines.ts";
import { namesText } from "../format/name-list.ts";
import { count, plural } from "../format/numbers.ts";
import { clock } from "../format/times.ts";
import type { Context } from "../model/context.ts";
import { type Data, rowsOf } from "../model/data.ts";
import { largest, smallest, summed, valuesOf } from "../model/rows-query.ts";
import { type Line, line, span } from "../model/text.ts";
import type { Intent, Offer, Selection, View } from "../model/view.ts";
import { bucketId, bucketLine, burnOf, burnText, isShared, ownerOf, refusalCause } from "./budgets-bucket.ts";
import { budgetsTable } from "./budgets-table.ts";
import { anyOf, budgetFilter, callerFilter, profileFilter } from "./keys-filters.ts";
import { requestsOffer } from "./requests.ts";

const bucketWith = (data: Data, id: string): BudgetRecord | undefined =>
  rowsOf(data, "budgets").find((row) => bucketId(row) === id);

function pane(id: string, { data, now, isAscii }: Context, mostHolders: number): readonly Line[] {
  const row = bucketWith(data, id);
  if (row === undefined) return [];
  const isShort = burnOf(row, now).kind === "exhausts";
  const reason = refusalCause(row);
  return [
    bucketLine(row, now, isAscii),
    labeledLine("burn", span(burnText(row, now), isShort ? "warn" : "plain")),
    labeledLine(
      "left",
      span(`${count(row.remaining)}; ${count(row.reserved)} reserved here, ${count(row.granted)} granted and unspent`),
      span(`  window ends ${clock(Date.parse(row.resets_at), now)}`, "dim"),
    ),
    ...(row.refused_per_minute === 0
      ? []
      : [
          labeledLine(
            "refused",
            span(`${plural(row.refused_per_minute, "request")} in the last minute`, "fail"),
            span(reason === "" ? "" : `: ${reason}`),
            span("  :refusals lists the callers", "dim"),
          ),
        ]),
    labeledLine("used by", ...referrersOf(row, data)),
    ...holderLines(row, mostHolders),
  ];
}

function referrersOf(row: BudgetRecord, data: Data) {
  if (row.key !== null) return [shown(`the key ${row.key} alone`)];
  if (!isShared(row)) return [shown(`${ownerOf(row)} alone: a token's subject, or a key that no longer exists`)];
  const profiles = rowsOf(data, "profiles").filter(({ budget }) => budget === row.budget);
  if (data.get({ id: "list_profiles" })?.value === undefined) return [span("the profiles are not known", "dim")];
  if (profiles.length === 0) return [span("no profile")];
  const keys = profiles.reduce((sum, profile) => sum + profile.keys, 0);
  return [
    span(`${profiles.length === 1 ? "profile" : "profiles"} ${namesText(profiles.map(({ name }) => name))}`),
    span(`  ${plural(keys, "key")}`),
  ];
}

/** Maximum number of nodes in the pane. */
const MAX_HOLDERS = 3;
const NUMBER_CELLS = 16;

function holderLines({ holders }: BudgetRecord, most: number): readonly Line[] {
  if (holders.length === 0) return [labeledLine("nodes", span("no node has a share of it", "dim"))];
  const cells = (text: string): string => padTo(text, NUMBER_CELLS, "right");
  const nodeCells = 14;
  const listed = holders.length > most ? holders.slice(0, most - 1) : holders;
  return [
    line(`${padTo("NODE", nodeCells)}${cells("GRANTED")}${cells("SPENT")}`, "dim"),
    ...listed.map(({ node, granted, spent }) => [
      { text: padTo(shown(node).text, nodeCells) },
      { text: `${cells(count(granted))}${cells(count(spent))}` },
    ]),
    ...(listed.length < holders.length ? [line(`and ${holders.length - listed.length} more; d shows all`, "dim")] : []),
  ];
}

const chosenBucket = ({ ids: [id = ""] }: Selection, { data }: Context): BudgetRecord | undefined =>
  bucketWith(data, id);

const followToKeys: Offer = {
  verb: "follow",
  label: "keys",
  needsRow: true,
  disabledReason(chosen, context) {
    const row = chosenBucket(chosen, context);
    if (row === undefined) return "the bucket no longer exists";
    if (row.key !== null || isShared(row)) return undefined;
    return `${ownerOf(row)} is a token's subject, or a key that no longer exists`;
  },
  start(chosen, context): Intent {
    const row = chosenBucket(chosen, context);
    if (row === undefined) return { kind: "flash", message: "the bucket no longer exists", tone: "warn" };
    if (row.key === null) return { kind: "go", place: { view: "keys" }, filter: budgetFilter(row.budget) };
    return { kind: "go", place: { view: "keys" }, filter: "", row: row.key };
  },
};

/**
 * Returns the filter for requests: for a key's own bucket those of the key, for a shared one those of the profiles that use it.
 */
function requestsOfBucket(id: string, { data }: Context): string | undefined {
  const row = bucketWith(data, id);
  if (row === undefined) return undefined;
  if (row.key !== null) return callerFilter(row.key);
  if (!isShared(row)) return undefined;
  const profiles = rowsOf(data, "profiles").flatMap(({ name, budget }) => (budget === row.budget ? [name] : []));
  return profiles.length === 0 ? undefined : anyOf(profiles.map(profileFilter));
}

export const budgetsView: View = {
  id: "budgets",
  aliases: ["budget"],
  digit: "4",
  title: "Budgets",
  about: "buckets with their usage, remaining amount and reset time",
  needs: () => [{ id: "list_budgets" }, { id: "list_profiles" }],
  body: {
    kind: "table",
    table: budgetsTable,
    sort: { column: "%", isDescending: true },
    pane: (id, context) => pane(id, context, MAX_HOLDERS),
    describe: (id, context) => describedAs(pane(id, context, Number.POSITIVE_INFINITY), bucketWith(context.data, id)),
    empty: ({ endpointFlags }) => ({
      sentence: "No budgets, or none has been used yet.",
      next: `Define them in the deployment document (\`budgets:\`); which profiles have one: \`gateway admin ${endpointFlags} GET profiles\``,
    }),
    query: {
      table: "budgets",
      columns: [
        "budget",
        "bucket",
        "key",
        "limit",
        largest("used"),
        summed("reserved"),
        smallest("remaining"),
        "resets_at",
        valuesOf("status"),
      ],
      key: ["budget", "bucket"],
      group: ["budget", "bucket", "key", "limit", "resets_at"],
      order: "remaining",
    },
  },
  offers: [requestsOffer(requestsOfBucket), followToKeys],
};

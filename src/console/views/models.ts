/** View of the model names that requests may use, in matching order, with the current target of each. */

import { escapeControls } from "../../base/index.ts";
import { activeSuspensions } from "../actions/suspension-routes.ts";
import { textColumn } from "../format/column-kinds.ts";
import { labeledLine, shown } from "../format/labeled-lines.ts";
import type { Context } from "../model/context.ts";
import { type Data, rowsOf } from "../model/data.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import { type Line, span, type Tone } from "../model/text.ts";
import type { Selection, View } from "../model/view.ts";
import { modelFilter } from "./keys-filters.ts";
import { joinSpans, type ModelRoute, modelRoutes, providerSpan } from "./providers-facts.ts";
import { requestsOffer } from "./requests.ts";
import { suspensionOffers } from "./suspension-offers.ts";

export interface ModelRow extends ModelRoute {
  /** Position in the matching order, from 1. */
  readonly order: number;
  readonly isSuspended: boolean;
}

export const modelRows = (data: Data): readonly ModelRow[] => {
  const off = new Set(activeSuspensions(data).flatMap(({ kind, name }) => (kind === "model" ? [name] : [])));
  return modelRoutes(data).map((serving, at) => ({
    ...serving,
    order: at + 1,
    // An alias is suspended together with its upstream model.
    isSuspended: [serving.model.model, serving.model.upstream_model].some((name) => name !== null && off.has(name)),
  }));
};

export interface ModelState {
  readonly rank: number;
  readonly mark: string;
  readonly word: string;
  readonly tone: Tone;
}

export function modelStateOf({ isSuspended, first, model }: ModelRow): ModelState {
  if (first === undefined) return { rank: 0, mark: "!", word: "NOBODY", tone: "fail" };
  if (isSuspended) return { rank: 1, mark: "~", word: "SUSPENDED", tone: "off" };
  if (first !== model.provider) return { rank: 2, mark: "~", word: "failover", tone: "warn" };
  return { rank: 3, mark: " ", word: "ok", tone: "plain" };
}

const COLUMNS: readonly Column<ModelRow>[] = [
  {
    id: "#",
    head: "#",
    letter: "o",
    width: 4,
    align: "right",
    priority: 4,
    cell: ({ order }) => span(String(order), "dim"),
    sortKey: ({ order }) => order,
  },
  textColumn(
    { head: "MODEL", letter: "m", width: { least: 16, flex: 3 }, priority: 1, cut: "middle" },
    ({ model }) => model.model,
  ),
  textColumn({ head: "KIND", letter: "k", width: 7, priority: 3 }, ({ model }) => model.kind),
  {
    id: "state",
    head: "STATE",
    letter: "s",
    width: 10,
    align: "left",
    priority: 1,
    cell(row) {
      const { mark, word, tone } = modelStateOf(row);
      return span(`${mark}${word}`, tone);
    },
    sortKey: (row) => modelStateOf(row).rank,
  },
  textColumn(
    { head: "PROVIDER", letter: "p", width: { least: 12, flex: 2 }, priority: 1, cut: "middle" },
    ({ model }) => model.provider,
  ),
  {
    id: "sent as",
    head: "SENT AS",
    letter: "a",
    width: { least: 9, flex: 2 },
    align: "left",
    priority: 4,
    cut: "middle",
    cell: ({ model: { upstream_model: upstream } }) => (upstream === null ? span("same", "dim") : shown(upstream)),
    sortKey: ({ model }) => model.upstream_model,
  },
  textColumn({ head: "DIALECTS", letter: "d", width: 15, priority: 5 }, ({ model }) => model.dialects.join(",")),
  {
    id: "failover",
    head: "FAILOVER",
    letter: "f",
    width: { least: 8, flex: 2 },
    align: "left",
    priority: 2,
    cell: ({ model }) => (model.failover.length === 0 ? span("-", "dim") : shown(model.failover.join(", "))),
    sortKey: ({ model }) => (model.failover.length === 0 ? null : model.failover.join(", ")),
  },
];

const table = ({ data }: Omit<Context, "now">): Table =>
  tableOf<ModelRow>(
    {
      columns: COLUMNS,
      idOf: ({ model }) => model.model,
      nameOf: ({ model }) => model.model,
      haystack: ({ model, providers }) => [model.model, model.kind, model.upstream_model ?? "", ...providers].join(" "),
      isBad: (row) => modelStateOf(row).mark !== " ",
      jsonOf: ({ model }) => model,
    },
    modelRows(data),
  );

function pane(id: string, { data }: Context): readonly Line[] {
  const row = modelRows(data).find(({ model }) => model.model === id);
  if (row === undefined) return [];
  const { model, providers, first } = row;
  const { word, tone } = modelStateOf(row);
  return [
    labeledLine(
      "state",
      span(word, tone),
      shown(first === undefined ? "  no provider in its plan is available" : `  now uses ${first}`),
    ),
    labeledLine(
      "plan",
      ...joinSpans(
        providers.map((name) => providerSpan(data, name)),
        " > ",
      ),
    ),
    labeledLine("sent as", shown(model.upstream_model ?? "the same name")),
    labeledLine("dialects", shown(model.dialects.join(", "))),
  ];
}

/** Returns the reason why a pattern cannot be suspended: a suspension is for one name, so a pattern would match no request. */
function whyNotSuspendable({ ids }: Selection, { data }: Context): string | undefined {
  const pattern = rowsOf(data, "models").find(
    ({ model, kind }) => ids.includes(model) && (kind === "pattern" || kind === "default"),
  );
  return pattern === undefined
    ? undefined
    : `${escapeControls(pattern.model)} is a pattern, but a suspension needs one model name: press n in :suspensions`;
}

const providerOf = ({ ids: [id] }: Selection, data: Data): string | undefined =>
  rowsOf(data, "models").find(({ model }) => model === id)?.provider;

export const modelsView: View = {
  id: "models",
  rows: "model",
  aliases: ["model", "routes"],
  title: "Models",
  about: "model names that requests can ask for, in match order, and the provider of each",
  needs: () => [
    { id: "list_models" },
    { id: "list_suspensions" },
    { id: "list_backends" },
    { id: "list_cluster_members" },
  ],
  body: {
    kind: "table",
    table,
    sort: { column: "#", isDescending: false },
    pane,
    empty: () => ({
      sentence: "No model is routed: every request is refused.",
      next: "Define names in the deployment document under `providers[].models` and `model_aliases`, or name a `default_provider`.",
    }),
    query: {
      table: "models",
      columns: ["model", "kind", "provider", "upstream_model", "dialects", "failover"],
      key: ["model", "kind", "provider"],
    },
  },
  offers: [
    ...suspensionOffers("model", whyNotSuspendable),
    requestsOffer(modelFilter, (of, context) =>
      whyNotSuspendable(of, context) === undefined
        ? undefined
        : "it is a pattern; / in :requests finds the requested names",
    ),
    {
      verb: "follow",
      label: "provider",
      needsRow: true,
      disabledReason: (chosen, { data }) =>
        providerOf(chosen, data) === undefined ? "the model no longer exists" : undefined,
      start: (chosen, { data }) => ({
        kind: "go",
        place: { view: "providers" },
        row: providerOf(chosen, data) ?? "",
      }),
    },
  ],
};

/** Part of an xray tree for the targets of traffic: models with their providers, MCP servers, agents. */

import type { ModelRecord } from "../../admin-api/index.ts";
import { count } from "../format/numbers.ts";
import type { Data } from "../model/data.ts";
import { type MeasuredRow, type MeasuredTable, measuredRows, STATES } from "./measured.ts";
import { type ModelRow, type ModelState, modelRows, modelStateOf } from "./models.ts";
import { measuredNode, node, type Tree, unread, unreadNode } from "./xray-node.ts";

/** Maximum number of models in a tree, and of providers of each; the view of models lists all. */
const MAX_MODELS = 300;

/** Returns whether two names or trailing-`*` patterns can mean one model. */
function overlap(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => (text.endsWith("*") ? text.slice(0, -1) : undefined));
  if (a !== undefined && b !== undefined) return a.startsWith(b) || b.startsWith(a);
  if (a !== undefined) return other.startsWith(a);
  return b === undefined ? one === other : one.startsWith(b);
}

/** Lists the models with their providers; an empty `allowed` means every routed model. */
export function modelsTree(parent: string, data: Data, allowed: readonly string[]): Tree {
  const reason = unread(data, "list_models");
  if (reason !== undefined) return unreadNode(parent, "models", reason);
  const rows = modelRows(data).filter(
    ({ model }) => allowed.length === 0 || allowed.some((pattern) => overlap(pattern, model.model)),
  );
  const unserved = allowed.filter((pattern) => !rows.some(({ model }) => overlap(pattern, model.model)));
  const shown = rows.slice(0, MAX_MODELS);
  const providers = new Map(measuredRows(data, "backends").map((met) => [met.record.name, met]));
  const more = rows.length - shown.length;
  return node(
    parent,
    {
      kind: "models",
      name: "",
      facts: () =>
        [
          allowed.length === 0 ? `every routed model: ${count(rows.length)}` : `allowed: ${allowed.join(", ")}`,
          ...(more > 0 ? [`${count(more)} more in :models`] : []),
        ].join("; "),
      target: { place: { view: "models" } },
    },
    (id) => [
      ...shown.map((row) => {
        const { word, tone, mark } = stateOf(row, providers);
        return node(
          id,
          {
            kind: row.model.kind === "name" ? "model" : `model ${row.model.kind}`,
            name: row.model.model,
            state: word,
            tone,
            isBad: mark !== " ",
            facts: () => modelText(row.model, row.first),
            target: { place: { view: "models" }, row: row.model.model },
            json: row.model,
          },
          (of) =>
            [...new Set(row.providers)].map((name) =>
              measuredNode(data, of, "provider", name, providers.get(name), "providers"),
            ),
        );
      }),
      ...unserved.map((name) =>
        node(id, {
          kind: "model",
          name,
          state: "NOBODY",
          tone: "fail",
          isBad: true,
          facts: () => "the profile allows it, and no provider serves it",
          target: { place: { view: "models" } },
        }),
      ),
    ],
  );
}

/** Returns the state that the view of models has, or failing if the provider that is asked first fails. */
function stateOf(
  row: ModelRow,
  providers: ReadonlyMap<string, MeasuredRow>,
): Pick<ModelState, "word" | "tone" | "mark"> {
  const state = modelStateOf(row);
  const first = row.first === undefined ? undefined : providers.get(row.first);
  return state.mark === " " && first?.state === "failing" ? STATES.failing : state;
}

const modelText = ({ upstream_model: upstream, provider }: ModelRecord, first: string | undefined): string =>
  [
    first === undefined ? "no provider in its plan is available" : first === provider ? "" : `now uses ${first}`,
    upstream === null ? "" : `sent as ${upstream}`,
  ]
    .filter((text) => text !== "")
    .join(", ");

const CALLS: readonly (readonly [table: MeasuredTable, head: string, kind: string, view: string])[] = [
  ["mcp_servers", "MCP servers", "MCP server", "mcp"],
  ["a2a_agents", "A2A agents", "A2A agent", "a2a"],
];

/** Lists MCP servers and agents; only access rules narrow these. */
export const callsTrees = (parent: string, data: Data): readonly Tree[] =>
  CALLS.flatMap(([table, head, kind, view]) => {
    const rows: readonly MeasuredRow[] = measuredRows(data, table);
    if (rows.length === 0) return [];
    const fields = { kind: head, name: "", target: { place: { view } }, facts: () => "as far as access rules allow" };
    return [node(parent, fields, (id) => rows.map((met) => measuredNode(data, id, kind, met.record.name, met, view)))];
  });

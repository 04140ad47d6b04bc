/**
 * View of the tree of a caller's dependencies with live states: why a key fails, and what would fail with it. Enter opens the
 * part in its own view.
 */

import { closestName, escapeControls } from "../../base/index.ts";
import { labeledLine, shown } from "../format/labeled-lines.ts";
import { linesOfFields } from "../format/record-lines.ts";
import { rowsOfTree, type TreeRow } from "../format/tree.ts";
import type { Context } from "../model/context.ts";
import { type Data, type Need, type ReadableId, rowsOf } from "../model/data.ts";
import { createMemo } from "../model/remember.ts";
import { type Column, type Table, tableOf } from "../model/table.ts";
import { BLANK, type Line, span } from "../model/text.ts";
import type { Offer, View } from "../model/view.ts";
import type { XrayNode } from "./xray-node.ts";
import { xrayOf } from "./xray-tree.ts";

interface Row extends TreeRow<XrayNode> {
  /** Position in the tree, from 0. */
  readonly order: number;
}

const COLUMNS: readonly Column<Row>[] = [
  {
    id: "object",
    head: "OBJECT",
    letter: "o",
    width: { least: 30, flex: 2 },
    align: "left",
    priority: 1,
    cut: "end",
    cell: ({ branch, value: { kind, name } }) => span(`${branch}${escapeControls(`${kind} ${name}`.trim())}`),
    sortKey: ({ order }) => order,
  },
  {
    id: "state",
    head: "STATE",
    letter: "s",
    width: 10,
    align: "left",
    priority: 1,
    cell: ({ value: { state, tone } }) => span(state, tone),
    // Rows that need attention come first; the others keep the order of the tree.
    sortKey: ({ value: { isBad, state } }) => `${isBad ? 0 : 1}${state}`,
  },
  {
    id: "details",
    head: "DETAILS",
    letter: "d",
    width: { least: 20, flex: 3 },
    align: "left",
    priority: 2,
    cell: ({ value: of }, now) => shown(of.facts(now)),
    sortKey: ({ value: of }) => of.facts(0),
  },
];

const NEEDS = [
  { id: "list_keys" },
  { id: "list_profiles" },
  { id: "list_budgets" },
  { id: "list_models" },
  { id: "list_backends" },
  { id: "list_guardrails" },
  { id: "list_refusals" },
  { id: "list_suspensions" },
  { id: "list_mcp_servers" },
  { id: "list_a2a_agents" },
  { id: "list_cluster_members" },
] as const satisfies readonly Need[];

const ROWS = createMemo<readonly Row[]>();

/** Rebuilds the tree only if one of its lists has changed, since every frame needs it. */
function rowsFor({ data, subject }: Pick<Context, "data" | "subject">): readonly Row[] {
  const readings = NEEDS.map((need) => data.get<ReadableId>(need));
  return ROWS([subject, ...readings.flatMap((reading) => [reading?.value, reading?.failure])], () => {
    const tree = subject === undefined ? undefined : xrayOf(data, subject);
    return tree === undefined ? [] : rowsOfTree(tree).map((row, order) => ({ ...row, order }));
  });
}

const table = (context: Pick<Context, "data" | "subject">): Table =>
  tableOf<Row>(
    {
      columns: COLUMNS,
      idOf: ({ value: of }) => of.id,
      nameOf: ({ value: { kind, name } }) => (name === "" ? kind : name),
      haystack: ({ value: { kind, name, state } }) => `${kind} ${name} ${state}`,
      isBad: ({ value: of }) => of.isBad,
      jsonOf: ({ value: of }) => of.json,
    },
    rowsFor(context),
  );

const nodeIn = (id: string, context: Context): XrayNode | undefined =>
  rowsFor(context).find(({ value: of }) => of.id === id)?.value;

function describe(id: string, context: Context): readonly Line[] {
  const node = nodeIn(id, context);
  if (node === undefined) return [];
  return [
    labeledLine("object", shown(`${node.kind} ${node.name}`.trim(), "strong")),
    ...(node.state === "" ? [] : [labeledLine("state", shown(node.state, node.tone))]),
    labeledLine("details", shown(node.facts(context.now))),
    BLANK,
    ...linesOfFields(node.json),
  ];
}

const namesOf = (data: Data): readonly string[] => [
  ...rowsOf(data, "keys").map(({ name }) => name),
  ...rowsOf(data, "profiles").map(({ name }) => name),
];

/** Offer of views whose rows are keys or profiles. It goes to the tree of the row. */
export const xrayOffer: Offer = {
  verb: "xray",
  needsRow: true,
  start: ({ ids: [name = ""] }) => ({ kind: "go", place: { view: "xray", subject: name } }),
};

export const xrayView: View = {
  id: "xray",
  aliases: ["tree"],
  title: "Xray",
  about: "what a caller depends on, as a tree: profile, budget, rules, guardrails, models, providers",
  subject: "key or profile",
  subjects: ({ data }) => namesOf(data),
  needs: () => NEEDS,
  body: {
    kind: "table",
    table,
    sort: { column: "object", isDescending: false },
    rowNeeds: () => [{ id: "list_profiles" }],
    describe,
    open(id, context) {
      const node = nodeIn(id, context);
      if (node?.target === undefined) return { kind: "flash", message: "no view shows this row; d shows its fields" };
      return { kind: "go", ...node.target };
    },
    empty({ subject, data }) {
      if (subject === undefined)
        return {
          sentence: "No caller is named.",
          next: "Type `:xray NAME` with a key or profile, or press i on a key (3).",
        };
      const names = namesOf(data);
      const meant =
        names.find((name) => name.toLowerCase().includes(subject.toLowerCase())) ?? closestName(subject, names);
      return {
        sentence: `No key or profile is named ${escapeControls(subject)}.`,
        next: meant === undefined ? "`:keys` and `:profiles` list them." : `Did you mean ${escapeControls(meant)}?`,
      };
    },
  },
  offers: [],
};

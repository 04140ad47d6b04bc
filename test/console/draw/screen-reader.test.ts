import assert from "node:assert/strict";
import { test } from "node:test";
import { renderTree } from "../../../src/console/draw/screen-reader.ts";
import type { ReaderNode } from "../../../src/console/draw/screen-reader-node.ts";
import type { State } from "../../../src/console/model/state.ts";
import {
  dataOf,
  HELP,
  NOW,
  noWorkbench,
  opened,
  providersView,
  READINGS,
  REVOKE,
  SUSPEND,
  stateAt,
  VIEWS,
  withTable,
} from "./fixture.ts";

const treeOf = (change: Partial<State> = {}) => renderTree(stateAt("80x24", change), VIEWS, noWorkbench);
const all = (nodes: readonly ReaderNode[]): readonly ReaderNode[] =>
  nodes.flatMap((node) => [node, ...all(node.children ?? [])]);
const textOf = (nodes: readonly ReaderNode[]): string =>
  all(nodes)
    .map(({ text }) => text)
    .join("\n");

test("a table is read as rows with column heads, with the selected row marked", () => {
  const nodes = treeOf(withTable({ marks: new Set(["acme-alt"]) }));
  const table = nodes.find(({ role }) => role === "table");
  const [first, , third] = table?.children ?? [];
  assert.match(first?.text ?? "", /^NAME: acme-chat, STATE: FAILING, REQ\/s: 12\.4/);
  assert.deepEqual([first?.role, first?.state?.selected, third?.state?.checked], ["listitem", true, true]);
});

test("a passing second changes nothing in the screen reader's text", () => {
  assert.deepEqual(treeOf({ now: NOW + 2_000 }), treeOf());
});

test("a dialog is read as its text, its fields with their kinds, and its buttons", () => {
  const nodes = all(treeOf({ dialog: opened(SUSPEND, { focus: 1 }) }));
  const of = (role: ReaderNode["role"]) => nodes.filter((node) => node.role === role).map(({ text }) => text);
  assert.deepEqual(of("textbox"), ["Reason: console: incident"]);
  assert.deepEqual(of("radiogroup"), ["Duration"]);
  assert.equal(nodes.find(({ role, state }) => role === "radio" && state?.checked)?.text, "30m");
  assert.deepEqual(of("button"), ["Enter, then y suspend now", "Esc cancel"]);
  assert.match(textOf(nodes), /request: PUT \/admin\/v1\/suspensions\/provider:acme-chat/);
});

test("a button that cannot be pressed yet is disabled", () => {
  const nodes = all(treeOf({ dialog: opened(REVOKE, { typed: { text: "prod", at: 4 } }) }));
  assert.equal(nodes.find(({ role }) => role === "button")?.state?.disabled, true);
});

test("every state of a view is read in words", () => {
  const failure = { status: 403, code: "forbidden", message: "denied by rule operators", at: NOW };
  const forbidden = dataOf({ ...READINGS, list_backends: { ...READINGS.list_backends, failure } });
  assert.match(textOf(treeOf({ data: forbidden })), /Your policy does not permit list_backends/);
  const loading = treeOf({ data: dataOf({ ...READINGS, list_backends: { value: undefined } }) });
  assert.equal(loading.find(({ text }) => text === "loading")?.state?.busy, true);
  assert.match(textOf(treeOf(withTable({ filter: "/foo/" }))), /0 of 5 match \/foo\//);
  assert.match(textOf(treeOf({ place: { view: "guide" } })), /step 1\n/);
  assert.match(textOf(treeOf({ place: { view: "query" } })), /statement:/);
  assert.match(
    textOf(treeOf(HELP)),
    /u: lift the suspension, or undo the last change \(unavailable: acme-chat is not suspended\)/,
  );
});

test("a node without an answer is named, with and without rows", () => {
  const gaps = { unanswered: ["n3"], cut: ["n2"] };
  const data = dataOf({ ...READINGS, list_backends: { ...READINGS.list_backends, gaps } });
  const warning = /n3 has not answered, and is missing here; there is more on n2 than is shown/;
  assert.match(textOf(treeOf({ data })), warning);
  const text = textOf(renderTree(stateAt("80x24", { data }), [providersView([]), ...VIEWS.slice(1)], noWorkbench));
  assert.match(text, warning);
  assert.doesNotMatch(textOf(treeOf()), /answered/);
});

test("borders and blocks are not read aloud", () => {
  for (const change of [{}, HELP, { dialog: opened(SUSPEND) }, { place: { view: "query" } }]) {
    assert.doesNotMatch(textOf(treeOf(change)), /[─│┌┐└┘█░]/);
  }
});

/** Packs, the result of adding one, and the dialog that writes exactly that. */
import assert from "node:assert/strict";
import test from "node:test";
import type { PackFacts, PackShelf, PackTrial } from "../../../src/console/model/documents.ts";
import { packsView } from "../../../src/console/views/packs.ts";
import {
  bodyOf,
  cellAt,
  contextOf,
  dialogOf,
  startOf,
  tableOfView,
  textsOf,
  valuesOf,
  whyOf,
  wordsOf,
} from "./keys-fixture.ts";

const facts = (others: Partial<PackFacts> = {}): PackFacts => ({
  name: "secrets",
  id: "secrets",
  version: "1.0.0",
  title: "Credentials stay",
  buildsOn: [],
  detectors: 1,
  rules: 1,
  controls: [{ id: "iso:8.12", title: "Leaks", citation: "ISO" }],
  readme: "# Secrets\nNot covered: all else.\u001b[31m",
  there: 1,
  objects: 2,
  problem: undefined,
  ...others,
});
const shelf = (others: Partial<PackShelf> = {}): PackShelf => ({
  source: "default",
  revision: 4,
  file: undefined,
  packs: [facts(), facts({ name: "./ours", id: "ours", there: 0, problem: "another rule" })],
  ...others,
});
const trial = (others: Partial<PackTrial> = {}): PackTrial => ({
  problems: [],
  change: {
    source: "default",
    revision: 4,
    file: undefined,
    text: "a: 1\napi_key: sk-canary\n",
    after: "a: 1\napi_key: sk-canary\nb: 2\n",
  },
  compiling: { kind: "compiles", warnings: [] },
  blockedReason: undefined,
  objects: [
    { pack: "secrets", list: "guardrails.detectors", name: "secrets", change: "present", controls: [] },
    { pack: "secrets", list: "guardrails.rules", name: "deny\u202e", change: "added", controls: ["iso:8.12"] },
  ],
  cases: { lines: ["ok 1", "12 passed", "all decided"], passes: true },
  ...others,
});
const contextWith = (tried: PackTrial | undefined, packs = shelf()) =>
  contextOf({ packs, list_sources: [], ...(tried !== undefined && { pack_trial: tried }) });

test("a pack shows how much of it the document has, and a differing one needs attention", () => {
  const table = tableOfView(packsView, contextWith(trial()));
  assert.deepEqual([cellAt(table, 0, "in document"), cellAt(table, 1, "in document")], ["~ 1 of 2", "! does not fit"]);
  assert.deepEqual([table.isBad(0), table.isBad(1)], [false, true]);
  assert.deepEqual(bodyOf(packsView).paneNeeds?.("secrets", contextWith(undefined)), [
    { id: "pack_trial", name: '["default","secrets"]' },
  ]);
});

test("the pane shows each object, the compile result and the pack's own test cases", () => {
  const text = textsOf(bodyOf(packsView).pane?.("secrets", contextWith(trial())) ?? []).join("\n");
  assert.match(text, /1 to add, 1 already present/);
  assert.match(text, /compiles +yes/);
  assert.match(text, /its cases +pass: 12 passed/);
  assert.match(text, /= guardrails\.detectors secrets {2}already present/);
  assert.match(text, /\+ guardrails\.rules deny.* {2}would be added: iso:8\.12/);
  assert.doesNotMatch(text, /\u202e/);
});

test("writing is not offered while a pack is tested, refused, failing, present or on another machine", () => {
  const reason = (tried: PackTrial | undefined): string =>
    whyOf(packsView, "create", ["secrets"], contextWith(tried)) ?? "";
  const { change } = trial();
  if (change === undefined) throw new Error("the fixture has one");
  assert.match(reason(undefined), /still testing; try again shortly/);
  const rehearsed = (tried: PackTrial) =>
    dialogOf(startOf(packsView, "create", ["secrets"], contextWith(tried))).rehearses?.({}, contextWith(tried));
  assert.deepEqual(rehearsed(trial()), {
    source: change.source,
    from: { kind: "document", document: change.after },
  });
  assert.equal(rehearsed(trial({ compiling: { kind: "refused", problems: ["no such detector"] } })), undefined);
  assert.match(reason(trial({ problems: ["another rule"], change: undefined })), /another rule/);
  assert.match(reason(trial({ compiling: { kind: "refused", problems: ["no such detector"] } })), /refused: no such/);
  assert.match(reason(trial({ cases: { lines: ["case 1 failed"], passes: false } })), /cases of secrets fail/);
  assert.match(reason(trial({ blockedReason: "the file is elsewhere" })), /elsewhere/);
  assert.match(reason(trial({ change: { ...change, after: change.text } })), /has all of it/);
  assert.equal(reason(trial()), "");
});

test("the dialog has the difference without credentials, is confirmed by name, and writes what it showed", () => {
  const context = contextWith(trial());
  const dialog = dialogOf(startOf(packsView, "create", ["secrets"], context));
  const dialogText = wordsOf(dialog, context).join("\n");
  assert.match(dialogText, /Writes: source default, over revision 4/);
  assert.match(dialogText, /\+b: 2/);
  assert.doesNotMatch(dialogText, /canary/);
  assert.equal(dialog.confirm.kind === "typed" && dialog.confirm.expected(valuesOf(dialog)), "secrets");
  assert.equal(dialog.blockedReason?.({}, context), undefined);
  const task = dialog.task({}, context);
  assert.deepEqual(task, {
    kind: "job",
    job: { kind: "write_change", change: trial().change, summary: "secrets is added" },
  });
  const moved = trial({
    change: { source: "default", revision: 5, file: undefined, text: "c: 3\n", after: "c: 3\nb: 2\n" },
  });
  assert.match(dialog.blockedReason?.({}, contextWith(moved)) ?? "", /changed since this dialog was opened/);
});

test("for a document in a file, the dialog names the equivalent command", () => {
  const { change } = trial();
  if (change === undefined) throw new Error("the fixture has one");
  const file = "/etc/gateway/deployment.yaml";
  const context = contextWith(trial({ change: { ...change, file } }), shelf({ file }));
  const dialog = dialogOf(startOf(packsView, "create", ["secrets"], context));
  assert.deepEqual(dialog.commands?.({}, context), [
    "gateway pack add -deployment /etc/gateway/deployment.yaml -write secrets",
  ]);
  assert.match(
    wordsOf(dialog, context).join("\n"),
    /the file \/etc\/gateway\/deployment\.yaml, which is then reloaded/,
  );
});

test("the page of a pack has its controls, citations and description, escaped", () => {
  const text = textsOf(bodyOf(packsView).describe?.("secrets", contextWith(undefined)) ?? []).join("\n");
  assert.match(text, /iso:8\.12 {2}Leaks {2}ISO/);
  assert.match(text, /Not covered: all else/);
  assert.doesNotMatch(text, /\u001b/);
});

test("an unreadable pack says why and offers nothing", () => {
  const broken = facts({
    name: "./ours",
    id: "./ours",
    version: "",
    problem: "it is refused:\n./ours/pack.yaml: no id\u001b",
  });
  const context = contextWith(undefined, shelf({ packs: [facts(), broken] }));
  assert.equal(cellAt(tableOfView(packsView, context), 1, "in document"), "! cannot be read");
  const text = textsOf(bodyOf(packsView).pane?.("./ours", context) ?? []).join("\n");
  assert.match(text, /! it is refused:\n.*no id/);
  assert.doesNotMatch(text, /\u001b/);
  assert.deepEqual(bodyOf(packsView).paneNeeds?.("./ours", context), []);
  assert.match(whyOf(packsView, "create", ["./ours"], context) ?? "", /it is refused/);
});

test("local packs that a pack builds on are tested and added with it", () => {
  const packs = [facts({ name: "./a", id: "a", buildsOn: ["b", "secrets"] }), facts({ name: "./b", id: "b" }), facts()];
  const context = contextWith(undefined, shelf({ packs }));
  assert.deepEqual(bodyOf(packsView).paneNeeds?.("./a", context), [
    { id: "pack_trial", name: JSON.stringify(["default", "./a\0./b"]) },
  ]);
});

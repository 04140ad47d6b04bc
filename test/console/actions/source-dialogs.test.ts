import assert from "node:assert/strict";
import { test } from "node:test";
import {
  deleteSourceDialog,
  editedDialog,
  putDocumentDialog,
  reloadDialog,
  rollbackDialog,
  whyNotDeletable,
  whyNotReloadable,
  whyNotRollback,
  whyNotWritable,
} from "../../../src/console/actions/source-dialogs.ts";
import type { Action } from "../../../src/console/model/action.ts";
import type { Dialog } from "../../../src/console/model/dialog.ts";
import { carriedOut, config, contextOf, leader, linesOf, member, source, valuesOf } from "./cluster-fixtures.ts";

const MEMBERS = [leader("n1"), member("n2"), member("n3")];
const API = {
  list_sources: [source("default"), source("team-ml", { revision: 7 })],
  get_config: config("no_file", { source: "api" }),
};
const api = contextOf({ ...API, list_cluster_members: MEMBERS });
const file = contextOf({
  list_sources: [source("default", { writer: "file" })],
  get_config: config("diverged", {
    message: "version 42 has other content than what is stored",
    remedy: "raise `version` in the file",
  }),
  list_cluster_members: MEMBERS,
});
const moved = contextOf({
  ...API,
  list_sources: [source("default", { revision: 119 })],
  list_cluster_members: MEMBERS,
});

function actionOf(dialog: Dialog): Action {
  const task = dialog.task(valuesOf(dialog), api);
  const [action] = task.kind === "actions" ? task.actions : [];
  assert.ok(action !== undefined);
  return action;
}

test("a source that belongs to a file is not written by the API", () => {
  const reason =
    "the deployment document /etc/gateway/deployment.yaml is the single writer: edit it and run `gateway config reload` (R in the console)";
  assert.equal(whyNotWritable(file), reason);
  assert.equal(whyNotRollback("default", 117, file), reason);
  assert.equal(whyNotDeletable("default", file), reason);
  assert.equal(whyNotWritable(api), undefined);
});

test("a file that is not applied yet owns its source, also on another node", () => {
  const waits = contextOf({ list_sources: [], get_config: config("diverged") });
  const elsewhere = contextOf({
    list_sources: [source("default", { writer: "file" })],
    get_config: config("no_file", { source: "api" }),
  });
  assert.match(whyNotWritable(waits) ?? "", /is the single writer/);
  assert.match(whyNotWritable(elsewhere) ?? "", /^the deployment document of a node file is the single writer/);
  assert.equal(
    whyNotWritable(contextOf({ list_sources: [], get_config: config("no_file", { source: "api" }) })),
    undefined,
  );
});

const here = { ...file, endpointFlags: "-socket /run/gateway.sock" };
const edited = { source: "default", revision: 118, file: undefined, text: "a", after: "b" };
const REHEARSED: readonly (readonly [name: string, dialog: Dialog, request: unknown])[] = [
  [
    "a new revision",
    putDocumentDialog("default", "d.yaml", api),
    { source: "default", from: { kind: "file", file: "d.yaml" } },
  ],
  ["a new revision of no source", putDocumentDialog("", "d.yaml", api), undefined],
  ["an edit", editedDialog(edited), { source: "default", from: { kind: "document", document: "b" } }],
  [
    "an edit of a file",
    editedDialog({ ...edited, file: "/etc/d.yaml" }),
    { source: "default", from: { kind: "document", document: "b" } },
  ],
  ["a rollback", rollbackDialog("default", 117, api), { source: "default", from: { kind: "revision", revision: 117 } }],
  ["a deletion", deleteSourceDialog("team-ml", api), { source: "team-ml", from: { kind: "document", document: "{}" } }],
  [
    "a reload of a file of this machine",
    reloadDialog(here),
    { source: "default", from: { kind: "file", file: "/etc/gateway/deployment.yaml" } },
  ],
  ["a reload of a file elsewhere", reloadDialog({ ...file, endpointFlags: "-url https://gw" }), undefined],
];

for (const [name, dialog, request] of REHEARSED) {
  test(`the rehearsed request for ${name}`, () => {
    assert.deepEqual(dialog.rehearses?.(valuesOf(dialog), api), request);
  });
}

test("a reload shows what is applied where, the state of the file and what to do", () => {
  assert.deepEqual(linesOf(reloadDialog(file), file), [
    "Effect: apply /etc/gateway/deployment.yaml to all 3 nodes",
    "File: DIVERGED  version 42 has other content than what is stored",
    "What to do: raise `version` in the file",
    "Forecast: it is refused if it is not valid, and the configuration in force stays",
  ]);
  assert.equal(whyNotReloadable(file), undefined);
});

test("a reload does not ask for a reload", () => {
  const remedy = "run `gateway config reload`, or send SIGHUP to the process";
  const context = contextOf({ get_config: config("diverged", { remedy }) });
  assert.ok(!linesOf(reloadDialog(context), context).some((row) => row.startsWith("What to do")));
});

for (const [state, forecast] of [
  ["in_sync", "nothing will change: the document equals the stored one"],
  ["behind", "it will be refused, and the configuration in force stays"],
  ["refused", "it will be refused, and the configuration in force stays"],
  ["no_version", "it is refused if it is not valid, and the configuration in force stays"],
] as const) {
  test(`a reload forecasts what becomes of a file that is ${state}`, () => {
    const context = contextOf({ get_config: config(state) });
    const lines = linesOf(reloadDialog(context), context);
    assert.equal(lines.at(-1), `Forecast: ${forecast}`);
    assert.equal(lines[0], "Effect: apply /etc/gateway/deployment.yaml to all nodes");
    assert.equal(whyNotReloadable(contextOf({ get_config: config(state) })), undefined);
  });
}

test("a reload shows the difference of a local file", () => {
  const attached = (context: Parameters<typeof reloadDialog>[0]) => reloadDialog(context).attached?.({});
  const here = { ...file, endpointFlags: "-socket /run/gateway.sock" };
  assert.deepEqual(attached(here), { kind: "reload", source: "default", file: "/etc/gateway/deployment.yaml" });
  const byMeaning = { kind: "reload", source: "default", file: undefined };
  assert.deepEqual(
    attached({ ...file, endpointFlags: "-url https://n1.example" }),
    byMeaning,
    "it is of another machine",
  );
  const relative = contextOf({ get_config: config("diverged", { source: "deployment.yaml" }) });
  assert.deepEqual(
    attached({ ...relative, endpointFlags: here.endpointFlags }),
    byMeaning,
    "of which folder is not known",
  );
});

test("a node without a file has nothing to reload", () => {
  assert.equal(whyNotReloadable(api), "this node is configured by the API: its node file names no deployment document");
  assert.equal(whyNotReloadable(contextOf({})), "the state of the file is not known yet");
});

test("a reload reports whether anything was applied", async () => {
  const action = actionOf(reloadDialog(file));
  const { file_status } = config("in_sync");
  assert.deepEqual(action.request, { method: "POST", path: "/admin/v1/reload" });
  const applied = await carriedOut(action, { applied: true, revision: 119, file_status });
  assert.equal(applied.message, "the document is applied, revision 119");
  const nothing = await carriedOut(action, { applied: false, revision: 118, file_status });
  assert.equal(nothing.message, "nothing applied: the document equals the stored one");
});

test("a rollback names the new revision, and replaces only the shown one", async () => {
  const dialog = rollbackDialog("default", 115, api);
  assert.deepEqual(linesOf(dialog, api), [
    "Effect: writes revision 115 again as the newest, 119, on all 3 nodes",
    "Newest: revision 118, by ci@example 21m ago",
    "Guard: refused if the whole configuration is not valid, or if revision 118 is no longer the newest",
    "History: the revisions in between stay",
  ]);
  assert.equal(dialog.blockedReason?.({}, api), undefined);
  assert.equal(
    dialog.blockedReason?.({}, moved),
    "it is at revision 119, but was at revision 118 when this dialog was opened: close it and look again",
  );
  const change = { name: "default", revision: 119, changed: true, differences: [], warnings: [] };
  assert.deepEqual(await carriedOut(actionOf(dialog), change), {
    method: "POST",
    path: "/admin/v1/sources/default/rollback",
    ifMatch: '"118"',
    idempotencyKey: "k1",
    body: '{"revision":115}',
    message: "default: revision 115 is in force again, as 119",
  });
});

test("a rollback to the newest revision is refused", () => {
  assert.equal(whyNotRollback("default", 118, api), "revision 118 is the newest");
  assert.equal(whyNotRollback("other", 1, api), "there is no source other, or it is not known yet");
});

test("a deletion asks for the name and says what stays", async () => {
  const dialog = deleteSourceDialog("default", api);
  assert.deepEqual(linesOf(dialog, api), [
    "Effect: what default defines is gone from the running deployment, on all 3 nodes",
    "Unchanged: 1 other source",
    "Guard: refused if what remains is not valid",
    "Newest: revision 118, by ci@example 21m ago",
    "History: is shown again once a source with that name exists; keep a copy of it first (v)",
  ]);
  assert.deepEqual(dialog.attached?.({}), { kind: "removal", source: "default" });
  assert.equal(dialog.confirm.kind === "typed" && dialog.confirm.expected({}), "default");
  assert.match(dialog.blockedReason?.({}, moved) ?? "", /close it and look again$/);
  assert.deepEqual(await carriedOut(actionOf(dialog), undefined), {
    method: "DELETE",
    path: "/admin/v1/sources/default",
    ifMatch: '"118"',
    idempotencyKey: "k1",
    body: "",
    message: "source default is deleted",
  });
  assert.equal(whyNotDeletable("gone", api), "there is no source gone any more");
});

test("a new revision replaces only the shown one", () => {
  const dialog = putDocumentDialog("team-ml", "team.yaml", api);
  assert.deepEqual(linesOf(dialog, api), [
    "Document: local file team.yaml",
    "Effect: replaces revision 7 of team-ml on all 3 nodes",
    "Guard: refused if the whole configuration is not valid, or if revision 7 is no longer the newest",
  ]);
  assert.deepEqual(dialog.task(valuesOf(dialog), api), {
    kind: "job",
    job: { kind: "put_document", source: "team-ml", file: "team.yaml", revision: 7 },
  });
  assert.match(dialog.blockedReason?.(valuesOf(dialog), moved) ?? "", /^it is gone, but was at revision 7/);
});

test("a new source is created unless someone else created it first", () => {
  const dialog = putDocumentDialog("default", "team.yaml", api);
  const values = valuesOf(dialog, { source: "team-new" });
  assert.equal(linesOf(dialog, api, values)[1], "Effect: makes the source team-new, in force on all 3 nodes");
  assert.deepEqual(dialog.task(values, api), {
    kind: "job",
    job: { kind: "put_document", source: "team-new", file: "team.yaml", revision: 0 },
  });
});

test("a source's name follows the rules of the gateway", () => {
  const dialog = putDocumentDialog("default", "team.yaml", api);
  for (const name of ["", "-a", "a/b", "a b", "a".repeat(65)]) {
    assert.match(dialog.blockedReason?.({ source: name }, api) ?? "", /^a source's name has/, name);
  }
  for (const name of ["a", "team-ml_2.1", "a".repeat(64)])
    assert.equal(dialog.blockedReason?.({ source: name }, api), undefined);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Context } from "../../../src/console/model/context.ts";
import type { VerbId } from "../../../src/console/model/key-bindings.ts";
import type { Intent, TableBody, View } from "../../../src/console/model/view.ts";
import { configView, fileLines } from "../../../src/console/views/config.ts";
import { revisionsView } from "../../../src/console/views/revisions.ts";
import { config, contextOf, NOW, revision, source, texts } from "../actions/cluster-fixtures.ts";

const REVISIONS = [
  revision(118),
  revision(117, { updated_at: "2026-11-18T09:12:44Z", by: "unix:1000" }),
  revision(115),
];
const VALUES = {
  list_sources: [
    source("default"),
    source("team-ml", {
      revision: 7,
      state: "refused",
      message: "models[2]: unknown provider",
      updated_at: "2026-11-18T09:12:44Z",
    }),
  ],
  get_config: config("no_file", {
    source: "api",
    message: "no file: the deployment arrives through the admin API",
    sources: [
      { name: "default", revision: 118 },
      { name: "team-ml", revision: 6 },
    ],
  }),
  revisions: { default: REVISIONS },
};
const api = contextOf(VALUES);
const file = contextOf({
  list_sources: [source("default", { writer: "file" })],
  get_config: config("diverged", { message: "version 42 has other content", remedy: "raise `version` in the file" }),
});
const SINGLE =
  "the deployment document /etc/gateway/deployment.yaml is the single writer: edit it and run `gateway config reload` (R in the console)";

const tableBody = ({ body }: View): TableBody => {
  assert.ok(body.kind === "table");
  return body;
};

function rowsOf(view: View, context: Context): readonly (readonly string[])[] {
  const table = tableBody(view).table(context);
  return Array.from({ length: table.count }, (_, row) =>
    table.columns.map((_column, column) => table.cell(row, column, NOW).text),
  );
}

function intentOf(view: View, verb: VerbId, ids: readonly string[], context: Context): Intent | string {
  const offer = view.offers.find((it) => it.verb === verb);
  assert.ok(offer !== undefined, verb);
  return offer.disabledReason?.({ ids }, context) ?? offer.start({ ids }, context);
}

function titleOf(intent: Intent | string): string {
  return typeof intent === "object" && intent.kind === "dialog" ? intent.dialog.title : JSON.stringify(intent);
}

test("sources are listed with revision, writer and state", () => {
  assert.deepEqual(rowsOf(configView, api), [
    ["default", "118", "api", "13:41:02Z", "ci@example", "running"],
    ["team-ml", "7", "api", "2026-11-18 09:12Z", "ci@example", "! REFUSED"],
  ]);
  const table = tableBody(configView).table(api);
  assert.deepEqual([table.isBad(0), table.isBad(1)], [false, true]);
  assert.equal(new Set(table.columns.map(({ letter }) => letter)).size, table.columns.length);
});

test("the state of the file and what to do are above the table", () => {
  assert.deepEqual(texts(fileLines(file)), [
    "file      DIVERGED  version 42 has other content",
    "to do     raise `version` in the file",
    "document  /etc/gateway/deployment.yaml",
  ]);
  assert.deepEqual(texts(fileLines(api)), ["file      NO FILE  the deployment arrives through the admin API"]);
  assert.deepEqual(fileLines(contextOf({})), []);
});

test("the pane shows why a source is not in force, its size and its newest revisions", () => {
  const { pane } = tableBody(configView);
  assert.deepEqual(texts(pane?.("default", api) ?? []), [
    "state     running",
    "document  4,214 bytes",
    "revisions 118  21m ago  ci@example",
    "          117  2d ago  unix:1000",
    "          115  21m ago  ci@example",
  ]);
  assert.deepEqual(texts(pane?.("team-ml", api) ?? []), [
    "state     ! REFUSED  models[2]: unknown provider",
    "serves    this node serves revision 6, and 7 is stored",
  ]);
  assert.deepEqual(pane?.("gone", api), []);
});

test("the pages of a source are loaded by its name and revisions", () => {
  const view = { kind: "load", title: "default, the revision in force", load: { kind: "document", source: "default" } };
  assert.deepEqual(intentOf(configView, "view", ["default"], api), view);
  assert.deepEqual(intentOf(configView, "difference", ["default"], api), {
    kind: "load",
    title: "default, revision 117 -> 118",
    load: { kind: "difference", source: "default", from: 117, to: 118 },
  });
  assert.deepEqual(intentOf(configView, "history", ["team-ml"], api), {
    kind: "go",
    place: { view: "revisions", subject: "team-ml" },
  });
});

test("a difference needs an earlier revision, and is tried if it is unknown", () => {
  const only = contextOf({ ...VALUES, revisions: { default: [revision(118)] } });
  assert.equal(
    intentOf(configView, "difference", ["default"], only),
    "no revision before the newest of default is kept",
  );
  const unknown = intentOf(configView, "difference", ["team-ml"], api);
  assert.ok(typeof unknown === "object" && unknown.kind === "load");
  assert.deepEqual(unknown.load, { kind: "difference", source: "team-ml", from: 6, to: 7 });
  const first = contextOf({ list_sources: [source("default", { revision: 1 })] });
  assert.equal(
    intentOf(configView, "difference", ["default"], first),
    "no revision before the newest of default is kept",
  );
});

test("a preview asks for a file, and writes nothing", () => {
  const asked = intentOf(configView, "preview", ["team-ml"], api);
  assert.ok(typeof asked === "object" && asked.kind === "ask");
  assert.deepEqual(asked.next("team.yaml"), {
    kind: "load",
    title: "team-ml, what team.yaml would change",
    load: { kind: "preview", source: "team-ml", from: { file: "team.yaml" } },
  });
});

test("a change of a source asks for a file, then opens a dialog", () => {
  const asked = intentOf(configView, "create", ["team-ml"], api);
  assert.ok(typeof asked === "object" && asked.kind === "ask");
  assert.equal(titleOf(asked.next("team.yaml")), "New revision of a source");
  assert.equal(titleOf(intentOf(configView, "remove", ["team-ml"], api)), "Delete source team-ml");
  assert.equal(titleOf(intentOf(configView, "reload", [], file)), "Reload the deployment document");
});

test("if a file owns the source only a reload is offered", () => {
  for (const verb of ["create", "remove", "preview"] as const) {
    assert.equal(intentOf(configView, verb, ["default"], file), SINGLE, verb);
  }
  assert.match(String(intentOf(configView, "reload", [], api)), /^this node is configured by the API/);
});

test("without sources the next step is a file, by this API or by a reload", () => {
  const { empty } = tableBody(configView);
  const none = contextOf({ list_sources: [], get_config: config("no_file", { source: "api" }) });
  const waits = contextOf({ list_sources: [], get_config: config("diverged") });
  assert.equal(empty(none).next, "Press n to write the first source from a file.");
  assert.equal(empty(waits).next, "Press R to apply the file as source `default`, once there is a leader.");
});

test("revisions are newest first, with the active one marked", () => {
  assert.deepEqual(rowsOf(revisionsView, api), [
    ["118", "yes", "13:41:02Z", "ci@example", "4,214"],
    ["117", "", "2026-11-18 09:12Z", "unix:1000", "4,213"],
    ["115", "", "13:41:02Z", "ci@example", "4,211"],
  ]);
  assert.deepEqual(tableBody(revisionsView).sort, { column: "revision", isDescending: true });
});

test("revisions are those of the named source, otherwise of `default`", () => {
  assert.deepEqual(revisionsView.needs("team-ml")[0], { id: "list_source_revisions", name: "team-ml" });
  assert.deepEqual(revisionsView.needs(undefined)[0], { id: "list_source_revisions", name: "default" });
  const team = contextOf({ ...VALUES, revisions: { "team-ml": [revision(7)] } }, { subject: "team-ml" });
  assert.equal(rowsOf(revisionsView, team)[0]?.[1], "yes");
});

test("an earlier revision is shown, compared, previewed and rolled back to", () => {
  const of = (verb: VerbId) => intentOf(revisionsView, verb, ["115"], api);
  assert.deepEqual(of("view"), {
    kind: "load",
    title: "default, revision 115",
    load: { kind: "document", source: "default", revision: 115 },
  });
  assert.deepEqual(of("difference"), {
    kind: "load",
    title: "default, revision 115 -> the one in force",
    load: { kind: "difference", source: "default", from: 115 },
  });
  assert.deepEqual(of("preview"), {
    kind: "load",
    title: "default, what revision 115 would change",
    load: { kind: "preview", source: "default", from: { revision: 115 } },
  });
  assert.equal(titleOf(of("rollback")), "Roll default back to revision 115");
  assert.deepEqual(tableBody(revisionsView).open?.("115", api), of("view"));
});

test("the newest revision is neither compared with itself nor rolled back to", () => {
  const of = (verb: VerbId) => intentOf(revisionsView, verb, ["118"], api);
  assert.equal(of("difference"), "revision 118 is the one in force");
  assert.equal(of("preview"), "revision 118 is the one in force");
  assert.equal(of("rollback"), "revision 118 is the newest");
  assert.equal(intentOf(revisionsView, "rollback", ["117"], file), SINGLE);
});

test("the pane of a revision explains its keys", () => {
  const { pane } = tableBody(revisionsView);
  assert.deepEqual(texts(pane?.("117", api) ?? []), [
    "4,213 bytes, written 2d ago by unix:1000",
    "D: what differs to the one in force.  p: what a rollback would change.  B: rolls back.",
  ]);
  assert.match(texts(pane?.("118", api) ?? [])[1] ?? "", /^In force\./);
});

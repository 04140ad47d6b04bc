import assert from "node:assert/strict";
import test from "node:test";
import type { SecretRecord } from "../../../src/admin-api/index.ts";
import { secretsView } from "../../../src/console/views/secrets.ts";
import {
  actionsOf,
  bodyOf,
  cellAt,
  contextOf,
  dialogOf,
  startOf,
  tableOfView,
  valuesOf,
  whyOf,
  wordsOf,
} from "./keys-fixture.ts";

const secret = (name: string): SecretRecord => ({
  name,
  version: 3,
  updated_at: "2026-11-20T13:18:11.000Z",
  kek: "kek-1",
});
const CONTEXT = contextOf({ list_secrets: [secret("FILES_SECRET"), secret("ACME_KEY")] });

test("a secret is a row without its value", () => {
  const table = tableOfView(secretsView, CONTEXT);
  assert.deepEqual(
    table.columns.map(({ id }) => cellAt(table, 0, id)),
    ["FILES_SECRET", "3", "13:18:11Z", "kek-1"],
  );
});

test("a secret is deleted by typing its name, with a warning about what breaks", () => {
  const dialog = dialogOf(startOf(secretsView, "remove", ["ACME_KEY"], CONTEXT));
  assert.equal(dialog.confirm.kind === "typed" && dialog.confirm.expected({}), "ACME_KEY");
  assert.match(
    wordsOf(dialog, CONTEXT).join("\n"),
    /a configuration that uses \$\{secret:ACME_KEY\} no longer compiles/,
  );
  assert.deepEqual(
    actionsOf(dialog, CONTEXT).map(({ request }) => request),
    [{ method: "DELETE", path: "/admin/v1/secrets/ACME_KEY" }],
  );
});

test("several secrets are deleted by typing their number", () => {
  const dialog = dialogOf(startOf(secretsView, "remove", ["ACME_KEY", "FILES_SECRET"], CONTEXT));
  assert.equal(dialog.confirm.kind === "typed" && dialog.confirm.expected({}), "2");
  assert.equal(actionsOf(dialog, CONTEXT).length, 2);
});

test("a deleted secret cannot be deleted again", () => {
  assert.equal(whyOf(secretsView, "remove", ["ACME_KEY"], CONTEXT), undefined);
  const later = contextOf({ list_secrets: [] });
  assert.equal(whyOf(secretsView, "remove", ["ACME_KEY"], later), "ACME_KEY no longer exists");
  const dialog = dialogOf(startOf(secretsView, "remove", ["ACME_KEY"], CONTEXT));
  assert.equal(dialog.blockedReason?.(valuesOf(dialog), later), "ACME_KEY no longer exists");
});

test("without secrets the view shows how to seal one outside the shell's history", () => {
  assert.match(bodyOf(secretsView).empty({ ...CONTEXT, isReadOnly: true }).next, /-d @FILE PUT secrets\/NAME/);
  assert.match(bodyOf(secretsView).empty(CONTEXT).next, /^Press n/);
});

const CANARY = "canary-value-of-a-secret";

test("a secret is sealed and rotated with a hidden value or from a file", () => {
  for (const [verb, name] of [
    ["create", "NEW_KEY"],
    ["rotate", "ACME_KEY"],
  ] as const) {
    const dialog = dialogOf(startOf(secretsView, verb, ["ACME_KEY"], CONTEXT));
    const typed = valuesOf(dialog, { value: CANARY, ...(verb === "create" && { name }) });
    assert.equal(dialog.blockedReason?.(typed, CONTEXT), undefined);
    const task = dialog.task(typed, CONTEXT);
    assert.ok(task.kind === "actions" && task.actions[0]?.request.path === `/admin/v1/secrets/${name}`);
    assert.deepEqual(task.actions[0]?.request.body, { value: CANARY });
    assert.match(dialog.commands?.(typed, CONTEXT).join() ?? "", new RegExp(`PUT secrets/${name}`));
    assert.doesNotMatch(dialog.commands?.(typed, CONTEXT).join() ?? "", /canary/);
    assert.doesNotMatch(wordsOf(dialog, CONTEXT, typed).join(), /canary/);
    const filed = { ...typed, value: "", file: "key.txt" };
    assert.deepEqual(dialog.task(filed, CONTEXT), { kind: "job", job: { kind: "put_secret", name, file: "key.txt" } });
    assert.match(dialog.blockedReason?.({ ...filed, value: "x" }, CONTEXT) ?? "", /leave one of them empty/);
    assert.match(dialog.blockedReason?.({ ...filed, file: "" }, CONTEXT) ?? "", /type the value/);
  }
  const fresh = dialogOf(startOf(secretsView, "create", [], CONTEXT));
  assert.match(
    fresh.blockedReason?.(valuesOf(fresh, { name: "ACME_KEY", value: "x" }), CONTEXT) ?? "",
    /T gives it a new value/,
  );
});

test("the delete dialog reads the uses of a secret", () => {
  const dialog = dialogOf(startOf(secretsView, "remove", ["ACME_KEY"], CONTEXT));
  assert.deepEqual(dialog.attached?.({}), { kind: "secret_uses", names: ["ACME_KEY"] });
});

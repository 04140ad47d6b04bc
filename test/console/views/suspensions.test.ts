import assert from "node:assert/strict";
import test from "node:test";
import { SUSPENSION_KINDS } from "../../../src/admin-api/index.ts";
import { subjectOf, suspensionsView } from "../../../src/console/views/suspensions.ts";
import {
  at,
  bodyOf,
  cellOf,
  contextOf,
  dialogOf,
  INCIDENT,
  idsShown,
  requestsOf,
  rowsShown,
  startOf,
  suspension,
  textsOf,
  whyOf,
} from "./traffic-fixtures.ts";

const context = contextOf({
  ...INCIDENT,
  list_suspensions: [
    suspension("beta-labs"),
    suspension("nb-lab", { kind: "key", until: null, by: "unix:1000", reason: "leaked", created_at: at(-60) }),
    suspension("old", { kind: "model", status: "ended", until: at(-5), created_at: at(-3_600) }),
  ],
});
const body = bodyOf(suspensionsView);

test("suspensions are newest first, with author, reason and end", () => {
  assert.deepEqual(rowsShown(suspensionsView, context), [
    ["key", "nb-lab", "leaked", "unix:1000", "14:01:07Z", "until lifted", "~SUSPENDED"],
    ["provider", "beta-labs", "key rotation", "alice@example", "13:58:40Z", "12m 02s", "~SUSPENDED"],
    ["model", "old", "key rotation", "alice@example", "13:02:07Z", "-", " ended"],
  ]);
  assert.equal(cellOf(suspensionsView, context, "key:nb-lab", "status").tone, "off");
  assert.equal(cellOf(suspensionsView, context, "model:old", "status").tone, "dim");
});

test("u lifts one or several, but not ended ones", () => {
  assert.equal(whyOf(suspensionsView, "lift", context, "provider:beta-labs"), undefined);
  assert.equal(whyOf(suspensionsView, "lift", context, "model:old"), "old is not suspended");
  assert.equal(whyOf(suspensionsView, "lift", context, "provider:gone"), "the suspension no longer exists");
  const dialog = dialogOf(startOf(suspensionsView, "lift", context, "provider:beta-labs", "key:nb-lab", "model:old"));
  assert.equal(dialog.title, "Lift 2 suspensions");
  assert.deepEqual(requestsOf(dialog, context), [
    "DELETE /admin/v1/suspensions/provider:beta-labs",
    "DELETE /admin/v1/suspensions/key:nb-lab",
  ]);
});

test("E changes the end, or says why it cannot", () => {
  assert.equal(whyOf(suspensionsView, "extend", context, "key:nb-lab"), undefined);
  assert.equal(whyOf(suspensionsView, "extend", context, "model:old"), "model:old is not suspended");
  assert.equal(whyOf(suspensionsView, "extend", context, "gone"), "the suspension no longer exists");
  assert.deepEqual(requestsOf(dialogOf(startOf(suspensionsView, "extend", context, "key:nb-lab")), context), [
    'PUT /admin/v1/suspensions/key:nb-lab {"reason":"leaked","duration":"30m"}',
  ]);
  assert.equal(startOf(suspensionsView, "extend", context, "gone").kind, "flash");
});

test("n asks for kind and name, without a row", () => {
  assert.equal(dialogOf(startOf(suspensionsView, "create", context)).title, "New suspension");
});

test("Enter goes to the suspended object, if a view lists it", () => {
  assert.deepEqual(body.open?.("key:nb-lab", context), { kind: "go", place: { view: "keys" }, row: "nb-lab" });
  assert.deepEqual(body.open?.("gone", context), {
    kind: "flash",
    message: "the suspension no longer exists",
    tone: "warn",
  });
  assert.deepEqual(
    SUSPENSION_KINDS.filter((kind) => subjectOf({ kind, name: "x" }).kind !== "go"),
    ["issuer"],
  );
});

test("the pane describes a suspension, and is empty once it no longer exists", () => {
  assert.deepEqual(textsOf(body.pane?.("provider:beta-labs", context) ?? []), [
    "suspended provider:beta-labs",
    "reason    key rotation",
    "by        alice@example  since 13:58:40Z",
    "until     14:14:09Z",
  ]);
  assert.deepEqual(body.pane?.("gone", context), []);
});

test("an empty list names the next step, except in read-only mode", () => {
  assert.deepEqual(body.empty(contextOf({})), {
    sentence: "Nothing is suspended.",
    next: `Press n to suspend, or \`gateway admin -socket /run/gateway.sock -d '{"reason":"..."}' PUT suspensions/provider:NAME\``,
  });
  assert.doesNotMatch(body.empty(contextOf({}, { isReadOnly: true })).next, /PUT/);
});

test("a name with controls keeps its row and is shown without them", () => {
  const evil = contextOf({ list_suspensions: [suspension("a\u001b[m", { reason: "\u0007", by: "\u202e" })] });
  assert.deepEqual(idsShown(suspensionsView, evil), ["provider:a\u001b[m"]);
  for (const text of rowsShown(suspensionsView, evil).flat()) assert.doesNotMatch(text, /[\x00-\x1f\u202e]/);
});

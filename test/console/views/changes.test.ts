import assert from "node:assert/strict";
import test from "node:test";
import { changesView } from "../../../src/console/views/changes.ts";
import { changeOf } from "../../../src/console/views/changes-record.ts";
import {
  auditRecord,
  bodyOf,
  cellOf,
  contextOf,
  idsShown,
  rowsShown,
  tableOfView,
  textsOf,
} from "./traffic-fixtures.ts";

const FACTS = { principal: "unix:1000", roles: ["local"], door: "local", request_id: "r1" };
const suspended = {
  ...FACTS,
  action: "put_suspension",
  resource: 'Suspension::"provider:acme-chat"',
  outcome: "done",
  reason: "console: incident",
  until: null,
};
const reload = { ...FACTS, action: "reload_config", resource: 'Config::"config"' };

const context = contextOf({
  list_audit_records: [
    auditRecord(1, suspended),
    auditRecord(2, { hop: "llm", decision: "deny" }, "access.decision"),
    auditRecord(3, { ...reload, outcome: "refused", code: "refused" }),
    auditRecord(4, { ...FACTS, action: "list_keys", resource: 'Table::"keys"', decision: "deny" }, "access.decision"),
    auditRecord(5, { ...reload, decision: "deny", policies: ["p"] }, "access.decision"),
    auditRecord(6, { ...reload, outcome: "unknown", code: "no_leader" }),
    auditRecord(7, { ...reload, action: "put_source", outcome: "done", dry_run: true, revision: 3, changed: true }),
  ],
});

test("changes are newest first with their results, without reads and caller requests", () => {
  assert.deepEqual(rowsShown(changesView, context), [
    ["13:45:34Z", "unix:1000", "write source", "configuration", "dry run  revision 3, changed true"],
    ["13:45:33Z", "unix:1000", "reload the deployment document", "configuration", "~UNKNOWN  no_leader"],
    ["13:45:32Z", "unix:1000", "reload the deployment document", "configuration", "!DENIED  forbidden"],
    ["13:45:30Z", "unix:1000", "reload the deployment document", "configuration", "!REFUSED  refused"],
    ["13:45:28Z", "unix:1000", "suspend", "Suspension provider:acme-chat", "done  reason console: incident"],
  ]);
});

test("refused changes have tones and stay when narrowed", () => {
  const table = tableOfView(changesView, context);
  const isBad = Object.fromEntries([0, 1, 2, 3, 4].map((row) => [table.idOf(row), table.isBad(row)]));
  assert.deepEqual(isBad, { "kid:7": false, "kid:6": true, "kid:5": true, "kid:3": true, "kid:1": false });
  assert.equal(cellOf(changesView, context, "kid:5", "result").tone, "fail");
  assert.equal(cellOf(changesView, context, "kid:3", "result").tone, "warn");
  assert.equal(cellOf(changesView, context, "kid:1", "result").tone, "plain");
});

test("the description has every fact and the position in the chain", () => {
  const lines = textsOf(bodyOf(changesView).describe?.("kid:1", context) ?? []);
  for (const text of ["request_id        r1", 'roles             ["local"]', "seq               1"]) {
    assert.ok(lines.includes(text), `${text} is shown`);
  }
  assert.deepEqual(textsOf(bodyOf(changesView).describe?.("gone", context) ?? []), [
    "The node no longer has the record.",
  ]);
});

test("the pane shows who did what", () => {
  assert.deepEqual(textsOf(bodyOf(changesView).pane?.("kid:1", context) ?? []), [
    "who       unix:1000  13:45:28Z  record 1 of n1",
    "what      put_suspension on Suspension provider:acme-chat",
    "result    done  reason console: incident",
  ]);
  assert.deepEqual(bodyOf(changesView).pane?.("gone", context), []);
});

test("an unknown record is shown as unknown or omitted, and never fails", () => {
  for (const data of [null, 3, "text", []]) {
    const change = changeOf(auditRecord(1, data));
    assert.ok(change === undefined || change.result === "unknown");
  }
  const bare = changeOf(auditRecord(1, {}));
  assert.deepEqual([bare?.who, bare?.action, bare?.resource, bare?.result], ["?", "?", "?", "unknown"]);
});

test("foreign text is shown without controls", () => {
  const evil = contextOf({
    list_audit_records: [auditRecord(1, { ...suspended, reason: "\u001b[2J", principal: "\n" })],
  });
  const [id = ""] = idsShown(changesView, evil);
  const body = bodyOf(changesView);
  const texts = [
    ...rowsShown(changesView, evil).flat(),
    ...textsOf([...(body.pane?.(id, evil) ?? []), ...(body.describe?.(id, evil) ?? [])]),
  ];
  assert.ok(texts.length > 10);
  for (const text of texts) assert.doesNotMatch(text, /[\x00-\x1f]/);
});

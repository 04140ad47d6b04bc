import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { recordText } from "../../../src/console/views/audit-record-text.ts";
import { auditTailView } from "../../../src/console/views/audit-tail.ts";
import { MAX_TAIL_ROWS, parseRecord } from "../../../src/console/views/audit-tail-rows.ts";
import { bodyOf, cellAt, columnAt, contextOf, record, tableOfView, textsOf } from "./keys-fixture.ts";

const WRITE = {
  action: "put_suspension",
  resource: 'Suspension::"provider:beta-labs"',
  principal: "unix:1000",
  roles: ["local"],
  door: "local",
  request_id: "r1",
  outcome: "done",
  reason: "key rotation",
  until: null,
};
const DENIED = {
  request: "r2",
  hop: "model",
  route: "/v1/chat/completions",
  to: "acme-chat",
  model: "acme-large",
  decision: "deny",
  rule: "deny-secrets",
  layer: "deployment",
  matched: ["deployment: deny by deny-secrets"],
  skipped: [],
  error: null,
  caller: "key",
  key: "prod-chat",
  profile: "standard",
};

test("each event is described", () => {
  const textOfRecord = (event: string, data: Readonly<Record<string, unknown>>): string =>
    recordText(record({ event, data })).text;
  assert.equal(textOfRecord("admin.write", WRITE), 'put_suspension  provider:beta-labs  by unix:1000  "key rotation"');
  assert.equal(
    textOfRecord("admin.write", {
      ...WRITE,
      outcome: "refused",
      code: "not_found",
      principal_name: "alice",
      reason: undefined,
    }),
    "! put_suspension  provider:beta-labs  by alice  REFUSED  not_found",
  );
  assert.equal(
    textOfRecord("admin.write", {
      action: "create_key",
      resource: 'Table::"keys"',
      principal: "ci",
      outcome: "done",
      name: "k1",
    }),
    "create_key  keys  k1  by ci",
  );
  assert.equal(
    textOfRecord("access.decision", DENIED),
    "! deny  by rule deny-secrets  key prod-chat  acme-large  -> acme-chat  model",
  );
  assert.equal(
    textOfRecord("access.decision", { ...DENIED, decision: "allow", layer: "profile", key: null, user: "u1" }),
    "allow  by rule deny-secrets of profile standard  u1  acme-large  -> acme-chat  model",
  );
  assert.equal(
    textOfRecord("access.decision", {
      action: "list_keys",
      resource: 'Table::"keys"',
      principal: "bob",
      decision: "deny",
    }),
    "! deny  list_keys  keys  by bob",
  );
  assert.equal(
    textOfRecord("auth.failure", { plane: "data", fault: "expired", issuer: "corp", suppressed: 12 }),
    "! expired  data plane  issuer corp  and 12 more not recorded",
  );
  assert.equal(textOfRecord("config.applied", { sources: ["default@118"] }), "sources  default@118");
  assert.equal(
    textOfRecord("cluster.change", { leader: null, term: 12, members: ["n1", "n2 (learner)"] }),
    "leader none  term 12  members n1, n2 (learner)",
  );
  assert.equal(
    textOfRecord("chain.start", { ephemeral: true, version: "1.0", pid: 7, key: "k", succeeds: null }),
    "a new chain  with an EPHEMERAL key, gone with the process  version 1.0  pid 7",
  );
  assert.equal(textOfRecord("chain.resume", { version: "1.0", pid: 7 }), "the chain continues  version 1.0  pid 7");
  assert.equal(textOfRecord("chain.pause", { pid: 7 }), "the process ended normally  pid 7");
  assert.equal(textOfRecord("later.event", { a: "b", c: [1], d: null }), "a b  c [1]");
});

test("a record with any data is one escaped line", () => {
  const events = ["access.decision", "admin.write", "auth.failure", "config.applied", "cluster.change", "x"];
  fc.assert(
    fc.property(fc.constantFrom(...events), fc.jsonValue(), (event, data) => {
      assert.doesNotMatch(recordText(record({ event, data: data as never })).text, /[\p{Cc}\u2028\u202e]/u);
    }),
  );
  assert.match(recordText(record({ event: "admin.write", data: { action: "\u001b[2J" } })).text, /\\u001b\[2J/);
});

const RECORDS = [
  record({ seq: 7, event: "chain.pause", data: { pid: 1 } }),
  record({ seq: 8, ts: "2026-11-19T09:00:00.000Z", data: WRITE }),
];

test("the node's records are rows, the newest first", () => {
  const context = contextOf({ list_audit_records: RECORDS });
  const table = tableOfView(auditTailView, context);
  assert.deepEqual(
    table.columns.map(({ id }) => cellAt(table, 0, id)),
    ["14:02:05Z", "7", "n1", "chain.pause", "the process ended normally  pid 1"],
  );
  assert.equal(cellAt(table, 1, "time"), "11-19 09:00Z");
  assert.deepEqual(bodyOf(auditTailView).sort, { column: "time", isDescending: true });
  const time = columnAt(table, "time");
  assert.deepEqual([table.sortKey(0, time), table.sortKey(1, time)], [0, 1]);
});

test("an audit file is shown instead, with invalid lines as they are", () => {
  const tail = [
    JSON.stringify(record({ seq: 9 })),
    '{"level":"info","msg":"hi\u0007"}',
    "",
    JSON.stringify(record({ seq: 9 })),
  ];
  const context = contextOf({ list_audit_records: RECORDS }, { tail });
  const table = tableOfView(auditTailView, context);
  assert.equal(table.count, 4);
  assert.equal(cellAt(table, 0, "seq"), "9");
  assert.deepEqual(
    table.columns.map(({ id }) => cellAt(table, 1, id)),
    ["-", "-", "-", "-", '{"level":"info","msg":"hi\\u0007"}'],
  );
  assert.equal(table.cell(1, columnAt(table, "what"), 0).tone, "dim");
  assert.equal(new Set([0, 1, 2, 3].map((at) => table.idOf(at))).size, 4);
  assert.equal(table.sortKey(1, columnAt(table, "seq")), null);
  assert.match(bodyOf(auditTailView).empty(contextOf({}, { tail: [] })).sentence, /audit file/);
  assert.match(bodyOf(auditTailView).empty(contextOf({})).sentence, /The nodes have no audit records/);
});

test("an unreadable audit file says why and what to do", () => {
  const unread = contextOf({}, { tail: [], tailError: "audit\u001b.jsonl: there is no such file" });
  const { sentence, next } = bodyOf(auditTailView).empty(unread);
  assert.equal(sentence, "The audit file cannot be read: audit\\u001b.jsonl: there is no such file.");
  assert.match(next, /once it can be read.*gateway console -audit FILE/);
});

test("only the newest lines of a long stream are rows", () => {
  const tail = Array.from({ length: MAX_TAIL_ROWS + 5 }, (_, at) => `line ${at}`);
  const table = tableOfView(auditTailView, contextOf({}, { tail }));
  assert.equal(table.count, MAX_TAIL_ROWS);
  assert.equal(cellAt(table, 0, "what"), "line 5");
});

test("a row describes the whole record", () => {
  const context = contextOf({ list_audit_records: RECORDS });
  const table = tableOfView(auditTailView, context);
  const text = textsOf(bodyOf(auditTailView).describe?.(table.idOf(1), context) ?? []).join("\n");
  for (const part of ["admin.write", '"request_id": "r1"', "K".repeat(43), "H".repeat(43), "S".repeat(86)]) {
    assert.ok(text.includes(part), part);
  }
  const plain = contextOf({}, { tail: ["plain \u001b[2J"] });
  const line = textsOf(bodyOf(auditTailView).describe?.("plain \u001b[2J", plain) ?? []);
  assert.deepEqual(line, ["no record of the audit trail:", "", "plain \\u001b[2J"]);
});

test("refusals need attention, and completed changes do not", () => {
  const records = [record({ data: WRITE }), record({ seq: 2, event: "access.decision", data: DENIED })];
  const table = tableOfView(auditTailView, contextOf({ list_audit_records: records }));
  assert.deepEqual([table.isBad(0), table.isBad(1)], [false, true]);
});

test("no invalid value is accepted as a record", () => {
  const good = record();
  assert.deepEqual(parseRecord(JSON.stringify(good)), good);
  for (const bad of [
    "null",
    "[]",
    "{}",
    "{",
    JSON.stringify({ ...good, seq: "1" }),
    JSON.stringify({ ...good, audit: 2 }),
    JSON.stringify({ ...good, controls: [1] }),
    JSON.stringify({ ...good, ts: undefined }),
    JSON.stringify({ ...good, data: undefined }),
    JSON.stringify({ ...good, data: "x".repeat(70_000) }),
  ]) {
    assert.equal(parseRecord(bad), undefined);
  }
  fc.assert(
    fc.property(fc.string(), (text) => {
      const table = tableOfView(auditTailView, contextOf({}, { tail: [text] }));
      for (const { id } of table.columns) assert.equal(typeof cellAt(table, 0, id), "string");
    }),
  );
});

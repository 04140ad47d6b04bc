import assert from "node:assert/strict";
import test from "node:test";
import type { AuditHeadRecord } from "../../../src/admin-api/index.ts";
import { auditHeadsView } from "../../../src/console/views/audit-heads.ts";
import { parseHeads } from "../../../src/server/audit/index.ts";
import { bodyOf, cellAt, contextOf, NOW, startOf, tableOfView, textsOf, whyOf } from "./keys-fixture.ts";

const head = (others: Partial<AuditHeadRecord> = {}): AuditHeadRecord => ({
  node: "n1",
  kid: `7f3aB2cd${"k".repeat(31)}x91Q`,
  seq: 10_442,
  hash: `9c1e44d0${"h".repeat(31)}a2B3`,
  witnessed_at: new Date(NOW - 3_000).toISOString(),
  conflicts: 0,
  ...others,
});
const HEADS = [head(), head({ node: "n2", seq: 3, conflicts: 2 })];
const CONTEXT = contextOf({ list_audit_heads: HEADS });
const TABLE = tableOfView(auditHeadsView, CONTEXT);

test("a head is a row with abbreviated hash and key", () => {
  const row = (at: number) => TABLE.columns.map(({ id }) => cellAt(TABLE, at, id));
  assert.deepEqual(row(0), ["n1", "10,442", "9c1e44d0..a2B3", "7f3aB2cd..x91Q", "3s ago", "0"]);
  assert.equal(cellAt(TABLE, 1, "conflicts"), "!2");
  assert.deepEqual([TABLE.isBad(0), TABLE.isBad(1)], [false, true]);
});

test("a conflict says what it means and what to do", () => {
  const pane = (at: number) => textsOf(bodyOf(auditHeadsView).pane?.(TABLE.idOf(at), CONTEXT) ?? []).join("\n");
  assert.match(pane(1), /! CONFLICT: 2 times this node showed a head that does not continue/);
  assert.match(pane(1), /Export the trail of n2, save the heads \(w\), verify with both/);
  assert.doesNotMatch(pane(0), /CONFLICT/);
  const described = textsOf(bodyOf(auditHeadsView).describe?.(TABLE.idOf(1), CONTEXT) ?? []).join("\n");
  assert.match(described, /! CONFLICT/);
  assert.match(described, /conflicts +2/);
});

test("a conflict of a node with several chains explains a replacement", () => {
  const heads = [head({ conflicts: 1 }), head({ kid: "another".padEnd(43, "k"), seq: 12, conflicts: 1 })];
  const context = contextOf({ list_audit_heads: heads });
  const table = tableOfView(auditHeadsView, context);
  assert.match(
    textsOf(bodyOf(auditHeadsView).pane?.(table.idOf(1), context) ?? []).join("\n"),
    /replaced under its id/,
  );
  assert.doesNotMatch(
    textsOf(bodyOf(auditHeadsView).pane?.(TABLE.idOf(1), CONTEXT) ?? []).join("\n"),
    /replaced under/,
  );
});

test("the heads are saved as `audit verify -heads` takes them", () => {
  const prompt = startOf(auditHeadsView, "save", [], CONTEXT);
  assert.equal(prompt.kind === "ask" && prompt.initial, "audit-heads.json");
  const job = prompt.kind === "ask" && prompt.next("out.json");
  assert.ok(job && job.kind === "job" && job.job.kind === "save_text");
  assert.equal(job.job.file, "out.json");
  assert.deepEqual(
    parseHeads(job.job.text),
    HEADS.map(({ node, kid, seq, hash }) => ({ node, kid, seq, hash })),
  );
});

test("nothing is saved without a name or without heads", () => {
  const prompt = startOf(auditHeadsView, "save", [], CONTEXT);
  assert.equal(prompt.kind === "ask" && prompt.next(" ").kind, "flash");
  assert.equal(whyOf(auditHeadsView, "save", [], contextOf({})), "there are no heads to save");
  assert.equal(whyOf(auditHeadsView, "save", [], CONTEXT), undefined);
});

test("a file is verified from here, and the report is shown in its own view", () => {
  const prompt = startOf(auditHeadsView, "verify", [], CONTEXT);
  assert.deepEqual(prompt.kind === "ask" && prompt.next("trail.jsonl"), {
    kind: "job",
    job: { kind: "verify_audit", file: "trail.jsonl" },
    place: { view: "audit-verify" },
  });
});

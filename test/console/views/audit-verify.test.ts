import assert from "node:assert/strict";
import test from "node:test";
import { line } from "../../../src/console/model/text.ts";
import type { Verification } from "../../../src/console/model/verification.ts";
import { auditVerifyView } from "../../../src/console/views/audit-verify.ts";
import { contextOf, startOf, textsOf } from "./keys-fixture.ts";

const pageOf = (verification: Verification | undefined): string => {
  const { body } = auditVerifyView;
  assert.ok(body.kind === "page");
  return textsOf(body.lines(contextOf({}, { verification }))).join("\n");
};

test("before the first verification the page says how to start one", () => {
  const page = pageOf(undefined);
  assert.match(page, /Press V and name an exported trail/);
  assert.match(page, /gateway audit verify FILE/);
  assert.match(page, /gateway audit verify -heads audit-heads\.json FILE/);
});

test("a running verification shows its progress", () => {
  const page = pageOf({ file: "trail.jsonl", state: { kind: "running", message: "12,000 records, 9 MB" } });
  assert.equal(page, "file  trail.jsonl\n\nverifying: 12,000 records, 9 MB");
});

test("a report is shown with its verdict as text", () => {
  const lines = [line("ok   n1 K 0..9, 10 records")];
  const good = pageOf({ file: "t", state: { kind: "done", report: { isGood: true, lines } } });
  assert.match(good, /^VERIFIED: .*\n\nok {3}n1 K 0\.\.9, 10 records$/m);
  assert.doesNotMatch(good, /DOES NOT VERIFY/);
  const bad = pageOf({ file: "t", state: { kind: "done", report: { isGood: false, lines } } });
  assert.match(bad, /! DOES NOT VERIFY/);
  assert.match(bad, /Keep the file as it is/);
  assert.doesNotMatch(bad, /VERIFIED/);
});

test("an unreadable file is not reported as invalid", () => {
  const page = pageOf({ file: "t\u001b[2J", state: { kind: "failed", message: "ENOENT" } });
  assert.match(page, /! NOT CHECKED: ENOENT/);
  assert.doesNotMatch(page, /\u001b/);
});

test("V proposes the previous file", () => {
  const verification: Verification = { file: "trail.jsonl", state: { kind: "running", message: "" } };
  const prompt = startOf(auditVerifyView, "verify", [], contextOf({}, { verification }));
  assert.equal(prompt.kind === "ask" && prompt.initial, "trail.jsonl");
});

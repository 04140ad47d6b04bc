import assert from "node:assert/strict";
import { test } from "node:test";
import type { RowOf } from "../../../src/admin-api/index.ts";
import { CERTIFICATES } from "../../../src/console/views/attention-certificates.ts";
import { alertText } from "../../../src/console/views/attention-item.ts";
import { at, contextOf, NOW } from "./traffic-fixtures.ts";

type CertificateRecord = RowOf<"certificates">;

const row: CertificateRecord = {
  names: ["gateway.example.com"],
  source: "/etc/gateway/tls.crt",
  state: "valid",
  serial: "4A",
  issuer: "test",
  not_before: "2026-11-01T00:00:00.000Z",
  not_after: "2027-01-30T00:00:00.000Z",
  next_renewal: null,
  step: null,
  last_error: null,
  last_error_at: null,
  failures: 0,
  next_attempt: null,
  node: "n1",
};

const attentionItems = (changes: Partial<CertificateRecord>): readonly (readonly [string, string])[] =>
  CERTIFICATES.items(contextOf({ list_certificates: [{ ...row, ...changes }] })).map((item) => [
    item.severity,
    alertText(item, NOW),
  ]);

test("a valid certificate without renewal failures is no alert", () => {
  assert.deepEqual(attentionItems({}), []);
});

test("an expiring, expired or missing certificate is an alert with the last error", () => {
  const last_error = "/etc/gateway/tls.key: the key is empty";
  assert.deepEqual(attentionItems({ last_error }), [["warn", `certificate expires in 70d, last error: ${last_error}`]]);
  assert.deepEqual(attentionItems({ state: "expires_soon", not_after: at(9.5 * 86_400) }), [
    ["warn", "certificate expires in 9d"],
  ]);
  assert.deepEqual(attentionItems({ state: "expires_now", not_after: at(7_260) }), [
    ["fail", "certificate expires in 2h 01m"],
  ]);
  assert.deepEqual(attentionItems({ state: "expired" }), [
    ["fail", "certificate expired 2027-01-30: clients refuse it"],
  ]);
  assert.deepEqual(attentionItems({ state: "pending", serial: null, not_after: null }), [
    ["fail", "no certificate yet: nothing is served"],
  ]);
});

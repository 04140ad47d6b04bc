/** Expiry stages of a certificate at each boundary. Source: front-door reference, section 2.3. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type ExpiryStage, expiryStage } from "../../../src/server/tls/certificate-expiry.ts";

const DAY_MS = 86_400_000;

const ROWS: readonly (readonly [lifeDays: number, leftMs: number, stage: ExpiryStage])[] = [
  // For a lifetime of years the last 30 and 7 days.
  [825, 30 * DAY_MS, "valid"],
  [825, 30 * DAY_MS - 1, "expires_soon"],
  [825, 7 * DAY_MS, "expires_soon"],
  [825, 7 * DAY_MS - 1, "expires_now"],
  [825, 1, "expires_now"],
  [825, 0, "expired"],
  // For a shorter lifetime the last quarter and tenth.
  [40, 10 * DAY_MS, "valid"],
  [40, 10 * DAY_MS - 1, "expires_soon"],
  [40, 4 * DAY_MS, "expires_soon"],
  [40, 4 * DAY_MS - 1, "expires_now"],
];

for (const [lifeDays, leftMs, stage] of ROWS) {
  test(`a certificate for ${lifeDays} days with ${leftMs} ms left is in stage ${stage}`, () => {
    const notBefore = Date.UTC(2026, 0, 1);
    const notAfter = notBefore + lifeDays * DAY_MS;
    assert.equal(expiryStage({ notBefore, notAfter }, notAfter - leftMs), stage);
  });
}

/** The rate at which a bucket is used, and the units requested because of it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  chunkOf,
  recordAdmission,
  recordRate,
  unitsForRisks,
  unitsToPledgeAhead,
} from "../../../../src/server/core/budgets/bucket-rates.ts";
import { bucketOf, createLedger } from "../../../../src/server/core/budgets/ledger.ts";

const LIMIT = { limit: 100_000, windowMs: 60_000, limitRev: 1 };

function open(limit = LIMIT.limit) {
  const ledger = createLedger("n1");
  const bucket = bucketOf(ledger, "b/team", { ...LIMIT, limit });
  assert.ok(bucket);
  return { ledger, bucket };
}

test("no prefetch is requested for a bucket that no request has used", () => {
  const { ledger, bucket } = open();
  assert.deepEqual([chunkOf(ledger, bucket), unitsForRisks(bucket), unitsToPledgeAhead(ledger, bucket)], [0, 0, 0]);
});

test("the rate counts the first request and is known after half a second", () => {
  const { ledger, bucket } = open();
  recordAdmission(bucket, { units: 100, risk: 10 }, 1_000);
  recordAdmission(bucket, { units: 100, risk: 10 }, 1_499);
  assert.deepEqual([bucket.rate, chunkOf(ledger, bucket), unitsToPledgeAhead(ledger, bucket)], [0, 0, 200]);
  recordAdmission(bucket, { units: 200, risk: 10 }, 1_500);
  // 400 units within 500 ms, averaged with an idle half of the second.
  assert.equal(bucket.rate, 0.4);
  assert.equal(chunkOf(ledger, bucket), 800);
});

test("after a second without requests the rate is zero, and a long stretch counts no more than a second", () => {
  for (const pause of [1_000, 60_000]) {
    const { bucket } = open();
    recordAdmission(bucket, { units: 100, risk: 10 }, 0);
    recordAdmission(bucket, { units: 100, risk: 10 }, 500);
    assert.equal(bucket.rate, 0.2);
    recordRate(bucket, 0, 500 + pause);
    assert.equal(bucket.rate, 0, `after ${pause} ms`);
  }
});

test("a clock set back begins a new interval", () => {
  const { bucket } = open();
  recordAdmission(bucket, { units: 100, risk: 10 }, 10_000);
  recordRate(bucket, 50, 5_000);
  assert.equal(bucket.rate, 0);
  recordRate(bucket, 0, 5_500);
  assert.equal(bucket.rate, 0.05);
});

test("the cost of two more requests is prefetched as well, up to a sixteenth of the limit", () => {
  for (const [limit, risks] of [
    [100_000, 20],
    [160, 10],
  ] as const) {
    const { bucket } = open(limit);
    recordAdmission(bucket, { units: 100, risk: 10 }, 0);
    recordAdmission(bucket, { units: 100, risk: 10 }, 500);
    assert.equal(unitsForRisks(bucket), risks);
  }
});

test("a node with slow answers prefetches four times as much", () => {
  const { ledger, bucket } = open();
  recordAdmission(bucket, { units: 1_000, risk: 10 }, 0);
  recordAdmission(bucket, { units: 1_000, risk: 10 }, 500);
  const rate = 2;
  assert.equal(bucket.rate, rate);
  for (const [answerMs, aheadMs] of [
    [0, 1_000],
    [500, 2_000],
    [1_000, 4_000],
    [60_000, 8_000],
  ] as const) {
    ledger.answerMs = answerMs;
    assert.equal(unitsToPledgeAhead(ledger, bucket), rate * aheadMs, `answers in ${answerMs} ms`);
  }
});

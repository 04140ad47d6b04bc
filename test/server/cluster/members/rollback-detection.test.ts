/** Evidence that a member has forgotten, and what is not evidence. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createRollbackDetector } from "../../../../src/server/cluster/members/rollback-detection.ts";

const text = (lastIndex: number, term = 3, storageId = "s") => ({
  nodeId: "b",
  storageId,
  log: { lastIndex, term },
});

test("a log that ends before committed entries it had on its disk has forgotten, whoever leads", () => {
  const recall = createRollbackDetector();
  assert.equal(recall.check(text(0), undefined), undefined);
  recall.recordSafeIndex("b", "s", 46);
  recall.recordSafeIndex("b", "s", 40);
  assert.equal(recall.check(text(46), undefined), undefined);
  assert.equal(recall.check(text(60), undefined), undefined);
  assert.deepEqual(recall.rolledBack(), new Map());
  const found = { storageId: "s", lastIndex: 36, hadIndex: 46 };
  assert.deepEqual(recall.check(text(36, 9), undefined), found);
  assert.deepEqual(recall.rolledBack(), new Map([["b", found]]));
  assert.equal(recall.safeIndexOf("b", "s"), 46);
});

test("acknowledgements to the current leader count until the member has reached a later term", () => {
  const recall = createRollbackDetector();
  assert.deepEqual(recall.check(text(10, 3), { term: 3, index: 12 })?.hadIndex, 12);
  assert.deepEqual(recall.check(text(10, 2), { term: 3, index: 12 })?.hadIndex, 12);
  assert.equal(recall.check(text(10, 4), { term: 3, index: 12 }), undefined);
  assert.equal(recall.check(text(12, 3), { term: 3, index: 12 }), undefined);
});

test("another directory is another member, and an earlier version reports nothing that can be judged", () => {
  const recall = createRollbackDetector();
  recall.recordSafeIndex("b", "s", 46);
  assert.equal(recall.check(text(0, 0, "blank"), undefined), undefined);
  assert.equal(recall.check({ nodeId: "b", storageId: "s", log: undefined }, { term: 1, index: 9 }), undefined);
  recall.recordSafeIndex("b", "blank", 3);
  assert.equal(recall.safeIndexOf("b", "s"), undefined);
  assert.equal(recall.check(text(2, 1, "blank"), undefined)?.hadIndex, 3);
});

test("a member that returns complete, or is no longer one, is not listed", () => {
  const recall = createRollbackDetector();
  recall.recordSafeIndex("b", "s", 46);
  recall.check(text(1), undefined);
  recall.check(text(46), undefined);
  assert.equal(recall.rolledBack().size, 0);
  recall.check(text(1), undefined);
  recall.keepOnly(["a"]);
  assert.equal(recall.rolledBack().size, 0);
  assert.equal(recall.check(text(1), undefined), undefined);
});

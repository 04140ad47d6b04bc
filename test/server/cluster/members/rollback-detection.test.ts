/** Detection of members whose log lost committed entries, and reports that prove no loss. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createRollbackDetector } from "../../../../src/server/cluster/members/rollback-detection.ts";

const text = (lastIndex: number, term = 3, storageId = "s") => ({
  nodeId: "b",
  storageId,
  log: { lastIndex, term },
});

test("a log that ends before committed entries it once had on its disk is detected as rolled back at any term", () => {
  const detector = createRollbackDetector();
  assert.equal(detector.check(text(0), undefined), undefined);
  detector.recordSafeIndex("b", "s", 46);
  detector.recordSafeIndex("b", "s", 40);
  assert.equal(detector.check(text(46), undefined), undefined);
  assert.equal(detector.check(text(60), undefined), undefined);
  assert.deepEqual(detector.rolledBack(), new Map());
  const found = { storageId: "s", lastIndex: 36, hadIndex: 46 };
  assert.deepEqual(detector.check(text(36, 9), undefined), found);
  assert.deepEqual(detector.rolledBack(), new Map([["b", found]]));
  assert.equal(detector.safeIndexOf("b", "s"), 46);
});

test("acknowledgements to the current leader count until the member has reached a later term", () => {
  const detector = createRollbackDetector();
  assert.deepEqual(detector.check(text(10, 3), { term: 3, index: 12 })?.hadIndex, 12);
  assert.deepEqual(detector.check(text(10, 2), { term: 3, index: 12 })?.hadIndex, 12);
  assert.equal(detector.check(text(10, 4), { term: 3, index: 12 }), undefined);
  assert.equal(detector.check(text(12, 3), { term: 3, index: 12 }), undefined);
});

test("another directory is another member, and an earlier version reports nothing that can be judged", () => {
  const detector = createRollbackDetector();
  detector.recordSafeIndex("b", "s", 46);
  assert.equal(detector.check(text(0, 0, "blank"), undefined), undefined);
  assert.equal(detector.check({ nodeId: "b", storageId: "s", log: undefined }, { term: 1, index: 9 }), undefined);
  detector.recordSafeIndex("b", "blank", 3);
  assert.equal(detector.safeIndexOf("b", "s"), undefined);
  assert.equal(detector.check(text(2, 1, "blank"), undefined)?.hadIndex, 3);
});

test("a member that returns complete, or is no longer one, is not listed", () => {
  const detector = createRollbackDetector();
  detector.recordSafeIndex("b", "s", 46);
  detector.check(text(1), undefined);
  detector.check(text(46), undefined);
  assert.equal(detector.rolledBack().size, 0);
  detector.check(text(1), undefined);
  detector.keepOnly(["a"]);
  assert.equal(detector.rolledBack().size, 0);
  assert.equal(detector.check(text(1), undefined), undefined);
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Finding } from "../../../../src/server/core/guardrails/index.ts";
import { createScanCache } from "../../../../src/server/detectors/ensemble/scan-cache.ts";

const ENTRIES = 128;
const NOTHING: readonly Finding[] = [];

/** Returns the present keys in query order; a query does not count as use. */
const heldOf = (cache: ReturnType<typeof createScanCache>, keys: readonly string[]): readonly string[] =>
  // With this many entries every use is recent and changes no order.
  keys.filter((key) => cache.get(key, Number.MAX_SAFE_INTEGER) !== undefined);

const numbered = (from: number, to: number): readonly string[] =>
  Array.from({ length: to - from }, (_, at) => String(from + at));

describe("scan cache", () => {
  it("holds up to its limit of texts, and then drops a few of the oldest at once", () => {
    const cache = createScanCache();
    const all = numbered(0, ENTRIES + 1);
    for (const key of all.slice(0, ENTRIES)) assert.equal(cache.put(key, NOTHING, ENTRIES), 0);
    assert.deepEqual(heldOf(cache, all), all.slice(0, ENTRIES));
    assert.equal(cache.put(String(ENTRIES), NOTHING, ENTRIES), 5);
    assert.deepEqual(heldOf(cache, all), all.slice(5));
  });

  it("never exceeds its limit, and counts each dropped text", () => {
    const cache = createScanCache();
    const all = numbered(0, 10 * ENTRIES);
    let evicted = 0;
    for (const [at, key] of all.entries()) {
      evicted += cache.put(key, NOTHING, ENTRIES);
      assert.ok(at + 1 - evicted <= ENTRIES);
      assert.ok(at + 1 - evicted >= Math.min(at + 1, ENTRIES - 4));
    }
    assert.equal(heldOf(cache, all).length, all.length - evicted);
  });

  it("keeps texts that are used repeatedly, whatever else comes", () => {
    const cache = createScanCache();
    const conversation = numbered(0, 20);
    for (const key of conversation) cache.put(key, NOTHING, ENTRIES);
    for (const other of numbered(1_000, 1_000 + 10 * ENTRIES)) {
      cache.put(other, NOTHING, ENTRIES);
      for (const key of conversation) assert.notEqual(cache.get(key, ENTRIES), undefined, `${key} after ${other}`);
    }
  });

  it("does not hold a text with very many findings", () => {
    const cache = createScanCache();
    const finding: Finding = {
      start: 0,
      end: 1,
      category: "pii",
      label: "DIGITS",
      score: 1,
      recognizer: "",
      trace: undefined,
    };
    for (const count of [256, 257]) {
      cache.put("key", new Array<Finding>(count).fill(finding), ENTRIES);
      assert.equal(cache.get("key", ENTRIES)?.length, 256);
    }
  });

  it("shrinks from the next text on if its limit is lowered", () => {
    const cache = createScanCache();
    const all = numbered(0, ENTRIES);
    for (const key of all) cache.put(key, NOTHING, ENTRIES);
    assert.equal(cache.put("next", NOTHING, 8), ENTRIES + 1 - 8);
    assert.deepEqual(heldOf(cache, [...all, "next"]), [...all.slice(-7), "next"]);
  });
});

/** Unchanged data keeps its object identity, and data that violates the contract is reported. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { TABLES } from "../../../src/admin-api/index.ts";
import { fits } from "../../../src/console/watch/matches-schema.ts";
import { isSame, withKnownRows } from "../../../src/console/watch/reuse-unchanged.ts";
import { key, status, suspension } from "./support/peer.ts";

const json = fc.jsonValue({ maxDepth: 4 });
const copy = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test("two values of JSON are the same exactly when they are deeply equal", () => {
  fc.assert(fc.property(json, (value) => isSame(copy(value), copy(value))));
  fc.assert(
    fc.property(json, json, (a, b) => {
      const [left, right] = [copy(a), copy(b)];
      assert.equal(isSame(left, right), isDeepStrictEqual(left, right));
    }),
  );
});

test("names such as __proto__ are ordinary names", () => {
  assert.equal(isSame(JSON.parse('{"__proto__":1}'), JSON.parse('{"__proto__":2}')), false);
  assert.equal(isSame(JSON.parse('{"__proto__":1}'), JSON.parse('{"toString":1}')), false);
  assert.equal(isSame(JSON.parse("{}"), JSON.parse('{"toString":1}')), false);
});

test("unchanged rows keep their object identity", () => {
  const row = fc.record({ id: fc.nat(20).map(String), value: fc.nat(2) }, { noNullPrototype: true });
  const rows = fc.uniqueArray(row, { selector: ({ id }) => id, maxLength: 15 });
  fc.assert(
    fc.property(rows, rows, (previous, next) => {
      const { rows: known, fresh } = withKnownRows(previous, next, ({ id }) => String(id));
      assert.deepEqual(known, next);
      for (const it of known) {
        const former = previous.find(({ id }) => id === it["id"]);
        assert.equal(it === former, former !== undefined && isDeepStrictEqual(former, it));
      }
      assert.deepEqual(
        fresh,
        known.filter((it) => !previous.some((former) => former === it)),
      );
      assert.equal(known === previous, isDeepStrictEqual(previous, next));
    }),
  );
});

test("rows with a duplicate id are not lost", () => {
  const next = [
    { id: "a", value: 1 },
    { id: "a", value: 2 },
    { id: "b", value: 3 },
  ];
  assert.deepEqual(withKnownRows([{ id: "a", value: 2 }], next, ({ id }) => String(id)).rows, next);
});

test("a row may have additional columns and words, but no missing column or other type", () => {
  const { json: schema } = TABLES.keys;
  assert.ok(fits(schema, key(1)));
  assert.ok(fits(schema, { ...key(1), profile: null, later: 5, status: "odd" }));
  const { profile: _, ...less } = key(1);
  assert.equal(fits(schema, less), false);
  assert.equal(fits(schema, { ...key(1), name: 5 }), false);
  assert.equal(fits(schema, { ...key(1), name: null }), false);
  assert.equal(fits(schema, { ...key(1), metadata: { team: 5 } }), false);
  assert.equal(fits(schema, { ...key(1), metadata: [] }), false);
  assert.equal(fits(TABLES.profiles.json, { name: "p", detectors: [1] }), false);
  assert.ok(fits(TABLES.suspensions.json, suspension("a")));
  assert.equal(fits(TABLES.suspensions.json, status()), false);
});

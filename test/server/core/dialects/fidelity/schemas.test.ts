/** Schema features of the providers' structured outputs. Source: as in `schemas.ts`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  hasUnenforcedBounds,
  isAcceptedByMessages,
  isExpressibleInMessages,
} from "../../../../../src/server/core/dialects/fidelity/schemas.ts";

const object = (properties: object, more: object = {}) => ({
  type: "object",
  properties,
  additionalProperties: false,
  ...more,
});

test("a schema without bounds and with closed objects passes unchanged", () => {
  const schema = object({
    a: { type: "array", minItems: 1, items: { $ref: "#/$defs/b" } },
    c: { type: "string", format: "date", pattern: "^[a-z]{2}$" },
    d: { enum: ["x", 1, null], default: 3 },
    minimum: { type: "integer" },
  });
  assert.ok(isAcceptedByMessages({ ...schema, $defs: { b: object({}) } }));
});

for (const bound of [
  { type: "integer", minimum: 0 },
  { type: "number", multipleOf: 0.5 },
  { type: "string", maxLength: 3 },
  { type: "array", minItems: 2, items: {} },
  { type: "array", uniqueItems: true },
  { type: "string", format: "phone" },
  { type: "string", pattern: "(?=a)b" },
]) {
  test(`a schema with this bound can be made strict, but the bound is not enforced: ${JSON.stringify(bound)}`, () => {
    const schema = object({ deep: { anyOf: [bound, { type: "null" }] } });
    assert.deepEqual(
      [isAcceptedByMessages(schema), hasUnenforcedBounds(schema), isExpressibleInMessages(schema)],
      [false, true, true],
    );
  });
}

test("the integer limits of a double, which libraries add to every integer, are not reported as bounds", () => {
  const integer = { type: "integer", minimum: -9007199254740991, maximum: 9007199254740991 };
  const schema = object({ age: integer });
  assert.deepEqual(
    [isAcceptedByMessages(schema), hasUnenforcedBounds(schema), isExpressibleInMessages(schema)],
    [false, false, true],
  );
  assert.equal(hasUnenforcedBounds(object({ age: { ...integer, minimum: 0 } })), true);
});

const REFUSED: Readonly<Record<string, object>> = {
  "recursion through the root": object({ next: { $ref: "#" } }),
  "recursion through a definition": object(
    { tree: { $ref: "#/$defs/node" } },
    { $defs: { node: object({ children: { type: "array", items: { $ref: "#/$defs/node" } } }) } },
  ),
  "recursion through two definitions": object(
    { a: { $ref: "#/$defs/a" } },
    { $defs: { a: { anyOf: [{ $ref: "#/$defs/b~1c" }] }, "b/c": { items: { $ref: "#/$defs/a" } } } },
  ),
  "a reference to elsewhere": object({ a: { $ref: "https://example.com/a.json" } }),
  "a reference next to other constraints": object({ a: { allOf: [{ $ref: "#/$defs/a" }] } }, { $defs: { a: {} } }),
  "values that are objects": object({ a: { enum: [{ b: 1 }] } }),
  "an object with any property": { type: "object", additionalProperties: { type: "string" } },
};

for (const [name, schema] of Object.entries(REFUSED)) {
  test(`a schema whose loss would change the form of the answer is refused: ${name}`, () => {
    assert.equal(isExpressibleInMessages(schema), false);
  });
}

test("a definition used twice is not recursion", () => {
  const uses = { a: { $ref: "#/$defs/d" }, b: { $ref: "#/$defs/d" }, c: { $ref: "#/$defs/e" } };
  const definitions = { d: object({ e: { $ref: "#/$defs/e" } }), e: object({}) };
  assert.ok(isExpressibleInMessages(object(uses, { $defs: definitions })));
});

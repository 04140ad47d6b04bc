import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import type { Json, JsonObject } from "../../src/simulator/json-fields.ts";
import { exampleOf } from "../../src/simulator/schema-example.ts";

function assertFits(schema: JsonObject): void {
  const example = exampleOf(schema);
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
  assert.ok(validate(example), `${JSON.stringify(example)} does not fit ${JSON.stringify(schema)}`);
}

test("examples match schemas of every kind that tools use", () => {
  const node: JsonObject = { type: "object", properties: { next: { $ref: "#/$defs/node" }, v: { type: "integer" } } };
  const schemas: JsonObject[] = [
    {},
    { type: "object", properties: { a: { enum: ["x", "y"] }, b: { const: 3 }, c: { type: ["null", "string"] } } },
    { type: "object", properties: { a: { anyOf: [{ type: "null" }, { type: "integer" }] } }, required: ["a"] },
    { type: "object", allOf: [{ properties: { a: { type: "string" } }, required: ["a"] }, { required: ["b"] }] },
    { type: "object", required: ["undeclared"], additionalProperties: { type: "string" } },
    { type: "array", prefixItems: [{ type: "string" }, { type: "number" }], items: false, minItems: 2 },
    { type: "array", items: { type: "boolean" }, minItems: 3, maxItems: 4 },
    { type: "string", minLength: 30 },
    { type: "string", maxLength: 2 },
    { type: "number", exclusiveMinimum: 1, exclusiveMaximum: 2 },
    { type: "integer", exclusiveMinimum: 4, maximum: 5 },
    { type: "integer", multipleOf: 7, minimum: 8 },
    { type: "number", maximum: -3 },
    { $ref: "#/$defs/node", $defs: { node } },
  ];
  schemas.forEach(assertFits);
});

test("examples match generated object schemas", () => {
  const leaf = fc.oneof(
    fc.record({ type: fc.constant("string"), minLength: fc.nat(20) }),
    fc.record({ type: fc.constant("integer"), minimum: fc.integer({ min: -50, max: 50 }) }),
    fc.record({ type: fc.constant("number"), exclusiveMaximum: fc.integer({ min: -50, max: 50 }) }),
    fc.record({ type: fc.constant("boolean") }),
  );
  const { schema } = fc.letrec<{ schema: JsonObject }>((tie) => ({
    schema: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      leaf,
      fc.record({ type: fc.constant("array"), items: tie("schema"), minItems: fc.nat(2) }),
      fc
        .dictionary(fc.constantFrom("a", "b", "c"), tie("schema"))
        .map((properties): JsonObject => ({ type: "object", properties, required: Object.keys(properties) })),
      fc.array(tie("schema"), { minLength: 1, maxLength: 3 }).map((anyOf): JsonObject => ({ anyOf })),
    ),
  }));
  fc.assert(fc.property(schema, assertFits), { numRuns: 50 });
});

test("a recursive or enormous schema ends", () => {
  const endless: JsonObject = {
    type: "object",
    properties: { a: { $ref: "#" }, b: { $ref: "#" } },
    required: ["a", "b"],
  };
  assert.ok(JSON.stringify(exampleOf(endless)).length < 100_000);
  const wide: Json = { type: "array", items: { type: "string", minLength: 5 }, minItems: 1e9 };
  assert.ok(JSON.stringify(exampleOf(wide)).length < 100_000);
  assert.deepEqual(exampleOf({ $ref: "#" }), {});
  assert.deepEqual(exampleOf(undefined), {});
});

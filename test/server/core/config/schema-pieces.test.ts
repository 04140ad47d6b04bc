/**
 * A split schema finds the same problems as the whole: over documents generated from each schema, with a few wrong
 * values.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc, { type Arbitrary } from "fast-check";
import { deploymentSchema, overlaySchema } from "../../../../src/server/core/config/deployment/index.ts";
import { nodeFileSchema } from "../../../../src/server/core/config/node-file/node-file.ts";
import type { JsonSchema } from "../../../../src/server/core/config/schema/schema.ts";
import { type ErrorObject, validate, validator } from "../../../../src/server/core/config/schema/validate.ts";
import { isPiece, withoutPieces } from "../../../../src/server/core/config/schema-pieces.ts";
import { randomFloor } from "../../../support/random-length.ts";

const RUNS = 300;
/** Deeper than any schema nests, so that a recursive schema ends. */
const DEEPEST = 12;

const WRONG: Arbitrary<unknown> = fc.constantFrom(
  null,
  true,
  -1,
  1.5,
  "",
  "a/b~c",
  "30s",
  "http://127.0.0.1:1",
  [],
  {},
);

const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Values mostly of the schema's type; objects with a few of its keys, and sometimes an unknown one. */
function drawn(schema: JsonSchema, depth = 0): Arbitrary<unknown> {
  const { type, properties, items, additionalProperties, enum: choices, oneOf, anyOf } = schema;
  const branches = [oneOf, anyOf].flatMap((it) => (Array.isArray(it) ? it.filter(isSchema) : []));
  const right: Arbitrary<unknown>[] = branches.map((branch) => drawn(branch, depth + 1));
  if (Array.isArray(choices)) right.push(fc.constantFrom(...choices));
  if (depth < DEEPEST && isSchema(items)) right.push(fc.array(drawn(items, depth + 1), { maxLength: 2 }));
  if (depth < DEEPEST && isSchema(additionalProperties)) {
    right.push(
      fc.dictionary(fc.constantFrom("a", "b/c", "d~e"), drawn(additionalProperties, depth + 1), { maxKeys: 2 }),
    );
  }
  if (depth < DEEPEST && isSchema(properties)) {
    const keys = Object.entries(properties).filter(([, below]) => isSchema(below));
    const member = fc
      .constantFrom(...keys)
      .chain(([name, below]) => drawn(below as JsonSchema, depth + 1).map((value) => [name, value] as const));
    const unknown = fc.constant(["unheard_of", 1] as const);
    const members = fc.array(fc.oneof({ weight: 15, arbitrary: member }, { weight: 1, arbitrary: unknown }), {
      maxLength: 5,
    });
    right.push(members.map((entries) => Object.fromEntries(entries)));
  }
  if (type === "integer" || type === "number") right.push(fc.constantFrom(0, 1, 2, 100));
  if (type === "boolean") right.push(fc.boolean());
  if (type === "string") right.push(fc.constantFrom("a", "main", "30s", "http://127.0.0.1:1/v1", "127.0.0.1:80"));
  const wrong = { weight: 1, arbitrary: WRONG };
  return right.length === 0
    ? WRONG
    : fc.oneof(...right.map((arbitrary) => ({ weight: Math.ceil(12 / right.length), arbitrary })), wrong);
}

const errorTexts = (errors: readonly ErrorObject[]): readonly string[] =>
  errors
    .map(({ instancePath, schemaPath, keyword, params, schema }) =>
      JSON.stringify([instancePath, schemaPath, keyword, params, schema]),
    )
    .sort();

for (const [name, { json }] of Object.entries({ deploymentSchema, nodeFileSchema, overlaySchema })) {
  test(`${name}: the split schema finds the same problems as the whole`, () => {
    const whole = validator().compile(json);
    let found = 0;
    fc.assert(
      fc.property(drawn(json), (value) => {
        const errors = whole(value) ? [] : (whole.errors ?? []);
        found += errors.length;
        assert.deepEqual(errorTexts(validate(json, value)), errorTexts(errors));
      }),
      { numRuns: RUNS },
    );
    assert.ok(found > randomFloor(RUNS / 3), `${found} errors`);
  });

  test(`${name}: the schema is split, and each part compiles under the strict settings`, () => {
    const pieces = new Set<JsonSchema>();
    const look = (schema: unknown): void => {
      if (Array.isArray(schema)) for (const item of schema) look(item);
      if (!isSchema(schema)) return;
      if (isPiece(schema)) pieces.add(schema);
      for (const below of Object.values(schema)) look(below);
    };
    look(json);
    assert.ok(pieces.size > 1, `${pieces.size}`);
    for (const piece of pieces) assert.equal(typeof validator().compile(withoutPieces(piece)), "function");
  });
}

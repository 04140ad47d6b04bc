/**
 * The printed schemas compared with the reader: the schema accepts what the reader accepts, and both refuse an unknown
 * key anywhere. Documents are assembled at random from the keys' examples, and broken in at most one place.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import {
  deploymentJsonSchema,
  deploymentSchema,
  type JsonSchema,
  nodeFileJsonSchema,
  type Read,
  type References,
  readDocument,
  readNodeFile,
  type Source,
} from "../../../../src/server/core/config/index.ts";

const VALUE = "a-value-that-is-long-enough-for-a-secret";

const references: References = {
  env: () => VALUE,
  secret: () => ({ kind: "value", value: VALUE }),
  file: () => ({ kind: "value", value: VALUE }),
};

const recordIn = (value: unknown): Readonly<Record<string, JsonSchema>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, JsonSchema>) : {};

/** Values of a schema: its examples, and objects with some of their keys. */
function valuesOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  const examples = fc.constantFrom(...((schema["examples"] ?? [null]) as readonly unknown[]));
  const properties = Object.entries(recordIn(schema["properties"]));
  if (properties.length === 0) return examples;
  const required = (schema["required"] ?? []) as readonly string[];
  const keys = Object.fromEntries(properties.map(([key, below]) => [key, valuesOf(below)]));
  return fc.oneof(examples, fc.record(keys, { requiredKeys: required as string[] }));
}

/** A document with some of the examples of the top-level keys and the required ones. */
function documentsOf(schema: JsonSchema): fc.Arbitrary<Record<string, unknown>> {
  const keys = Object.entries(recordIn(schema["properties"])).map(([key, below]) => [key, valuesOf(below)] as const);
  const required = (schema["required"] ?? []) as readonly string[];
  return fc.record(Object.fromEntries(keys), { requiredKeys: required as string[] }) as fc.Arbitrary<
    Record<string, unknown>
  >;
}

/** Returns objects with fixed keys, with the path of each. */
function objectsIn(schema: JsonSchema, value: unknown): readonly Record<string, unknown>[] {
  if (Array.isArray(value)) return value.flatMap((item) => objectsIn(recordIn(schema["items"]) as JsonSchema, item));
  if (typeof value !== "object" || value === null) return [];
  const properties = recordIn(schema["properties"]);
  const below = Object.entries(value).flatMap(([key, inner]) => objectsIn(properties[key] ?? {}, inner));
  return schema["additionalProperties"] === false ? [value as Record<string, unknown>, ...below] : below;
}

const DOCUMENTS: readonly (readonly [string, JsonSchema, (source: Source) => Read<unknown>])[] = [
  ["node file", nodeFileJsonSchema(), (source) => readNodeFile(source, references)],
  // Without the checks between sections, since a random name is seldom defined.
  [
    "deployment document",
    deploymentJsonSchema(),
    (source) => readDocument(deploymentSchema, source, references, { fileAllowed: true }),
  ],
];

for (const [name, schema, read] of DOCUMENTS) {
  const check = new Ajv2020({ strict: false, allErrors: false }).compile(schema);
  const refusals = (value: unknown): readonly string[] =>
    read({ name, text: JSON.stringify(value) })
      .problems.filter(({ severity }) => severity === "error")
      .map(({ message }) => message);

  test(`${name}: the schema accepts what the reader accepts`, () => {
    let accepted = 0;
    fc.assert(
      fc.property(documentsOf(schema), (document) => {
        if (refusals(document).length > 0) return;
        accepted += 1;
        assert.ok(check(document), `${JSON.stringify(document)}: ${JSON.stringify(check.errors)}`);
      }),
      { numRuns: 300 },
    );
    assert.ok(accepted > 0, "no document was accepted");
  });

  test(`${name}: both refuse an unknown key in every object`, () => {
    fc.assert(
      fc.property(documentsOf(schema), fc.nat(), (document, at) => {
        const copy = structuredClone(document);
        const objects = objectsIn(schema, copy);
        const spoiled = objects[at % objects.length];
        if (spoiled === undefined) return;
        spoiled["no_such_key"] = 1;
        assert.ok(!check(copy), JSON.stringify(copy));
        assert.ok(
          refusals(copy).some((message) => message.includes("no_such_key")),
          JSON.stringify(copy),
        );
      }),
      { numRuns: 300 },
    );
  });

  test(`${name}: both accept the examples of the whole document`, () => {
    for (const example of schema["examples"] as readonly unknown[]) {
      assert.ok(check(example));
      assert.deepEqual(refusals(example), []);
    }
  });
}

/** Editor support of each key: a description, valid examples, and the code's defaults. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import {
  deploymentJsonSchema,
  deploymentSchema,
  type JsonSchema,
  nodeFileJsonSchema,
  nodeFileSchema,
} from "../../../../src/server/core/config/index.ts";
import { fillDefaults } from "../../../../src/server/core/config/schema/defaults.ts";
import { compileWithoutNode } from "../../../../src/server/node/index.ts";
import { compilePool } from "../../../../src/server/upstream/pools/spec.ts";

const LEAST = 20;

interface Place {
  readonly path: string;
  readonly schema: JsonSchema;
}

/** Returns every schema below by its path, except those that only restrict another. */
function placesIn(schema: JsonSchema, path: string): readonly Place[] {
  const {
    properties = {},
    items,
    additionalProperties,
  } = schema as {
    properties?: Record<string, JsonSchema>;
    items?: JsonSchema;
    additionalProperties?: JsonSchema | boolean;
  };
  return [
    { path, schema },
    ...Object.entries(properties).flatMap(([key, below]) => placesIn(below, `${path}.${key}`)),
    ...(items === undefined ? [] : placesIn(items, `${path}[]`)),
    ...(typeof additionalProperties === "object" ? placesIn(additionalProperties, `${path}.*`) : []),
  ];
}

const PRINTED = [...placesIn(deploymentJsonSchema(), "deployment"), ...placesIn(nodeFileJsonSchema(), "node")];
const OURS = [...placesIn(deploymentSchema.json, "deployment"), ...placesIn(nodeFileSchema.json, "node")];

test(`each of the keys has a description of at least ${LEAST} characters that ends its sentence`, () => {
  assert.ok(PRINTED.length > 400);
  const poor = PRINTED.filter(
    ({ schema }) =>
      !(
        typeof schema["description"] === "string" &&
        schema["description"].length >= LEAST &&
        /[.`)]$/.test(schema["description"])
      ),
  );
  assert.deepEqual(
    poor.map(({ path, schema }) => `${path}: ${String(schema["description"])}`),
    [],
  );
});

test("examples and defaults are values that the schema accepts", () => {
  const ajv = new Ajv2020({ strict: false, allErrors: true, addUsedSchema: false });
  const wrong = PRINTED.flatMap(({ path, schema }) => {
    const values = [
      ...((schema["examples"] ?? []) as readonly unknown[]),
      ...("default" in schema ? [schema["default"]] : []),
    ];
    const check = values.length === 0 ? undefined : ajv.compile(schema);
    return values.filter((value) => check?.(value) === false).map((value) => `${path}: ${JSON.stringify(value)}`);
  });
  assert.deepEqual(wrong, []);
});

test("a duration, address, URL, date or credential has an example, and an enumeration its values", () => {
  const without = OURS.filter(
    ({ schema }) => schema["type"] === "string" && (schema["format"] !== undefined || schema["x-secret"] !== undefined),
  ).map(({ path }) => path);
  const printed = new Map(PRINTED.map(({ path, schema }) => [path, schema]));
  assert.deepEqual(
    without.filter((path) => ((printed.get(path)?.["examples"] ?? []) as readonly unknown[]).length === 0),
    [],
  );
  for (const { path, schema } of OURS) {
    if (schema["enum"] === undefined) continue;
    assert.ok(JSON.stringify(printed.get(path)).includes(JSON.stringify(schema["enum"])), path);
  }
});

test("a printed default is what a document gets that omits the key", () => {
  let filled = 0;
  for (const { path, schema } of OURS) {
    const properties = schema["properties"] as Record<string, JsonSchema> | undefined;
    if (properties === undefined) continue;
    const document: Record<string, unknown> = {};
    fillDefaults(schema, document);
    for (const [key, { default: value, ...below }] of Object.entries(properties)) {
      if (value === undefined) assert.ok(!Object.hasOwn(document, key), `${path}.${key}`);
      else {
        const whole = structuredClone(value);
        fillDefaults(below as JsonSchema, whole);
        assert.deepEqual(document[key], whole, `${path}.${key}`);
        filled += 1;
      }
    }
  }
  assert.ok(filled > 60, `${filled} defaults`);
});

/** Defaults outside the document: the program's behavior without the key and with it. */
const ASSUMED: Readonly<Record<string, (keys: object) => unknown>> = {
  "deployment.providers[].cost_per_session": async (keys: object) => {
    const { compiled } = await compileWithoutNode(
      { name: "d", text: JSON.stringify({ providers: [{ preset: "openai", ...keys }] }) },
      {},
    );
    return compiled.kind === "compiled" ? compiled.snapshot.providers[0]?.costPerSession : compiled.problems;
  },
  "deployment.providers[].pool.picker.insecure_skip_verify": (keys: object) =>
    compilePool(
      "p",
      {
        service: "http://pool:1",
        picker: { service: "https://picker:1", on_error: "fallback", timeout: "1s", ...keys },
      },
      "http://pool:1",
    ).picker?.skipsVerification,
};

test("a default outside the document is what the code uses if the key is omitted", async () => {
  const assumed = OURS.filter(({ schema }) => schema["x-assumed"] !== undefined);
  assert.deepEqual(assumed.map(({ path }) => path).sort(), Object.keys(ASSUMED).sort());
  for (const { path, schema } of assumed) {
    const key = path.slice(path.lastIndexOf(".") + 1);
    const without = await ASSUMED[path]?.({});
    assert.deepEqual(without, await ASSUMED[path]?.({ [key]: schema["x-assumed"] }), path);
    assert.deepEqual(without, schema["x-assumed"], path);
  }
});

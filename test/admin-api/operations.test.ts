/** The operations table: assumptions of routes, policy, OpenAPI and the client, for every row. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { OPERATIONS, type Operation, TABLES } from "../../src/admin-api/index.ts";
import type { JsonSchema } from "../../src/base/index.ts";

const operations: readonly (readonly [string, Operation])[] = Object.entries(OPERATIONS);

const parametersOf = (path: string): readonly string[] => [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);

test("no two operations share a method and a path", () => {
  const places = operations.map(([, { method, path }]) => `${method} ${path}`);
  assert.equal(new Set(places).size, places.length);
});

test("the name of an operation is a verb and its resource, except the one about the configuration as a whole", () => {
  for (const [id] of operations) if (id !== "rehearse") assert.match(id, /^[a-z]+(_[a-z0-9]+)+$/);
});

test("the parameters of a path are described, and no others", () => {
  for (const [id, { path, params }] of operations) {
    assert.deepEqual(Object.keys(params.keys).sort(), [...parametersOf(path)].sort(), id);
  }
});

test("a policy's resource is named by parameters of the path", () => {
  for (const [id, { resource, params }] of operations) {
    if (!("param" in resource)) continue;
    for (const name of [resource.param].flat()) assert.ok(Object.hasOwn(params.keys, name), `${id}: ${name}`);
  }
});

test("reads are GET unless they need a body, and GETs except the archive are in the group read", () => {
  const asking: ReadonlySet<string> = new Set(["run_query", "inspect_guardrails", "rehearse"]);
  for (const [id, { method, group }] of operations) {
    if (group === "read") assert.equal(method, asking.has(id) ? "POST" : "GET", id);
    if (method === "GET" && id !== "save_snapshot") assert.equal(group, "read", id);
  }
});

test("restore, prune and member removal are dangerous, and nothing else is", () => {
  assert.deepEqual(
    operations.filter(([, { group }]) => group === "dangerous").map(([id]) => id),
    ["delete_cluster_member", "prune_cluster", "restore_snapshot"],
  );
});

test("each table has its list under its own name", () => {
  for (const table of Object.keys(TABLES)) {
    const operation = new Map(operations).get(`list_${table}`);
    assert.deepEqual([operation?.path, operation?.answer], [`/${table}`, { kind: "list", table }]);
  }
});

test("help is one sentence", () => {
  for (const [id, { help }] of operations) assert.match(help, /^[A-Z]([^.]|\.\d)*\.$/, id);
});

/** Yields every schema inside one, with its path. */
function* within(schema: JsonSchema, at: string): Generator<readonly [string, JsonSchema]> {
  yield [at, schema];
  for (const [name, key] of Object.entries((schema["properties"] ?? {}) as Record<string, JsonSchema>)) {
    yield* within(key, `${at}.${name}`);
  }
  for (const name of ["items", "additionalProperties"]) {
    const inner = schema[name];
    if (typeof inner === "object" && inner !== null) yield* within(inner as JsonSchema, `${at}.${name}`);
  }
}

function schemasOf([id, { params, query, body, answer }]: readonly [string, Operation]) {
  return [
    ...within(params.json, `${id} params`),
    ...within(query.json, `${id} query`),
    ...(body.kind === "json" ? within(body.schema.json, `${id} body`) : []),
    ...(answer.kind === "json" ? within(answer.schema.json, `${id} answer`) : []),
  ];
}

test("every field is described", () => {
  const schemas = operations.flatMap(schemasOf);
  assert.ok(schemas.length > 200, `${schemas.length} schemas`);
  for (const [at, { description }] of schemas) assert.ok(typeof description === "string" && description !== "", at);
});

test("no object accepts undescribed fields", () => {
  for (const [at, schema] of operations.flatMap(schemasOf)) {
    if (schema["type"] === "object") assert.notEqual(schema["additionalProperties"] ?? true, true, at);
  }
});

test("every text and list from a caller has a limit", () => {
  const sent = operations.flatMap((row) => schemasOf(row).filter(([at]) => !at.includes(" answer")));
  for (const [at, schema] of sent) {
    const { type, enum: values, maxLength, pattern, format, maxItems } = schema;
    if ([type].flat().includes("string")) {
      const isBounded = values !== undefined || maxLength !== undefined || format !== undefined;
      assert.ok(isBounded || /\{\d,\d+\}\$$/.test(String(pattern)), at);
    }
    if (type === "array") assert.ok(maxItems !== undefined, at);
  }
});

/** The OpenAPI document: valid by the official schema of OpenAPI 3.1, complete, and equal to the operations table. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { BASE_PATH, OPERATIONS, type Operation, openApiDocument, TABLES } from "../../src/admin-api/index.ts";
import { REFUSALS } from "../../src/base/index.ts";

type Node = Readonly<Record<string, unknown>>;

const document = openApiDocument({ version: "1.2.3" });
const operations: readonly (readonly [string, Operation])[] = Object.entries(OPERATIONS);
const described = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

function find(id: string): Node {
  const found = described.find(({ operation }) => operation["operationId"] === id);
  assert.ok(found !== undefined, id);
  return found.operation;
}

/** Yields every object inside, including itself. */
function* nodes(value: unknown): Generator<Node> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield value as Node;
  for (const part of Object.values(value)) yield* nodes(part);
}

/** Returns the part at this path, or `undefined`. */
const part = (from: unknown, ...names: readonly string[]): unknown =>
  names.reduce((node, name) => (node as Node | undefined)?.[name], from);

const resolve = (pointer: string): unknown =>
  part(
    document,
    ...pointer
      .slice("#/".length)
      .split("/")
      .map((it) => it.replaceAll("~1", "/")),
  );

test("the document is valid under the official schema of OpenAPI 3.1", async () => {
  const path = new URL("../data/openapi/openapi-3.1-schema-2022-10-07.json", import.meta.url);
  const ajv = new Ajv2020({ strict: false, formats: { uri: true, "uri-reference": true, regex: true } });
  // The dynamic reference allows another schema dialect; ajv resolves it wrongly, and none is used here.
  const text = (await readFile(path, "utf8")).replaceAll(/"\$dynamicRef": "#meta"/g, '"$ref": "#/$defs/schema"');
  const validate = ajv.compile(JSON.parse(text));
  assert.ok(validate(document), ajv.errorsText(validate.errors));
  const served = openApiDocument({ version: "1.2.3", serverUrl: "https://gateway.example" });
  assert.ok(validate(served), ajv.errorsText(validate.errors));
  assert.deepEqual(served.servers, [{ url: "https://gateway.example" }]);
  // Detects a schema that lets everything pass.
  assert.equal(validate({ ...document, paths: { nowhere: {} } }), false);
});

test("its schemas are valid JSON Schema 2020-12", () => {
  const ajv = new Ajv2020({ strict: false, formats: {} });
  const schemas = [...nodes(document)].filter((node) => "schema" in node).map((node) => node["schema"]);
  assert.ok(schemas.length > 100, `${schemas.length} schemas`);
  for (const schema of [...schemas, ...Object.values(document.components["schemas"] ?? {})]) {
    assert.ok(ajv.validateSchema(schema as Node), ajv.errorsText(ajv.errors));
  }
});

test("every reference has its target, and every target is referenced", () => {
  const refs = new Set(
    [...nodes(document)].flatMap((node) => (typeof node["$ref"] === "string" ? [node["$ref"]] : [])),
  );
  for (const ref of refs) assert.notEqual(resolve(ref), undefined, ref);
  const components = Object.entries(document.components).filter(([kind]) => kind !== "securitySchemes");
  const held = components.flatMap(([kind, named]) =>
    Object.keys(named).map((name) => `#/components/${kind}/${name.replaceAll("/", "~1")}`),
  );
  assert.deepEqual(
    held.filter((ref) => !refs.has(ref)),
    [],
  );
});

test("every operation is listed once, at its method and path, beside the two probes", () => {
  assert.deepEqual(
    described.map(({ path, method, operation }) => [operation["operationId"], method, path]).sort(),
    [
      ...operations.map(([id, { method, path }]) => [id, method.toLowerCase(), BASE_PATH + path]),
      ["get_healthz", "get", "/healthz"],
      ["get_readyz", "get", "/readyz"],
    ].sort(),
  );
});

test("the same table gives the same text", () => {
  assert.equal(JSON.stringify(openApiDocument({ version: "1.2.3" })), JSON.stringify(document));
});

test("an operation has its action, group and resource, and an open one needs no credential", () => {
  for (const [id, { group, isOpen }] of operations) {
    const operation = find(id);
    const policy = [operation["x-policy-action"], operation["x-policy-group"]];
    assert.deepEqual([...policy, operation["security"]], isOpen ? [undefined, undefined, []] : [id, group, undefined]);
  }
  assert.equal(find("get_key")["x-policy-resource"], 'Key::"{name}"');
  assert.equal(find("list_keys")["x-policy-resource"], 'Table::"keys"');
  assert.equal(find("put_suspension")["x-policy-resource"], 'Suspension::"{kind}:{name}"');
  assert.deepEqual(find("get_login")["security"], []);
});

test("each code of an operation is listed at its status in the table of refusals", () => {
  for (const [id, { codes }] of operations) {
    const responses = part(find(id), "responses");
    for (const code of codes) {
      const ref = String(part(responses, String(REFUSALS[code].status), "$ref"));
      assert.ok(ref.split("/").at(-1)?.split(".").includes(code), `${id} ${code}: ${ref}`);
    }
    assert.equal(part(responses, "default", "$ref"), "#/components/responses/Refusal", id);
  }
});

test("a list answers rows of its table with an index, and has an ETag", () => {
  for (const table of Object.keys(TABLES)) {
    const ok = part(find(`list_${table}`), "responses", "200");
    assert.deepEqual(part(ok, "headers", "etag"), { $ref: "#/components/headers/Index" }, table);
    const fields = part(ok, "content", "application/json", "schema", "properties");
    assert.match(String(part(fields, "items", "items", "$ref")), /^#\/components\/schemas\/[A-Z]\w+$/, table);
    assert.equal(part(fields, "index", "type"), "integer", table);
  }
});

test("headers are listed where the API accepts them: a key with writes, a revision with sources", () => {
  const parametersOf = (id: string): readonly string[] =>
    ((find(id)["parameters"] ?? []) as readonly Node[]).map((it) => String(it["$ref"] ?? it["name"]));
  const header = (name: string): string => `#/components/parameters/${name}`;
  assert.deepEqual(parametersOf("put_source"), [
    "name",
    "dry_run",
    "rehearse",
    header("IdempotencyKey"),
    header("IfMatch"),
  ]);
  assert.deepEqual(parametersOf("create_key"), [header("IdempotencyKey")]);
  assert.deepEqual(parametersOf("restore_snapshot"), ["without_secrets"]);
  assert.deepEqual(parametersOf("list_keys"), ["index", "wait", "consistent", "limit", "after"]);
  assert.deepEqual(parametersOf("list_secrets"), ["index", "wait", "consistent"]);
  const revised = operations
    .map(([id]) => id)
    .filter((id) => JSON.stringify(find(id)["responses"]).includes("#/components/headers/Revision"));
  assert.deepEqual(revised, ["get_source", "put_source", "get_source_revision", "rollback_source"]);
});

test("bodies have the content types that the API reads", () => {
  const typesOf = (id: string): readonly string[] => Object.keys(part(find(id), "requestBody", "content") ?? {});
  assert.deepEqual(typesOf("create_key"), ["application/json"]);
  assert.deepEqual(typesOf("put_source"), ["application/yaml", "application/json"]);
  assert.deepEqual(typesOf("restore_snapshot"), ["application/gzip"]);
  assert.deepEqual(typesOf("rotate_key"), []);
});

test("a named schema is defined in one place", () => {
  const whole = JSON.stringify({ ...document, components: {} });
  for (const [name, schema] of Object.entries(document.components["schemas"] ?? {})) {
    assert.ok(!whole.includes(JSON.stringify(schema)), name);
  }
});

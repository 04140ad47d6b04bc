import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import {
  deploymentJsonSchema,
  type JsonSchema,
  nodeFileJsonSchema,
  printableSchema,
} from "../../../../../src/server/core/config/index.ts";
import { lines, read, sample } from "../samples.ts";

const compile = (schema: JsonSchema) => new Ajv2020({ strict: true, allErrors: true }).compile(schema);

const printed = printableSchema(sample, { id: "urn:gateway:sample", title: "Sample" });

test("the printed schema is strict JSON Schema without custom keywords", () => {
  for (const schema of [printed, deploymentJsonSchema(), nodeFileJsonSchema()]) {
    assert.equal(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert.doesNotThrow(() => compile(schema));
    assert.doesNotMatch(JSON.stringify(schema), /"x-[a-z-]+":/);
  }
});

test("a choice of digits may be written as a number, as the reader accepts it", () => {
  const check = compile(deploymentJsonSchema());
  const withTriggers = (when: readonly unknown[]) => ({
    providers: [{ name: "a", dialect: "compat", base_url: "https://a.example", retry: { attempts: 1, when } }],
  });
  for (const [when, isRight] of [
    [["connect", 429], true],
    [["429"], true],
    [["${env:WHEN}"], true],
    [[430], false],
    [[429.5], false],
    [["430"], false],
  ] as const) {
    const document = withTriggers(when);
    assert.equal(check(document), isRight, JSON.stringify(document));
  }
});

test("a key that this version lacks says so in its description", () => {
  const { properties } = printed as { readonly properties: Readonly<Record<string, JsonSchema>> };
  assert.equal(properties["later"]?.["description"], "Later. Not supported by this version.");
  assert.equal(properties["name"]?.["description"], "A name.");
  assert.equal(properties["key"]?.["writeOnly"], true);
});

/** Documents with their validity; missing features of this version do not affect the shape. */
const DOCUMENTS: readonly (readonly [object, boolean])[] = [
  [{ name: "x" }, true],
  [{}, false],
  [{ name: "x", nmae: "y" }, false],
  [{ name: "longer than 8" }, false],
  [{ name: "x", color: "blue" }, false],
  [{ name: "x", port: 10 }, false],
  [{ name: "x", wait: "1h30m", at: "[::1]:80", root: "https://x", day: "2026-01-31" }, true],
  [{ name: "x", wait: "5x" }, false],
  [{ name: "x", at: "nowhere" }, false],
  [{ name: "x", root: "ftp://x" }, false],
  [{ name: "x", day: "yesterday" }, false],
  [{ name: "x", tags: ["a", "a"] }, false],
  [{ name: "x", rules: { c: "" } }, true],
  [{ name: "x", rules: {} }, false],
  [{ name: "x", rules: { c: "", d: "" } }, false],
  [{ name: "x", rules: { c: "", a: "", b: "" } }, false],
  [{ name: "x", rules: { c: "", e: "" } }, false],
  [{ name: "x", rules: { c: "", e: "", f: "" } }, true],
];

test("the printed schema and the reader agree on validity", () => {
  const check = compile(printed);
  for (const [document, isRight] of DOCUMENTS) {
    const written = JSON.stringify(document);
    assert.equal(check(document), isRight, written);
    assert.equal(lines(read(sample, written)).length === 0, isRight, written);
  }
});

test("a limited text may be a reference, and a name or number may not", () => {
  const check = compile(printed);
  assert.ok(
    check({
      name: "x",
      title: "${A_LONG_VARIABLE}",
      color: "${C}",
      wait: "${secret:w}",
      at: "${H}:80",
      code: "${file:c}",
    }),
  );
  assert.ok(!check({ name: "${A_LONG_VARIABLE}" }));
  assert.ok(!check({ name: "x", port: "${PORT}" }));
  assert.ok(!check({ name: "x", on: "${ON}" }));
});

/** No possible credential is on a page of a document, in any style. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { stringify } from "yaml";
import { execute } from "../../../src/cli/main.ts";
import { textOfLine } from "../../../src/console/model/text.ts";
import { differencePage } from "../../../src/console/pages/difference.ts";
import { documentPage } from "../../../src/console/pages/document.ts";
import { masked } from "../../../src/console/pages/mask.ts";
import { bufferIo } from "../../cli/buffer-io.ts";
import { cpuMs } from "../../support/cpu-time.ts";

const CASES: readonly (readonly [what: string, written: string, shown: string])[] = [
  ["a plain value", "api_key: sk-1 2 # live", "api_key: (hidden)"],
  ["a quoted value", `- "api_key": "sk-\\"1"`, `- "api_key": (hidden)`],
  ["a value in single quotes", "api_key: 'it''s'", "api_key: (hidden)"],
  ["a reference", "api_key: ${secret:OPENAI}", "api_key: ${secret:OPENAI}"],
  [
    "a quoted reference in a flow map",
    '{ name: a, api_key: "${secret:A}", x: 1 }',
    '{ name: a, api_key: "${secret:A}", x: 1 }',
  ],
  ["a reference in a flow map", "{ api_key: ${secret:A}, x: 1 }", "{ api_key: ${secret:A}, x: 1 }"],
  ["a reference followed by a literal", "api_key: ${secret:A}sk-1", "api_key: (hidden)"],
  ["a value in a flow map", "{ name: a, api_key: sk-1, models: [a] }", "{ name: a, api_key: (hidden), models: [a] }"],
  ["a block", "api_key: |\n  sk-1\n  sk-2\nname: a", "api_key: |\n  (hidden)\n  (hidden)\nname: a"],
  ["a value of several lines", "api_key: sk-1\n  sk-2\nname: a", "api_key: (hidden)\n  (hidden)\nname: a"],
  [
    "a list",
    "signing_keys:\n  - sk-1\n  - ${secret:B}\nname: a",
    "signing_keys:\n  - (hidden)\n  - ${secret:B}\nname: a",
  ],
  [
    "a map of headers",
    "- headers:\n    authorization: Bearer sk-1\n    x-a: b\n  name: a",
    "- headers:\n    authorization: (hidden)\n    x-a: (hidden)\n  name: a",
  ],
  ["a switch with such a name", "virtual_keys: true", "virtual_keys: true"],
  [
    "text that only begins like a reference",
    "token_exchange: { url: a }\nmax_tokens: 5",
    "token_exchange: { url: a }\nmax_tokens: 5",
  ],
  ["JSON on one line", '{"name":"a","api_key":"sk-1","n":1}', '{"name":"a","api_key":(hidden),"n":1}'],
  [
    "JSON on several lines",
    '{\n  "headers": {\n    "a": "sk-1"\n  }\n}',
    '{\n  "headers": {\n    "a": (hidden)\n  }\n}',
  ],
];

for (const [what, written, shown] of CASES) {
  test(`${what} is shown masked as expected`, () => {
    assert.equal(masked(written), shown);
  });
}

/** Returns every name that the schema marks as write-only. */
async function secretNames(): Promise<ReadonlySet<string>> {
  const io = bufferIo();
  assert.equal(await execute(["-config-schema"], io), 0);
  const schema: unknown = JSON.parse(io.out());
  const names = new Set<string>();
  const walk = (node: unknown, name: string): void => {
    if (typeof node !== "object" || node === null) return;
    if (Reflect.get(node, "writeOnly") === true) names.add(name);
    for (const [key, inner] of Object.entries(node)) {
      walk(inner, ["properties", "items", "additionalProperties", "$defs"].includes(key) ? name : key);
    }
  };
  walk(schema, "");
  return names;
}

const NAMES = [...(await secretNames())];

test("every value that the schema marks write-only is masked", () => {
  assert.ok(NAMES.length >= 10, NAMES.join(" "));
  for (const name of NAMES) assert.equal(masked(`${name}: sk-1`), `${name}: (hidden)`, name);
});

test("no document shows a masked value, in any style", () => {
  const canary = "c4n4ry";
  const value = fc.oneof(
    fc.constant(canary),
    fc.string().map((text) => `${text.replaceAll("${", "")} ${canary}`),
    fc.constant(`two\nlines ${canary}\n`),
    fc.constant(`it's "${canary}", {a: b} # [c]`),
    fc.constant([canary, `x: ${canary}`]),
    fc.constant({ a: canary, "b-c": `y, ${canary}` }),
  );
  const secrets = fc.dictionary(fc.constantFrom(...NAMES), value, { minKeys: 1, maxKeys: 3 });
  const entry = fc
    .record({ name: fc.constantFrom("a", "b c"), models: fc.constant(["m-*"]), more: secrets })
    .map(({ more, ...rest }) => ({ ...rest, ...more, nested: { deeper: more } }));
  fc.assert(
    fc.property(fc.array(entry, { minLength: 1, maxLength: 3 }), fc.constantFrom(0, 1, 2, 3), (providers, style) => {
      const document = { version: 1, providers };
      const text =
        style === 0
          ? stringify(document)
          : style === 1
            ? stringify(document, { lineWidth: 0, defaultStringType: "QUOTE_DOUBLE" })
            : style === 2
              ? JSON.stringify(document, null, 2)
              : JSON.stringify(document);
      const seen = [...documentPage(text), ...differencePage("", text, { from: "1", to: "2" })].map(textOfLine);
      assert.deepEqual(
        seen.filter((line) => line.includes(canary)),
        [],
        text,
      );
    }),
    { numRuns: 500 },
  );
});

test("a line of megabytes takes linear time", () => {
  for (const part of ["x", " ", '"', "{", "token:", '{"api_key":"a"},', "api_key: ${", "a: "]) {
    const startedAt = cpuMs();
    masked(part.repeat((2 << 20) / part.length));
    assert.ok(cpuMs() - startedAt < 5_000, part);
  }
});

test("documents that differ only in a credential are reported as different", () => {
  const page = differencePage("api_key: one", "api_key: two", { from: "1", to: "2" }).map(textOfLine);
  assert.deepEqual(page, ["They differ only in values that may be credentials, which are not shown."]);
});

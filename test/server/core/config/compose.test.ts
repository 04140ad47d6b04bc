import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  composeDeployment,
  deploymentSchema,
  MAX_DOCUMENT_BYTES,
  MAX_SOURCES,
  NAMED_LISTS,
  readDeployment,
  type Source,
} from "../../../../src/server/core/config/index.ts";
import { CANARY, lines, references } from "./samples.ts";

const compose = (texts: Readonly<Record<string, string>>) =>
  composeDeployment(
    Object.entries(texts).map(([name, text]): Source => ({ name, text })),
    references,
  );

test("sources merge into one deployment with lists in the order of source names, in any input order", () => {
  const texts = {
    "b-team": "providers: [{preset: anthropic, models: [claude-*]}]\nmax_body_bytes: 7\n",
    "a-team": "providers: [{preset: openai, models: [gpt-*]}]\ndefault_provider: anthropic\n",
  };
  const { document, problems } = compose(texts);
  assert.deepEqual(problems, []);
  assert.deepEqual(
    document?.providers.map(({ preset }) => preset),
    ["openai", "anthropic"],
  );
  assert.equal(document?.default_provider, "anthropic");
  assert.equal(document?.max_body_bytes, 7);
  assert.deepEqual(compose(Object.fromEntries(Object.entries(texts).reverse())).document, document);
});

test("a single source is read as the document it is, except for its version", () => {
  for (const text of [
    "providers: [{preset: openai}, {preset: openai}]\n",
    "providers: 1\nlisten: :1\n",
    "- 1\n",
    "providers: [\n",
    "",
    "providers: [{preset: openai, pool: {}}]\n",
    "{}",
    // A parse error leaves a position without a value, which no other check reports.
    "max_body_bytes: 1\nmax_body_bytes: 2\n",
    '{"max_body_bytes":1,"max_body_bytes":2}',
    "max_body_bytes: 99999999999999999999\n",
    "default_provider: !x a\n",
    "providers: &a []\nbudgets: *a\n",
    "<<: {a: 1}\n",
    "__proto__: {a: 1}\n",
    "'${A}': 1\n",
  ]) {
    const source = { name: "default", text };
    const [composed, read] = [composeDeployment([source], references), readDeployment(source, references)];
    assert.deepEqual(lines(composed), lines(read), text);
    assert.deepEqual(composed.document, read.document);
    assert.deepEqual(composed.used, read.used);
  }
});

test("a source from the admin API cannot read the gateway's own variables, and a file can", () => {
  const own = { ...references, env: () => CANARY, ofNodeFile: new Set(["SHARED"]) };
  const text = (variable: string) => `credentials: [{name: ${variable.toLowerCase()}, api_key: "\${${variable}}"}]\n`;
  const composed = (variable: string, isFromApi: boolean) =>
    composeDeployment(
      [
        { name: "a", text: text("OTHER") },
        { name: "b", text: text(variable), isFromApi },
        { name: "c", text: text("LAST"), isFromApi: true },
      ],
      own,
    );
  for (const variable of ["GATEWAY_CLUSTER_SECRET", "GATEWAY_X", "SHARED"]) {
    assert.deepEqual(lines(composed(variable, false)), []);
    const refused = composed(variable, true);
    assert.deepEqual(lines(refused), [
      `b:1:${variable.length + 33}: credentials[0].api_key: \`\${${variable}}\` cannot be used in a document of the admin API: variables that begin with \`GATEWAY_\`, or that the node file uses, belong to the node`,
    ]);
    assert.ok(!refused.used.environment.includes(variable));
  }
  assert.deepEqual(lines(composed("GATEWA", true)), []);
});

test("no source at all gives an empty deployment", () => {
  const { document, problems, problem } = compose({});
  assert.deepEqual(problems, []);
  assert.deepEqual(document?.providers, []);
  assert.equal(problem(["providers"], "x").file, "deployment");
});

test("a version belongs to its source: checked there, reported beside the deployment, and not part of it", () => {
  const composed = compose({ a: "version: 3\n", b: "version: 3\nproviders: []\n", c: "{}" });
  assert.deepEqual(composed.problems, []);
  assert.deepEqual([...composed.versions], Object.entries({ a: 3, b: 3 }));
  assert.equal(composed.document?.version, undefined);
  assert.deepEqual(lines(compose({ a: "{}", b: "\nversion: 0\n" })), ["b:2:10: version: expected at least 1, found 0"]);
});

test("a source may refer to an entry of another; an unknown one is reported with the source and its own path", () => {
  const credentials =
    "credentials: [{name: main, api_key: '${KEY}'}]\nproviders: [{preset: openai, models: [gpt-*]}]\n";
  const good = compose({ a: credentials, b: "providers: [{preset: anthropic, credential: main, models: [c*]}]\n" });
  assert.deepEqual(good.problems, []);
  assert.deepEqual(good.used.environment, ["KEY"]);
  const bad = compose({
    a: credentials,
    b: "providers:\n  - {preset: mistral, models: [m*]}\n  - {preset: anthropic, credential: mian, models: [c*]}\n",
  });
  assert.deepEqual(lines(bad), [
    'b:3:37: providers[1].credential: "mian" is no entry of `credentials` of this document; did you mean "main"?',
  ]);
  assert.deepEqual(bad.locate(["providers", 2, "preset"]), { file: "b", line: 3, column: 14 });
  assert.equal(bad.problem(["providers", 2, "pool"], "x").path, "providers[1].pool");
});

/** One entry of each list that sources may share, named `x`. */
const ENTRIES: Readonly<Record<string, string>> = {
  credentials: "credentials: [{name: x, api_key: '${KEY}'}]",
  catalog_overlays: "catalog_overlays: [{name: x}]",
  providers: "providers: [{name: x, preset: openai}]",
  budgets: "budgets: [{name: x, limit: 1}]",
  profiles: "profiles: [{name: x}]",
  mcp: "mcp: [{name: x, url: 'https://m.example'}]",
  a2a: "a2a: [{name: x, url: 'https://m.example'}]",
  access_rules: "access_rules: [{name: x, condition: 'true', action: deny}]",
  models: "models: {models: [{name: x}]}",
};

for (const [section, text] of Object.entries(ENTRIES)) {
  test(`an entry of ${section} that two sources define is refused with both named`, () => {
    const path = section === "models" ? "models.models" : section;
    const found = lines(compose({ a: `{}\n`, b: text, c: `\n${text}` })).filter((line) => line.includes("overlap"));
    assert.equal(found.length, 1);
    assert.match(
      found[0] as string,
      new RegExp(
        `^c:2:\\d+: ${path}\\[0\\]: the .+ "x" is also in the source "b", at line 1; sources must not overlap$`,
      ),
    );
  });
}

test("every list of the document has named entries", () => {
  const properties = deploymentSchema.json["properties"] as Readonly<Record<string, { readonly type: string }>>;
  const known = NAMED_LISTS.map(({ path }) => path.join("."));
  for (const [key, { type }] of Object.entries(properties)) {
    if (type === "array") assert.ok(known.includes(key), key);
  }
});

test("a provider without a name is known by its preset, and a server by its registry name", () => {
  assert.deepEqual(
    lines(compose({ a: "providers: [{preset: openai}]", b: "providers: [{name: openai, dialect: compat}]" })),
    ['b:1:13: providers[0]: the provider "openai" is also in the source "a", at line 1; sources must not overlap'],
  );
  const server = (name: string) =>
    `mcp: [{name: ${name}, url: 'https://m.example', registry: {name: com.example/m, description: d}}]`;
  assert.ok(
    lines(compose({ a: server("m"), b: server("n") })).some((line) => line.includes('"com.example/m" is also')),
  );
});

test("a name that is a reference is refused at its place, and its value is not shown", () => {
  const found = lines(
    compose({
      a: "credentials: [{name: '${KEY}', api_key: '${KEY}'}]",
      b: "credentials: [{name: '${KEY}', api_key: '${KEY}'}]",
    }),
  );
  assert.deepEqual(
    found,
    ["a", "b"].map(
      (source) =>
        `${source}:1:22: credentials[0].name: \`\${KEY}\` cannot be used here, since a name must be the same on every node`,
    ),
  );
  assert.ok(!found.join("").includes(CANARY));
});

test("a duplicate name in one of several sources is reported with the line of the first", () => {
  assert.deepEqual(
    lines(compose({ a: "providers: []", b: "providers:\n  - {preset: openai}\n  - {preset: openai}\n" })),
    ['b:3:5: providers[1]: the provider "openai" appears here a second time, first at line 2'],
  );
});

test("a section that is not a list belongs to one source", () => {
  for (const section of ["max_body_bytes: 0", "on_fidelity_loss: allow", "guardrails: {}", "auth: {}", "models: 1"]) {
    const key = section.split(":")[0] as string;
    const found = lines(compose({ a: section, b: section })).filter((line) => line.includes("overlap"));
    assert.deepEqual(found, [`b:1:1: ${key}: \`${key}\` is also in the source "a"; sources must not overlap`]);
  }
});

test("a section that should be a list and is not is reported in its source", () => {
  assert.deepEqual(lines(compose({ a: "providers: []", b: "providers: {}\n" })), [
    "b:1:12: providers: expected a list",
  ]);
});

test("an unreadable source is reported beside the problems of the others", () => {
  const found = lines(compose({ a: "provders: []", b: "", c: "- 1", d: "a: [" })).map((line) => line.split(" ")[0]);
  assert.deepEqual(
    found.map((line) => line?.slice(0, 2)),
    ["a:", "b:", "c:", "d:"],
  );
});

test("the sources together have the size limit of one document", () => {
  const many = Array.from({ length: MAX_SOURCES + 1 }, (_, at): Source => ({ name: `s${at + 100}`, text: "{}" }));
  assert.match(lines(composeDeployment(many, references)).join(), /at most 64 sources/);
  assert.equal(composeDeployment(many.slice(1), references).document?.providers.length, 0);
  const half = `# ${"x".repeat(MAX_DOCUMENT_BYTES / 2)}\n{}`;
  assert.match(lines(compose({ a: half, b: half })).join(), /^b:1:1: the sources together are longer than 4 MiB$/);
  const wide = `raw: [${"1,".repeat(60_000)}]`;
  assert.match(
    lines(compose({ a: wide, b: wide })).join(),
    /b:1:1: the sources together contain more than 100000 values/,
  );
  const twin = composeDeployment(
    [1, 2].map(() => ({ name: "a", text: "{}" })),
    references,
  );
  assert.match(lines(twin).join(), /two sources have this name/);
});

test("however a document is split into sources, the providers are the same, and problems are at their place", () => {
  const names = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,6}$/), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(names, fc.array(fc.nat(3), { minLength: 8, maxLength: 8 }), (providers, cuts) => {
      const texts: Record<string, string> = {};
      providers.forEach((name, at) => {
        const source = `s${cuts[at]}`;
        texts[source] =
          `${texts[source] ?? "providers:\n"}  - {name: ${name}, preset: openai, models: [${name}], xyz: 1}\n`;
      });
      const { problems, used } = compose(texts);
      assert.deepEqual(used.secrets, []);
      assert.equal(problems.length, providers.length);
      for (const { file, line, path } of problems) {
        assert.equal(path, `providers[${line - 2}].xyz`);
        assert.match((texts[file] as string).split("\n")[line - 1] as string, /xyz: 1/);
      }
    }),
  );
});

test("no text makes the merge throw", () => {
  const text = fc.oneof(
    fc.string(),
    fc.constantFrom(
      "providers: [",
      "providers:\n- 1\n- {}\n",
      "models: {models: 1}",
      "version: ${KEY}",
      "null",
      "mcp: ~",
    ),
    fc.json(),
  );
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom("a", "b", "c"), text), (texts) => {
      const { document, problems } = compose(texts);
      assert.equal(
        document === undefined,
        problems.some(({ severity }) => severity === "error"),
      );
      assert.ok(problems.every(({ file }) => Object.hasOwn(texts, file)));
    }),
  );
});

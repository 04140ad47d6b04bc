import assert from "node:assert/strict";
import { test } from "node:test";
import { formatProblem, type Source } from "../../../../src/server/core/config/index.ts";
import {
  changeOf,
  compileSources,
  editionOf,
  type FileStatusInput,
  fileStatus,
} from "../../../../src/server/node/configuration/compile-sources.ts";

const CANARY = "canary-51c7-never-in-the-open";

const missing = { kind: "problem", message: "there is no such secret", missing: true } as const;

function compile(texts: Readonly<Record<string, string>>, more: { readonly names?: readonly string[] } = {}) {
  return compileSources({
    sources: Object.entries(texts).map(([name, text]): Source => ({ name, text })),
    env: { REGION: "eu", PRESET: "openai", ADDRESS: "http://127.0.0.1:9/v1", KEY: CANARY },
    secrets: {
      secret: (name) => ((more.names ?? []).includes(name) ? { kind: "value", value: CANARY } : missing),
      file: () => missing,
    },
    fileOverlays: [],
  });
}

const linesOf = ({ compiled }: Pick<ReturnType<typeof compile>, "compiled">): readonly string[] =>
  compiled.problems.map(formatProblem);

const KEYS = "credentials: [{name: main, api_key: '${secret:MAIN}'}]\n";
const OPENAI = "providers: [{preset: openai, credential: main, models: [gpt-*]}]\n";
const ANTHROPIC = "version: 4\nproviders: [{preset: anthropic, credential: main, models: [claude-*]}]\n";

test("sources compile to one snapshot in which a request finds the providers of each", () => {
  const { compiled, deployment } = compile({ keys: KEYS, b: ANTHROPIC, a: OPENAI }, { names: ["MAIN"] });
  assert.ok(compiled.kind === "compiled", linesOf({ compiled }).join());
  const { route } = compiled.snapshot;
  assert.deepEqual(
    ["gpt-5", "claude-x", "other"].map((model) => route(model)?.provider.name),
    ["openai", "anthropic", undefined],
  );
  assert.deepEqual(deployment.used.secrets, ["MAIN"]);
  assert.deepEqual([...deployment.versions], [["b", 4]]);
});

test("sources that do not compile are refused as a whole, and the source at fault is named", () => {
  assert.deepEqual(linesOf(compile({ keys: KEYS, a: OPENAI })), [
    "keys:1:37: credentials[0].api_key: `${secret:MAIN}`: there is no such secret",
  ]);
  const twice = compile({ keys: KEYS, a: OPENAI, b: OPENAI }, { names: ["MAIN"] });
  assert.equal(twice.compiled.kind, "refused");
  assert.match(linesOf(twice).join(), /^b:1:13: providers\[0\]: the provider "openai" is also in the source "a"/);
  const preset = compile({
    a: "providers: []",
    b: "\nproviders:\n  - {preset: openai, models: [x]}\n  - {preset: nosuch}\n",
  });
  assert.match(linesOf(preset).join("\n"), /b:4:14: providers\[1\]\.preset: /);
});

test("a change is described by additions, removals and changes, or by its refusal; never by a value", () => {
  const running = compile({ keys: KEYS, a: OPENAI }, { names: ["MAIN"] });
  const next = compile({ keys: KEYS, a: ANTHROPIC }, { names: ["MAIN"] });
  const change = changeOf(running, next);
  assert.deepEqual(change, {
    kind: "compiles",
    differences: [
      { kind: "removed", path: "providers.openai" },
      { kind: "added", path: "providers.anthropic" },
    ],
    warnings: [],
  });
  assert.ok(changeOf(undefined, next).kind === "compiles");
  const refused = changeOf(
    running,
    compile({ keys: KEYS, a: `${OPENAI}default_provider: '\${secret:MAIN}'` }, { names: ["MAIN"] }),
  );
  assert.equal(refused.kind, "refused");
  assert.ok(!JSON.stringify([change, refused]).includes(CANARY));
});

test("a change that lets every client use a credential of the deployment is warned of once", () => {
  const AUTH = "auth: {virtual_keys: true}\n";
  const [open, closed, bare] = [OPENAI, `${OPENAI}${AUTH}`, "providers: [{preset: openai}]\n"].map((a) =>
    compile({ keys: KEYS, a }, { names: ["MAIN"] }),
  );
  assert.ok(open !== undefined && closed !== undefined && bare !== undefined);
  const warningsOf = (running: typeof open | undefined, next: typeof open): readonly string[] => {
    const change = changeOf(running, next);
    return change.kind === "compiles"
      ? change.warnings.map(({ path, message }) => `${path}: ${message}`)
      : assert.fail(linesOf(next).join());
  };
  for (const running of [undefined, closed, bare]) {
    const [warning = "", ...more] = warningsOf(running, open);
    assert.match(warning, /^auth: everybody who can reach .* the credential of provider openai: set `auth`/);
    assert.deepEqual(more, []);
  }
  for (const next of [open, closed, bare]) assert.deepEqual(warningsOf(open, next), []);
  for (const next of [closed, bare]) assert.deepEqual(warningsOf(undefined, next), []);
});

test("a deployment is shown and compared as written", () => {
  const written = (more: string) => ({
    a: `providers:
  - {name: p, dialect: compat, base_url: "\${ADDRESS}", api_key: "\${KEY}", models: ["\${REGION}-*", x], model_aliases: {alias: "\${REGION}"}}
profiles: [{name: t, allowed_models: ["\${REGION}-*"]}]
auth: {issuers: [{issuer: "\${REGION}", audience: a, subject: user, profile: t}]}
${more}`,
  });
  const one = compile(written(""));
  assert.ok(one.compiled.kind === "compiled", linesOf(one).join());
  const { claims, route, governance, providers } = one.compiled.snapshot;
  assert.deepEqual(
    claims.map(({ label, name, alias }) => [label, name, alias]),
    [
      ["x", "x", undefined],
      ["alias", "alias", "${REGION}"],
      ["${REGION}-*", "eu-*", undefined],
    ],
  );
  assert.deepEqual(
    ["eu-1", "alias", "${REGION}-1"].map((model) => route(model)?.label),
    ["${REGION}-*", "alias", "other"],
  );
  assert.equal(providers[0]?.aliases.get("alias"), "eu");
  const profile = governance.profile("t");
  assert.deepEqual([profile?.allowedModels, profile?.allows?.("eu-1")], [["${REGION}-*"], true]);
  assert.deepEqual(
    providers[0]?.channels.map(({ origin, shownOrigin }) => [origin, shownOrigin]),
    [["http://127.0.0.1:9", "${ADDRESS}"]],
  );

  const differing = changeOf(undefined, one);
  assert.ok(differing.kind === "compiles");
  assert.ok(
    differing.differences.some(({ path }) => path === 'auth.issuers["${REGION}"]'),
    JSON.stringify(differing),
  );
  assert.ok(!/"eu/.test(JSON.stringify(differing)));
  const literal = compile({ a: written("").a.replaceAll("${REGION}", "eu") });
  const guessed = changeOf(one, literal);
  assert.ok(guessed.kind === "compiles" && guessed.differences.length > 0, "no guess is confirmed");
});

test("a provider whose default name would be a reference needs an explicit name", () => {
  assert.deepEqual(linesOf(compile({ a: 'providers: [{preset: "${PRESET}"}]' })), [
    "a:1:22: providers[0].preset: a `preset` that is a reference needs a `name` beside it, since a name must be the same on every node",
  ]);
  assert.deepEqual(linesOf(compile({ a: 'providers: [{name: a, preset: "${PRESET}"}]' })), []);
});

const compiled = compile({}).compiled;
const [one, other] = ["a", "b"].map((text) => (version?: number) => editionOf(text, version)) as [
  (version?: number) => ReturnType<typeof editionOf>,
  (version?: number) => ReturnType<typeof editionOf>,
];
const file = (edition: ReturnType<typeof editionOf>) => ({ kind: "document", edition }) as const;

type StatusFacts = Pick<FileStatusInput, "stored" | "file" | "compiled"> & Partial<FileStatusInput>;

const STANDINGS: Readonly<Record<string, readonly [StatusFacts, string, RegExp, RegExp]>> = {
  "no file": [{ stored: one(), file: undefined, compiled }, "no_file", /arrives through the admin API/, /^$/],
  "nothing stored yet": [
    { stored: undefined, file: file(one(1)), compiled: undefined },
    "diverged",
    /nothing is stored yet/,
    /^$/,
  ],
  "the stored document": [
    { stored: one(2), file: file(one(2)), compiled },
    "in_sync",
    /version 2 is the stored one/,
    /^$/,
  ],
  "the stored document, without a version": [
    { stored: one(), file: file(one()), compiled },
    "in_sync",
    /is the stored one/,
    /^$/,
  ],
  "an edit without a version": [
    { stored: one(), file: file(other()), compiled },
    "no_version",
    /has no version; `gateway config reload` applies it/,
    /reload.*`version`/,
  ],
  "a newer edition": [
    { stored: one(2), file: file(other(3)), compiled },
    "diverged",
    /newer.*not applied yet/,
    /reload/,
  ],
  "an edit with an unchanged version": [
    { stored: one(2), file: file(other(2)), compiled },
    "diverged",
    /stored with different content/,
    /^raise `version`/,
  ],
  "an older edition": [
    { stored: one(2), file: file(other(1)), compiled },
    "behind",
    /is lower than the stored version 2/,
    /above 2/,
  ],
  "an edition below the highest that was applied": [
    { stored: { ...one(), highest: 3 }, file: file(other(2)), compiled },
    "behind",
    /version 2 is not above version 3/,
    /above 3/,
  ],
  "an edition that reuses the highest that was applied": [
    { stored: { ...one(), highest: 3 }, file: file(other(3)), compiled },
    "diverged",
    /version 3 is not above version 3/,
    /^raise `version`/,
  ],
  "a file that cannot be read": [
    { stored: one(), file: { kind: "problem", message: "d.yaml: no such file" }, compiled },
    "refused",
    /^the file would be refused: d\.yaml: no such file$/,
    /^correct the file \(`gateway config show default` prints what is in force\) and /,
  ],
  "a file that cannot be read before anything is stored": [
    { stored: undefined, file: { kind: "problem", message: "d.yaml: no such file" }, compiled: undefined },
    "refused",
    /^the file would be refused/,
    /^correct the file and /,
  ],
  "a stored source that does not compile here": [
    { stored: one(), file: file(one()), compiled: compile({ x: "providers: 1" }).compiled },
    "refused",
    /keeps the previous one: x:1:12: providers: expected a list/,
    /correct the file, raise its `version`/,
  ],
  "a stored source that does not compile at a start": [
    { stored: one(), file: file(one()), compiled: compile({ x: "providers: 1" }).compiled, isServing: false },
    "refused",
    /and serves nothing: x:1:12/,
    /^provide what this node lacks/,
  ],
  "a file together with admin API sources": [
    { stored: undefined, file: file(one(1)), compiled, writer: { kind: "api", names: ["a", "b"] } },
    "diverged",
    /arrives through the admin API, as a, b/,
    /remove `deployment` from the node file/,
  ],
  "no file on this node, where another has it": [
    { stored: one(), file: undefined, compiled, writer: { kind: "file" } },
    "no_file",
    /written by the file of another node/,
    /on the node that has it/,
  ],
  "stored sources that do not compile here, without a file": [
    { stored: one(), file: undefined, compiled: compile({ x: "providers: 1" }).compiled },
    "refused",
    /keeps the previous one/,
    /write a source/,
  ],
};

for (const [what, [question, state, message, remedy]] of Object.entries(STANDINGS)) {
  test(`${what} is reported as ${state}, with the remedy`, () => {
    const writer = question.stored && ({ kind: "file" } as const);
    const status = fileStatus({ isServing: true, writer: question.file && writer, ...question });
    assert.equal(status.state, state);
    assert.match(status.message, message);
    assert.match(status.remedy, remedy);
  });
}

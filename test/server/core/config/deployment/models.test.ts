import assert from "node:assert/strict";
import test from "node:test";
import { deploymentSchema } from "../../../../../src/server/core/config/deployment/index.ts";
import { readDeployment } from "../../../../../src/server/core/config/index.ts";
import { formatProblem } from "../../../../../src/server/core/config/problem.ts";

const SECRETS: Readonly<Record<string, string>> = { HUB_TOKEN: "hf_secret", MIRROR: "https://mirror.example/hub" };
const lookUp = (name: string) => {
  const value = SECRETS[name];
  return value === undefined
    ? ({ kind: "problem", message: `no secret ${name}` } as const)
    : ({ kind: "value", value } as const);
};

const REVISION = "0123456789abcdef0123456789abcdef01234567";
const SHA256 = "ab".repeat(32);
const FILE = { role: "graph", url: "https://models.example/a/model.onnx", sha256: SHA256, size: 10 };

/** Returns the problems of a document with these models, the detectors of which use `m` if it exists. */
function problemsOf(models: readonly object[], detector: object = { type: "nlp", nlp: { ref: "m" } }) {
  const text = JSON.stringify({ guardrails: { detectors: [detector] }, models: { models } }, null, 1);
  const { document, problems } = readDeployment(
    { name: "d", text },
    { env: () => undefined, secret: lookUp, file: lookUp },
  );
  return { document, lines: problems.map((one) => formatProblem(one).replace(/^d:\d+:\d+: /, "")) };
}

const hubModel = (hub: object) => [{ name: "m", hub: { repo: "owner/name", revision: REVISION, ...hub } }];
const filesModel = (...files: readonly object[]) => [{ name: "m", files: files.map((file) => ({ ...FILE, ...file })) }];
const TOKENIZER = { role: "tokenizer", url: "https://models.example/a/tokenizer.json" };

test("every key of a model is read as written", () => {
  const full = {
    name: "m",
    revision: "main of October",
    source: "https://huggingface.co/owner/name",
    quantization: "int8",
    license: "apache-2.0",
    hub: {
      repo: "owner/name",
      revision: REVISION,
      model: "onnx/model_quantized.onnx",
      endpoint: "${secret:MIRROR}",
      token: "${secret:HUB_TOKEN}",
    },
  };
  const { document, lines } = problemsOf([full]);
  assert.deepEqual(lines, []);
  assert.deepEqual(document?.models?.models, [
    { ...full, hub: { ...full.hub, endpoint: "https://mirror.example/hub", token: "hf_secret" } },
  ]);
  const listed = filesModel({}, TOKENIZER, { role: "external_data", url: "http://models.svc/a/data" });
  assert.deepEqual(problemsOf(listed).lines, []);
  assert.deepEqual(problemsOf(listed).document?.models?.models, listed);
});

test("no default is filled in for a model: missing keys are left to the store", () => {
  assert.deepEqual(problemsOf(hubModel({})).document?.models?.models, hubModel({}));
  assert.equal(JSON.stringify(deploymentSchema.json["properties"]).includes("huggingface.co"), true);
});

const OFFLINE = "expected a text such as";

/** The reason, the models, and the beginnings of the lines. */
const REFUSED: readonly [string, readonly object[], readonly string[]][] = [
  ["a branch", hubModel({ revision: "main" }), [`models.models[0].hub.revision: ${OFFLINE}`]],
  ["a short commit", hubModel({ revision: REVISION.slice(1) }), [`models.models[0].hub.revision: ${OFFLINE}`]],
  ["a commit in upper case", hubModel({ revision: "A".repeat(40) }), [`models.models[0].hub.revision: ${OFFLINE}`]],
  [
    "a repository without an owner, or with parent segments",
    ["name", "a/b/c", "../b", "a/..", "a/b..c", "a/b--c", "a/b.git", "a/b-", "a/b?x", "a/b#x", "-a/b", "a/"].flatMap(
      (repo) => hubModel({ repo }),
    ),
    Array.from({ length: 12 }, (_, at) => `models.models[${at}].hub.repo: ${OFFLINE}`),
  ],
  [
    "a graph path outside the repository",
    ["/model.onnx", "../model.onnx", "a/../b", "a//b", "a\\b", "."].flatMap((model) => hubModel({ model })),
    Array.from({ length: 6 }, (_, at) => `models.models[${at}].hub.model: ${OFFLINE}`),
  ],
  ["a literal token", hubModel({ token: "hf_literal" }), ["models.models[0].hub.token: "]],
  [
    "a hub over plain http",
    hubModel({ endpoint: "http://hub.example" }),
    ["models.models[0].hub.endpoint: the URL of a hub must begin with https, unless it is on this machine"],
  ],
  [
    "an address of a hub with a query",
    hubModel({ endpoint: "https://hub.example/?a=b" }),
    ["models.models[0].hub.endpoint: the URL of a hub must not have a query"],
  ],
  ["a hub without a commit", [{ name: "m", hub: { repo: "owner/name" } }], ["models.models[0].hub: "]],
  ["neither hub nor files", [{ name: "m" }], ["models.models[0]: a model needs `hub` or `files`"]],
  [
    "a file with an unknown role",
    filesModel({ role: "weights" }),
    ["models.models[0].files[0].role: expected `graph`, `model`"],
  ],
  ["an invalid digest", filesModel({ sha256: "abc" }, TOKENIZER), [`models.models[0].files[0].sha256: expected`]],
  ["an empty file", filesModel({ size: 0 }, TOKENIZER), ["models.models[0].files[0].size: expected"]],
  ["a file of 17 GB", filesModel({ size: 17_179_869_185 }, TOKENIZER), ["models.models[0].files[0].size: expected"]],
  [
    "a size that is not a number of bytes",
    filesModel({ size: 1.5 }, TOKENIZER),
    ["models.models[0].files[0].size: expected"],
  ],
  ["an invalid address", filesModel({ url: "ftp://a/b" }, TOKENIZER), ["models.models[0].files[0].url: expected"]],
  [
    "two graphs",
    filesModel({}, { role: "model" }, TOKENIZER),
    ["models.models[0].files[1]: a model has one file of role `graph`"],
  ],
  [
    "two data files with the same name",
    filesModel(
      {},
      TOKENIZER,
      { role: "external_data", url: "https://a/x?1" },
      { role: "external_data", url: "https://b/x" },
    ),
    ["models.models[0].files[3]: two files of role `external_data` have the same name"],
  ],
  [
    "65 files",
    filesModel(...Array.from({ length: 65 }, (_, at) => ({ role: "external_data", url: `https://a/${at}` }))),
    ["models.models[0].files: expected"],
  ],
  ["no tokenizer", filesModel({}), ['guardrails.detectors[0].nlp.ref: the files of "m" have none of role `tokenizer`']],
  ["no graph", filesModel(TOKENIZER), ['guardrails.detectors[0].nlp.ref: the files of "m" have none of role `graph`']],
  ["a duplicate name", [...hubModel({}), ...hubModel({})], ['models.models[1]: two models have the name "m"']],
  ["an undeclared model", [], ["guardrails.detectors[0].nlp.ref: this names no declared model"]],
];

for (const [why, models, expected] of REFUSED) {
  test(`a model is refused: ${why}`, () => {
    const { lines } = problemsOf(models);
    const found = lines.filter(
      (line) => !/: two models have the name/.test(line) || why.startsWith("a duplicate name"),
    );
    assert.equal(found.length, expected.length, found.join("\n"));
    for (const [at, start] of expected.entries()) assert.ok(found[at]?.startsWith(start), `${found[at]}\n${start}`);
  });
}

test("a hub on this machine may be reached over plain http", () => {
  for (const endpoint of ["http://127.0.0.1:8000", "http://localhost", "http://[::1]:80/hub"]) {
    assert.deepEqual(problemsOf(hubModel({ endpoint })).lines, []);
  }
});

test("a graph that runs on a server is not needed, and its own tokenizer replaces the model's", () => {
  const remote = { endpoint: "http://127.0.0.1:8000", model: "m" };
  assert.deepEqual(problemsOf(filesModel(TOKENIZER), { type: "nlp", nlp: { ref: "m", remote } }).lines, []);
  const own = { type: "classify", classify: { ref: "m", tokenizer: "/t.json" } };
  assert.deepEqual(problemsOf(filesModel({}), own).lines, []);
  const both = { type: "nlp", nlp: { ref: "m", model: "/m.onnx" } };
  assert.match(
    problemsOf(hubModel({}), both).lines.join("\n"),
    /nlp\.model: with `ref` the graph comes from the declared model/,
  );
});

test("a model that no detector uses is reported, since it is not fetched", () => {
  const { lines } = problemsOf(hubModel({}), { type: "pii" });
  assert.deepEqual(lines, ["models.models[0]: warning: no detector refers to this model, so it is not downloaded"]);
});

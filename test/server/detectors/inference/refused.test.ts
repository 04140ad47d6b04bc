/** Load errors of model detectors, by key. Source: specification document 3. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import type { DetectorConfig } from "../../../../src/server/core/config/index.ts";
import { createSessions } from "../../../../src/server/detectors/inference/index.ts";
import { embedder, sequenceClassifier, tokenClassifier } from "../../../reference/inference/graphs.ts";
import { FLOAT, INT64, onnx } from "../../../reference/inference/onnx.ts";
import { assetsFor, build, configOf, missing } from "./support.ts";

const folder = missing ? "" : await assetsFor({ after });
const sessions = createSessions({ idleMs: 60_000 });

async function file(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(folder, "made", name);
  await mkdir(join(path, ".."), { recursive: true });
  await writeFile(path, content);
  return path;
}

/** Returns `path: message` for each problem, of the configuration or of loading. */
async function problemsOf(config: DetectorConfig): Promise<readonly string[]> {
  const built = build(config, sessions);
  const found = built.kind === "refused" ? built.problems : await built.prepare(AbortSignal.timeout(60_000));
  return found.map(({ path, message }) => `${path.join(".")}: ${message}`);
}

const VOCABULARY = 524;
const input = (name: string, type = INT64) => ({ name, type, dims: ["batch", "sequence"] });
const identity = (output: string) => [
  { op: "Cast", inputs: ["input_ids"], outputs: [output], attributes: { to: FLOAT } },
];

type Made = () => Promise<DetectorConfig>;
const nlp =
  (own: object, common = {}): Made =>
  async () =>
    configOf("nlp", folder, own, common);
const classify =
  (own: object, common = {}): Made =>
  async () =>
    configOf("classify", folder, own, common);
const embed =
  (own: object, common = {}): Made =>
  async () =>
    configOf("embed", folder, { topics: [{ name: "t", examples: ["a"] }], background: ["b"], ...own }, common);
const nlpOf =
  (content: Uint8Array | string, own: object = {}): Made =>
  async () =>
    configOf("nlp", folder, { model: await file("graph.onnx", content), ...own });

const CASES: readonly (readonly [what: string, config: Made, problem: RegExp])[] = [
  ["a missing library", nlp({ library: "/nowhere" }), /^nlp\.library: there is nothing at \/nowhere$/],
  [
    "another library",
    nlp({ library: "." }),
    /^nlp\.library: .* is neither the folder of the package onnxruntime-node nor a file in it$/,
  ],
  [
    "a missing tokenizer library",
    nlp({ tokenizer_library: "/no" }),
    /^nlp\.tokenizer_library: there is nothing at \/no$/,
  ],
  ["a missing graph", nlp({ model: "/no.onnx" }), /^nlp\.model: there is no file \/no\.onnx$/],
  ["a missing tokenizer", nlp({ tokenizer: "/no.json" }), /^nlp\.tokenizer: there is no file \/no\.json$/],
  ["a `ref` missing in the cache", nlp({ ref: "ner" }), /^nlp\.ref: the model `ner` is not in the cache of this node$/],
  [
    "a missing `labels_path`",
    nlp({ labels: undefined, labels_path: "/no.json" }),
    /^nlp\.labels_path: there is no file \/no\.json$/,
  ],
  ["no labels anywhere", nlp({ labels: undefined }), /^nlp\.labels: the labels of the model are unknown/],
  [
    "another category",
    nlp({ category: "ner" }),
    /^nlp\.category: the namespaces are pii, secret, injection, topic, safety, custom$/,
  ],
  [
    "an entity type that the model does not give",
    nlp({}, { entities: ["PERSN"] }),
    /^entities\.0: the model has no label `PERSN`; did you mean `PERSON`\?$/,
  ],
  [
    "another count of labels",
    nlp({ labels: ["O", "B-PER"] }),
    /^nlp\.labels: .*nlp\.onnx: the graph scores 6 labels, and 2 are named$/,
  ],
  [
    "a stride as long as a window",
    nlp({ max_tokens: 10, stride: 8 }),
    /^nlp\.stride: .*`stride` must be less than the 8 tokens of a text in a window$/,
  ],
  ["a window without room for text", nlp({ max_tokens: 2, stride: 0 }), /^nlp\.max_tokens: .*leave no room for text$/],
  ["data that is not a graph", nlpOf("<html>"), /^nlp\.model: .*graph\.onnx: .*failed:Protobuf parsing failed\.$/],
  ["an empty file", nlpOf(""), /^nlp\.model: /],
  [
    "a graph of another kind",
    async () => configOf("nlp", folder, { model: join(folder, "word-piece", "classify.onnx") }),
    /^nlp\.model: .*the graph gives no scores for every token, \[batch, sequence, labels\], but `logits` \[batch, 3\]$/,
  ],
  [
    "a graph without `input_ids`",
    nlpOf(onnx({ nodes: [], initializers: [], inputs: [input("pixels")], outputs: [input("pixels")] })),
    /^nlp\.model: .*the graph has no input `input_ids` \(its inputs: `pixels`\)/,
  ],
  [
    "a graph with further inputs",
    nlpOf(
      onnx({
        nodes: identity("logits"),
        initializers: [],
        inputs: [input("input_ids"), input("bbox")],
        outputs: [{ name: "logits", type: FLOAT, dims: ["a", "b", 6] }],
      }),
    ),
    /^nlp\.model: .*the graph needs an input `bbox`, which a text does not provide$/,
  ],
  [
    "a graph of floats",
    nlpOf(
      onnx({ nodes: [], initializers: [], inputs: [input("input_ids", FLOAT)], outputs: [input("input_ids", FLOAT)] }),
    ),
    /^nlp\.model: .*`input_ids` is of type float32, not int64 or int32$/,
  ],
  [
    "a graph of shorter sequences",
    nlpOf(tokenClassifier(VOCABULARY, 6, 1, { sequence: 16 })),
    /^nlp\.max_tokens: .*the graph takes sequences of 16 tokens: set `max_tokens` to that$/,
  ],
  [
    "a vocabulary that is smaller than the tokenizer's",
    nlpOf(tokenClassifier(3, 6, 1)),
    /^nlp\.model: .*the graph cannot read a short text: /,
  ],
  [
    "an invalid tokenizer",
    async () => configOf("nlp", folder, { tokenizer: await file("t.json", "{}") }),
    /^nlp\.tokenizer: .*t\.json: Model missing\./,
  ],
  [
    "a `config.json` with a gap",
    async () =>
      configOf("nlp", folder, {
        labels: undefined,
        labels_path: await file("gap.json", '{"id2label":{"0":"O","2":"X"}}'),
      }),
    /^nlp\.labels_path: .*the indices of `id2label` do not run from 0 without a gap$/,
  ],
  [
    "an unknown negative",
    classify({ negative: ["SAVE"] }),
    /^classify\.negative\.0: the model has no label `SAVE`; did you mean `SAFE`\?$/,
  ],
  [
    "an unknown label that is renamed",
    classify({ label_map: { INJECT: "X" } }),
    /^classify\.label_map\.INJECT: the model has no label `INJECT`/,
  ],
  [
    "nothing but negatives",
    classify({ negative: ["SAFE", "INJECTION", "JAILBREAK"] }),
    /^classify\.negative: every label of the model means that nothing was found/,
  ],
  [
    "a single label under softmax",
    classify({ labels: ["X"], activation: "softmax" }),
    /^classify\.activation: .*always 1: use `sigmoid`$/,
  ],
  [
    "a duplicate topic",
    embed({
      topics: [
        { name: "t", examples: ["a"] },
        { name: "t", examples: ["b"] },
      ],
    }),
    /^embed\.topics\.1\.name: an earlier topic has the name `t` too$/,
  ],
  ["an unknown topic", embed({}, { entities: ["u"] }), /^entities\.0: the model has no label `u`/],
  [
    "a prefix that fills the window",
    embed({ max_tokens: 8, stride: 0, prefix: "name name name name name name name" }),
    /^embed\.max_tokens: .*leave no room/,
  ],
];

for (const [what, config, problem] of CASES) {
  test(`a model is refused: ${what}`, { skip: missing }, async () => {
    const [first, ...others] = await problemsOf(await config());
    assert.match(first ?? "nothing", problem);
    assert.deepEqual(others, []);
  });
}

test("a package that is not installed is named with the command that installs it", () => {
  const own = { library: undefined, tokenizer_library: undefined, model: "/no.onnx", tokenizer: "/no.json" };
  const built = build(configOf("nlp", folder, own));
  const found = built.kind === "refused" ? built.problems.map(({ message }) => message) : [];
  assert.ok(
    found.includes(
      "this needs the package onnxruntime-node: install it with `npm install --no-save --ignore-scripts onnxruntime-node@1.30.0`",
    ),
  );
  assert.ok(
    found.includes(
      "this needs the package tokenizers: install it with `npm install --no-save --ignore-scripts tokenizers@0.23.2`",
    ),
  );
});

const ACCEPTED: readonly (readonly [what: string, config: Made, gives: readonly string[]])[] = [
  ["nlp by its defaults", nlp({}), ["pii/PERSON", "pii/LOCATION", "pii/ORGANIZATION"]],
  [
    "a map of its own",
    nlp({ entity_map: { PER: "HUMAN" }, category: "custom" }),
    ["custom/HUMAN", "custom/LOC", "custom/ORG"],
  ],
  ["an empty category", nlp({ category: "" }, { entities: ["PERSON"] }), ["pii/PERSON"]],
  [
    "single tokens",
    nlp({ aggregation: "none" }),
    ["pii/B-PER", "pii/I-PER", "pii/B-LOC", "pii/I-LOC", "pii/ORGANIZATION"],
  ],
  ["classify by its defaults", classify({}), ["injection/INJECTION", "injection/JAILBREAK"]],
  [
    "no negatives under sigmoid",
    classify({ activation: "sigmoid" }),
    ["injection/SAFE", "injection/INJECTION", "injection/JAILBREAK"],
  ],
  [
    "negatives of its own",
    classify({ negative: ["JAILBREAK"], label_map: { SAFE: "FINE" } }),
    ["injection/FINE", "injection/INJECTION"],
  ],
  ["embed by its defaults", embed({}), ["topic/t"]],
];

for (const [what, config, gives] of ACCEPTED) {
  test(`a model is accepted: ${what}`, { skip: missing }, async () => {
    const built = build(await config(), sessions);
    assert.deepEqual(built.kind === "detector" ? built.gives : built.problems, gives);
  });
}

test("labels are read beside the graph or in the parent folder", { skip: missing }, async () => {
  const model = await file("repository/onnx/model.onnx", sequenceClassifier(VOCABULARY, 2, 1));
  await file("repository/config.json", '{"id2label":{"0":"BENIGN","1":"MALICIOUS"}}');
  const built = build(configOf("classify", folder, { model, labels: undefined }), sessions);
  assert.deepEqual(built.kind === "detector" && built.gives, ["injection/MALICIOUS"]);
  await file(
    "repository/onnx/config.json",
    '{"id2label":{"0":"a","1":"b"},"problem_type":"multi_label_classification"}',
  );
  const nearer = build(configOf("classify", folder, { model, labels: undefined }), sessions);
  assert.deepEqual(nearer.kind === "detector" && nearer.gives, ["injection/a", "injection/b"]);
});

test("the default stride is an eighth of the window for classify and embed", { skip: missing }, async () => {
  const model = await file("pooled/model.onnx", embedder(VOCABULARY, 5, true));
  for (const [type, own] of [
    ["classify", {}],
    ["embed", { model, topics: [{ name: "t", examples: ["a"] }], background: ["b"] }],
  ] as const) {
    const fingerprint = (stride: number | undefined) => {
      const built = build(
        configOf(type, folder, { ...own, max_tokens: 80, ...(stride !== undefined && { stride }) }),
        sessions,
      );
      return built.kind === "detector" ? built.detector.fingerprint : built.problems;
    };
    assert.equal(fingerprint(undefined), fingerprint(10));
    assert.notEqual(fingerprint(undefined), fingerprint(11));
  }
});

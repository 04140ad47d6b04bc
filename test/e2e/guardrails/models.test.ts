/**
 * Model detectors in a running gateway: their findings take effect; a slow one delays only its own callers; the process
 * ends cleanly while a graph runs. Source: specification document 3 (`nlp`, `classify`).
 */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { peer } from "../../peers/index.ts";
import { lookupClassifier, slowClassifier } from "../../reference/inference/graphs.ts";
import { wholeWords } from "../../reference/inference/tokenizers.ts";
import { chat, mint, PROVIDER_KEY, say, simProvider, startGoverned } from "../governance/support/governed.ts";
import { runProgram } from "../support/gateway.ts";
import { readMetrics, sumOf } from "../support/metrics.ts";
import { eventually, within } from "../support/wait.ts";

const runtime = await peer("onnxruntime-node");
const tokenizers = await peer("tokenizers");
const missing = runtime.missing || tokenizers.missing;

const LABELS = ["O", "B-PER", "I-PER", "B-LOC"];
const LABELED_WORDS: readonly (readonly [word: string, label: number])[] = [
  ["my", 0],
  ["name", 0],
  ["is", 0],
  ["alice", 1],
  ["miller", 2],
  ["berlin", 3],
];

const folder = await mkdtemp(join(tmpdir(), "gateway-models-"));
after(() => rm(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);
const scoresOf = (label: number): readonly number[] => LABELS.map((_, own) => (own === label ? 9 : 0));
await writeFile(at("tokenizer.json"), wholeWords(LABELED_WORDS.map(([word]) => word)).json);
await writeFile(
  at("ner.onnx"),
  lookupClassifier([0, 0, 0, 0, ...LABELED_WORDS.map(([, label]) => label)].map(scoresOf)),
);
await writeFile(at("slow.onnx"), slowClassifier(2, 15_000));

const libraries = missing
  ? {}
  : { library: dirname(dirname(runtime.path)), tokenizer_library: dirname(tokenizers.path) };
const model = (name: string) => ({ model: at(name), tokenizer: at("tokenizer.json"), ...libraries });
const guardrails = (labels: readonly string[] = LABELS) => ({
  detectors: [
    { type: "nlp", nlp: { ...model("ner.onnx"), labels } },
    {
      type: "classify",
      classify: { ...model("slow.onnx"), labels: ["SAFE", "BAD"], max_tokens: 8, stride: 0 },
      timeout: "60s",
      on_error: "fail_closed",
    },
  ],
  rules: [{ name: "no-names", action: "redact", select: 'a.category == "pii"' }],
});

const started = missing
  ? undefined
  : await startGoverned(
      { after },
      {
        // Models are in memory once, however many processes use them.
        env: { GATEWAY_WORKERS: "3" },
        deployment: {
          profiles: [{ name: "exempt", guardrails: { detectors: [] } }],
          guardrails: { ...guardrails(), cache_entries: 0 },
        },
      },
    );

const chatWith = (content: string) => chat({ model: "sim-small", messages: [{ role: "user", content }] });
const keyOf = async (name: string, profile?: string): Promise<string> => {
  assert.ok(started);
  return mint(started.node, name, profile === undefined ? {} : { profile });
};

test("names found by a model are removed before the provider sees them", { skip: missing }, async () => {
  assert.ok(started);
  const { gateway, simulator } = started;
  const key = await keyOf("names");
  const text = "My name is Alice Miller, I live in “Berlin”, 😀 Berlin.";
  const answer = await say(gateway, { key, body: chatWith(text) });
  assert.deepEqual([answer.status, answer.headers.get("x-gateway-guardrails")], [200, "no-names=redact"], answer.text);
  const last = await fetch(`${simulator.url}/sim/last`, { headers: { authorization: `Bearer ${PROVIDER_KEY}` } });
  const sent = await last.text();
  assert.ok(sent.includes("My name is <PERSON>, I live in “<LOCATION>”, 😀 <LOCATION>."), sent);
  const metrics = await readMetrics(gateway);
  assert.equal(sumOf(metrics, "gateway_model_sessions"), 2);
  assert.equal(sumOf(metrics, "gateway_detector_errors_total"), 0);
});

test("while a slow model works, other callers are answered as fast as ever", {
  skip: missing,
  timeout: 60_000,
}, async () => {
  assert.ok(started);
  const { gateway } = started;
  const [slow, exempt] = [await keyOf("slow"), await keyOf("exempt", "exempt")];
  const busy = [1, 2, 3, 4].map((turn) =>
    say(gateway, { key: slow, body: chatWith(`my name is alice ${turn} berlin`) }),
  );
  let isBusy = true;
  const all = Promise.all(busy).finally(() => {
    isBusy = false;
  });
  const began = performance.now();
  const waited: number[] = [];
  while (isBusy) {
    const startedAt = performance.now();
    const { status } = await say(gateway, { key: exempt, body: chatWith("hello") });
    assert.equal(status, 200);
    waited.push(performance.now() - startedAt);
  }
  for (const { status, text } of await all) assert.equal(status, 200, text);
  const took = performance.now() - began;
  assert.ok(waited.length >= 20, `${waited.length} others in ${took} ms`);
  assert.ok(Math.max(...waited) < took / 4, `one of the others waited ${Math.max(...waited)} ms of ${took} ms`);
});

test("check runs each graph once and reports a broken one", { skip: missing }, async () => {
  assert.ok(started);
  const providers = [simProvider("sim", started.simulator)];
  const document = (labels: readonly string[]) =>
    JSON.stringify({ version: 1, providers, guardrails: guardrails(labels) });
  await writeFile(
    at("node.yaml"),
    JSON.stringify({
      cluster: { node_id: "n1", bootstrap: true, data_dir: at("data") },
      deployment: "deployment.yaml",
    }),
  );
  const check = async (labels: readonly string[]) => {
    await writeFile(at("deployment.yaml"), document(labels));
    const program = runProgram({ after }, { args: ["check", "-config", at("node.yaml")] });
    const { status } = await within("check", program.ended);
    return { status, output: program.stdout() + program.stderr() };
  };
  const valid = await check(LABELS);
  assert.equal(valid.status, 0, valid.output);
  assert.match(valid.output, /models.*loaded, and each local model was run once/);
  const { status, output } = await check(["O", "B-PER"]);
  assert.equal(status, 1, output);
  assert.match(
    output,
    /guardrails\.detectors\[0\]\.nlp\.labels: .*ner\.onnx: the graph scores 4 labels, and 2 are named/,
  );
});

test("the process ends cleanly while a graph runs", { skip: missing }, async () => {
  assert.ok(started);
  const { gateway } = started;
  const key = await keyOf("cut");
  const cut = [1, 2].map((turn) =>
    say(gateway, { key, body: chatWith(`my name is alice ${turn}`) }).catch(() => undefined),
  );
  await eventually("one of them is at work, and the other waits", async () => {
    return sumOf(await readMetrics(gateway), "gateway_model_waiting") > 0 || undefined;
  });
  gateway.signal("SIGTERM");
  assert.deepEqual(await gateway.ended, { status: 0, signal: null });
  await Promise.all(cut);
});

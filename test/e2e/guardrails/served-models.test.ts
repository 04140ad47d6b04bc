/**
 * Models on a server of the v2 inference protocol, in a running gateway: their findings take effect, and the server's
 * errors follow `on_error`, without delaying others. Source: specification document 3 (`remote` of `nlp`, `classify`).
 */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { peer } from "../../peers/index.ts";
import { lookupClassifier, sequenceClassifier } from "../../reference/inference/graphs.ts";
import { wholeWords } from "../../reference/inference/tokenizers.ts";
import { type InferenceServer, startInferenceServer } from "../../server/detectors/inference/inference-server.ts";
import { chat, mint, PROVIDER_KEY, say, startGoverned } from "../governance/support/governed.ts";
import { readMetrics, sumOf } from "../support/metrics.ts";
import { eventually } from "../support/wait.ts";

const SECRET = "inference-credential-5d1f";

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

const folder = await mkdtemp(join(tmpdir(), "gateway-served-"));
after(() => rm(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);
const scoresOf = (label: number): readonly number[] => LABELS.map((_, own) => (own === label ? 9 : 0));
const VOCABULARY = LABELED_WORDS.length + 4;
await writeFile(at("tokenizer.json"), wholeWords(LABELED_WORDS.map(([word]) => word)).json);
await writeFile(
  at("ner.onnx"),
  lookupClassifier([0, 0, 0, 0, ...LABELED_WORDS.map(([, label]) => label)].map(scoresOf)),
);
await writeFile(at("verdict.onnx"), sequenceClassifier(VOCABULARY, 2, 7));

const server = await startInferenceServer(
  { after },
  { runtime: runtime.path, models: { ner: at("ner.onnx"), verdict: at("verdict.onnx") } },
);

const served = (model: string) => ({
  tokenizer: at("tokenizer.json"),
  ...(missing ? {} : { tokenizer_library: dirname(tokenizers.path) }),
  remote: { endpoint: server.url, model, headers: { authorization: `Bearer ${SECRET}` }, timeout: "300ms" },
});

const started = missing
  ? undefined
  : await startGoverned(
      { after },
      {
        deployment: {
          profiles: [{ name: "exempt", guardrails: { detectors: [] } }],
          guardrails: {
            cache_entries: 0,
            detectors: [
              {
                type: "nlp",
                name: "names",
                nlp: { ...served("ner"), labels: LABELS },
                apply_to: ["user"],
                on_error: "fail_closed",
              },
              {
                type: "classify",
                name: "open",
                classify: { ...served("verdict"), labels: ["SAFE", "BAD"] },
                apply_to: ["system"],
              },
            ],
            rules: [{ name: "no-names", action: "redact", select: 'a.category == "pii"' }],
          },
        },
      },
    );

const parts = async () => {
  assert.ok(started);
  return { ...started, key: await mint(started.node, `k-${keys++}`) };
};
let keys = 0;
const chatWith = (content: string, system?: string) =>
  chat({
    model: "sim-small",
    messages: [...(system === undefined ? [] : [{ role: "system", content: system }]), { role: "user", content }],
  });

test("a new configuration asks its model servers for their models", { skip: missing }, async () => {
  await eventually("both models were run", async () => {
    const paths = new Set(server.requests.map(({ path }) => path));
    return (paths.has("/v2/models/ner/infer") && paths.has("/v2/models/verdict/infer")) || undefined;
  });
});

test("names found by a served model are removed before the provider sees them", {
  skip: missing,
}, async () => {
  const { gateway, simulator, key } = await parts();
  const text = "My name is Alice Miller, I live in “Berlin”, 😀 Berlin.";
  const answer = await say(gateway, { key, body: chatWith(text) });
  assert.deepEqual([answer.status, answer.headers.get("x-gateway-guardrails")], [200, "no-names=redact"], answer.text);
  const last = await fetch(`${simulator.url}/sim/last`, { headers: { authorization: `Bearer ${PROVIDER_KEY}` } });
  const sent = await last.text();
  assert.ok(sent.includes("My name is <PERSON>, I live in “<LOCATION>”, 😀 <LOCATION>."), sent);
  assert.equal(server.requests.at(-1)?.headers.authorization, `Bearer ${SECRET}`);
  assert.deepEqual(server.complaints, []);
});

test("with a slow, a failing and a garbling server, each detector follows its `on_error`", {
  skip: missing,
}, async () => {
  const { gateway, key } = await parts();
  const faults: readonly (readonly [string, InferenceServer["err"]])[] = [
    ["slow", () => undefined],
    ["failing", (_, response) => response.writeHead(500).end('{"error":"Alice"}')],
    ["garbling", (_, response) => response.writeHead(200).end('{"outputs":[{"data":["Alice"]}]}')],
    ["resetting", (_, response) => response.socket?.destroy()],
  ];
  for (const [name, err] of faults) {
    server.err = err;
    const closed = await say(gateway, { key, body: chatWith(`I am Alice (${name})`) });
    assert.deepEqual([closed.status, closed.code], [503, "guardrail_error"], `${name}: ${closed.text}`);
    assert.doesNotMatch(closed.text, /Alice|inference-credential/, name);
    const open = await say(gateway, { key, body: chatWith("", `I am Alice (${name})`) });
    assert.equal(open.status, 200, `${name}: ${open.text}`);
  }
  server.err = () => false;
  const well = await say(gateway, { key, body: chatWith("I am Alice") });
  assert.equal(well.status, 200, well.text);
  const metrics = await readMetrics(gateway);
  assert.equal(sumOf(metrics, "gateway_detector_errors_total", { detector: "names" }), faults.length);
  assert.equal(sumOf(metrics, "gateway_detector_errors_total", { detector: "open" }), faults.length);
  const log = gateway.stderr();
  assert.match(log, /a detector failed, and requests are refused for it.*its server/);
  assert.doesNotMatch(log, new RegExp(`Alice|${SECRET}`));
});

test("while a server hangs, other callers are answered as fast as ever", { skip: missing }, async () => {
  const { gateway, key, node } = await parts();
  const exempt = await mint(node, "exempt", { profile: "exempt" });
  const measure = async (): Promise<readonly number[]> => {
    const waited: number[] = [];
    for (let turn = 0; turn < 60; turn++) {
      const startedAt = performance.now();
      const { status } = await say(gateway, { key: exempt, body: chatWith(`hello ${turn}`) });
      assert.equal(status, 200);
      waited.push(performance.now() - startedAt);
    }
    return waited.sort((a, b) => a - b);
  };
  await measure();
  const idle = await measure();
  server.err = () => undefined;
  let isOver = false;
  const busy = Array.from({ length: 8 }, async (_, at) => {
    for (let turn = 0; !isOver; turn++) {
      const { status } = await say(gateway, { key, body: chatWith(`I am Alice ${at} ${turn}`) });
      assert.equal(status, 503);
    }
  });
  const saturated = await measure();
  isOver = true;
  await Promise.all(busy);
  server.err = () => false;
  const median = (all: readonly number[]): number => all[all.length >> 1] as number;
  // The test machine is shared, so this shows only that nobody waits for the server, not small differences.
  assert.ok(median(saturated) < Math.max(50, 4 * median(idle)), `${median(idle)} ms idle, ${median(saturated)} ms`);
});

test("a server that was down is asked again, for its models at that time", { skip: missing }, async () => {
  const { gateway, key } = await parts();
  server.meet = (_, response) => {
    response.socket?.destroy();
    return true;
  };
  assert.equal((await say(gateway, { key, body: chatWith("I am Alice") })).code, "guardrail_error");
  server.meet = () => false;
  const up = await say(gateway, { key, body: chatWith("I am Alice") });
  assert.deepEqual([up.status, up.headers.get("x-gateway-guardrails")], [200, "no-names=redact"], up.text);
});

/**
 * Crashing models, and saturated models and analyzers, in running gateways: a request follows `on_error`, the thread is
 * replaced, and callers without inspection wait no longer. Source: design decisions, section 12; specification document
 * 3 (`on_error`). `GATEWAY_P99_REQUESTS` takes more samples.
 */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { peer } from "../../peers/index.ts";
import { lookupClassifier, slowClassifier } from "../../reference/inference/graphs.ts";
import { wholeWords } from "../../reference/inference/tokenizers.ts";
import { startAnalyzer } from "../../server/detectors/remote/analyzer.ts";
import { type Answer, chat, mint, say, startGoverned } from "../governance/support/governed.ts";
import { startWithFiles } from "../support/config.ts";
import { type Gateway, ONE_PROCESS } from "../support/gateway.ts";
import { memoryOf } from "../support/machine.ts";
import { readMetrics, sumOf } from "../support/metrics.ts";
import { simulated } from "../support/simulated.ts";
import { eventually } from "../support/wait.ts";

const runtime = await peer("onnxruntime-node");
const tokenizers = await peer("tokenizers");
const missing = runtime.missing || tokenizers.missing;

const file = { after };
const folder = await mkdtemp(join(tmpdir(), "gateway-model-faults-"));
after(() => rm(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);

const LABELS = ["O", "B-PER"];
const WORDS = ["i", "am", "alice", "poison"];
/** Four ids are special tokens. */
const POISON = 4 + WORDS.indexOf("poison");
const scores = [0, 0, 0, 0, 0, 0, 1, 0].map((label) => LABELS.map((_, own) => (own === label ? 9 : 0)));
await writeFile(at("tokenizer.json"), wholeWords(WORDS).json);
await writeFile(at("ner.onnx"), lookupClassifier(scores));
await writeFile(at("slow.onnx"), slowClassifier(2, 15_000));

/** The runtime crashes its thread when it reads a certain word. */
await mkdir(at("onnxruntime-node"));
await writeFile(at("onnxruntime-node/package.json"), JSON.stringify({ name: "onnxruntime-node", main: "index.cjs" }));
await writeFile(
  at("onnxruntime-node/index.cjs"),
  `const real = require(${JSON.stringify(missing ? "" : dirname(dirname(runtime.path)))});
const create = async (...given) => {
  const session = await real.InferenceSession.create(...given);
  return {
    inputMetadata: session.inputMetadata,
    outputMetadata: session.outputMetadata,
    run(feeds, fetches) {
      if (!feeds.input_ids.data.includes(${POISON}n)) return session.run(feeds, fetches);
      setImmediate(() => { throw new Error("poison was fed"); });
      return new Promise(() => undefined);
    },
  };
};
module.exports = { env: real.env, Tensor: real.Tensor, InferenceSession: { create } };
`,
);
const own = (name: string, library: string): object => ({
  model: at(name),
  tokenizer: at("tokenizer.json"),
  ...(missing ? {} : { library, tokenizer_library: dirname(tokenizers.path) }),
});
const chatWith = (content: string, role = "user") =>
  chat({
    model: "sim-small",
    messages: [{ role, content }, ...(role === "system" ? [{ role: "user", content: " " }] : [])],
  });

test("a model process that crashes during a request is named and replaced, and the request follows `on_error`", {
  skip: missing,
}, async (t) => {
  const provider = await simulated(t);
  const crashing = (on_error: string) => {
    const nlp = { ...own("ner.onnx", at("onnxruntime-node")), labels: LABELS };
    const deployment = {
      providers: [{ name: "sim", dialect: "compat", base_url: `${provider.url}/v1`, api_key: "k" }],
      guardrails: {
        cache_entries: 0,
        detectors: [{ type: "nlp", nlp, on_error }],
        rules: [{ name: "no-names", action: "deny", when: '"pii/PERSON" in labels' }],
      },
    };
    return startWithFiles(t, deployment, {}, { GATEWAY_WORKERS: "2" });
  };
  const [open, closed] = await Promise.all([crashing("fail_open"), crashing("fail_closed")]);
  const ask = (on: Gateway, content: string): Promise<Answer> => say(on, { body: chatWith(content) });
  for (let round = 1; round <= 3; round++) {
    for (const gateway of [open, closed]) {
      assert.equal((await ask(gateway, "I am")).status, 200);
      const [struck, behind] = await Promise.all([ask(gateway, "I am poison"), ask(gateway, "I am Alice")]);
      if (gateway === open) assert.equal(struck.status, 200, struck.text);
      else assert.deepEqual([struck.status, struck.code], [503, "guardrail_error"], struck.text);
      assert.deepEqual([behind.status, behind.code], [403, "guardrail_denied"], behind.text);
      const metrics = await readMetrics(gateway);
      assert.equal(sumOf(metrics, "gateway_model_restarts_total", { reason: "crashed" }), round);
      assert.equal(sumOf(metrics, "gateway_detector_errors_total"), round);
      assert.doesNotMatch(gateway.stderr(), /am poison/);
    }
  }
  // Three crashes within a minute.
  for (const gateway of [open, closed]) {
    const ended = gateway.log().filter(({ message }) => String(message).startsWith("a model's process ended"));
    assert.deepEqual(
      ended.map(({ level, model, reason }) => ({ level, model, reason })),
      [{ level: "error", model: at("ner.onnx"), reason: "the process ended (status 1)" }],
    );
  }
});

const REQUESTS = Number(process.env["GATEWAY_P99_REQUESTS"] ?? 200);

test("callers without inspection wait no longer while a model or an analyzer is saturated", {
  skip: missing,
  timeout: 120_000,
}, async (t) => {
  const analyzer = await startAnalyzer(file);
  const hanging = new Set<() => void>();
  analyzer.answer = () =>
    new Promise((resolve) => {
      hanging.add(() => resolve([]));
    });
  const slow = { ...own("slow.onnx", missing ? "" : dirname(dirname(runtime.path))), labels: ["A", "B"] };
  const { gateway, node } = await startGoverned(file, {
    env: ONE_PROCESS,
    deployment: {
      profiles: [{ name: "exempt", guardrails: { detectors: [] } }],
      guardrails: {
        cache_entries: 0,
        detectors: [
          { type: "classify", apply_to: ["user"], timeout: "60s", classify: { ...slow, max_tokens: 8, stride: 0 } },
          { type: "remote", apply_to: ["system"], timeout: "60s", remote: { endpoint: analyzer.url } },
        ],
      },
    },
  });
  const [guarded, exempt] = [await mint(node, "guarded"), await mint(node, "exempt", { profile: "exempt" })];
  const p99 = async (): Promise<number> => {
    const waited: number[] = [];
    for (let request = 0; request < REQUESTS; request++) {
      const began = performance.now();
      const { status } = await say(gateway, { key: exempt, body: chatWith("hello") });
      waited.push(performance.now() - began);
      assert.equal(status, 200);
    }
    return waited.sort((a, b) => a - b)[Math.ceil(0.99 * waited.length) - 1] as number;
  };
  const leaving = new AbortController();
  const flood = (role: string): Promise<unknown>[] =>
    Array.from({ length: 100 }, (_, turn) =>
      fetch(`${gateway.url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${guarded}`, "content-type": "application/json" },
        body: JSON.stringify(chatWith(`I am Alice and more ${turn}`, role)),
        signal: leaving.signal,
      }).then(
        (answer) => answer.text(),
        () => undefined,
      ),
    );
  const metric = async (name: string): Promise<number> => sumOf(await readMetrics(gateway), name);

  await p99();
  const memory = memoryOf(gateway.pid, "VmRSS") ?? Number.NaN;
  const idle = await p99();
  const analyzed = flood("system");
  await eventually("the analyzer is busy", async () => (await metric("gateway_detector_calls_waiting")) >= 36);
  const remote = await p99();
  const before = await p99();
  for (const answer of hanging) answer();
  analyzer.answer = () => [];
  await Promise.all(analyzed);
  const again = await p99();
  const read = flood("user");
  await eventually("the model is busy", async () => (await metric("gateway_model_waiting")) >= 60);
  const model = await p99();
  assert.ok((await metric("gateway_model_waiting")) > 0, "it is busy to the end of the measurement");
  leaving.abort();
  await Promise.all(read);
  const ms = (value: number): string => value.toFixed(1);
  t.diagnostic(
    `p99 of ${REQUESTS} in ms: idle ${ms(idle)} and ${ms(again)}, analyzer busy ${ms(remote)} and ${ms(before)}, model busy ${ms(model)}; ${Math.round(memory / 2 ** 20)} MiB resident`,
  );
  const most = 3 * Math.max(idle, again) + 50;
  assert.ok(Math.max(remote, before) < most, "an analyzer that is busy delays others");
  assert.ok(model < most, "a model that is busy delays others");
});

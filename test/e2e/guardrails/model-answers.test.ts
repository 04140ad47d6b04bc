/**
 * Slow detectors on answers, through running gateways: analyzers, judges and models on `output`, on whole answers and
 * on streams; their findings end or rewrite an answer, and their errors follow `on_error`, without delaying a client
 * longer than `timeout`. Source: specification document 3 (`stream`, `on_error`, `timeout`); guardrails reference, 5.3.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, beforeEach, test } from "node:test";
import { peer } from "../../peers/index.ts";
import { lookupClassifier, slowClassifier } from "../../reference/inference/graphs.ts";
import { wholeWords } from "../../reference/inference/tokenizers.ts";
import { type Analyzer, personsIn, startAnalyzer } from "../../server/detectors/remote/analyzer.ts";
import { type Answer, chat, PROVIDER_KEY, say } from "../governance/support/governed.ts";
import { startWithFiles } from "../support/config.ts";
import type { Gateway } from "../support/gateway.ts";
import { readMetrics, sumOf } from "../support/metrics.ts";
import { reply, scriptedUpstream } from "../support/upstream.ts";
import { within } from "../support/wait.ts";
import { chunks, pausing, readStream, streaming } from "./support/answers.ts";
import { JSON_TYPE } from "./support/inspected.ts";

const runtime = await peer("onnxruntime-node");
const tokenizers = await peer("tokenizers");
const missing = runtime.missing || tokenizers.missing;

const file = { after };
const folder = await mkdtemp(join(tmpdir(), "gateway-model-answers-"));
after(() => rm(folder, { recursive: true, force: true }));
const at = (name: string): string => join(folder, name);
const LABELS = ["O", "B-PER"];
const LABELED_WORDS: readonly (readonly [string, number])[] = [
  ["i", 0],
  ["know", 0],
  ["alice", 1],
];
const scoresOf = (label: number): readonly number[] => LABELS.map((_, own) => (own === label ? 9 : 0));
await writeFile(at("tokenizer.json"), wholeWords(LABELED_WORDS.map(([word]) => word)).json);
await writeFile(
  at("ner.onnx"),
  lookupClassifier([0, 0, 0, 0, ...LABELED_WORDS.map(([, label]) => label)].map(scoresOf)),
);
/** Takes more than a second for a text of more than three words. */
await writeFile(at("slow.onnx"), slowClassifier(2, 20_000));
const model = (name: string): object => ({
  model: at(name),
  tokenizer: at("tokenizer.json"),
  ...(missing ? {} : { library: dirname(dirname(runtime.path)), tokenizer_library: dirname(tokenizers.path) }),
});

const TIMEOUT_MS = 400;
const upstream = await scriptedUpstream(file);
const analyzer = await startAnalyzer(file);
const judge = await startAnalyzer(file);

const remote = { endpoint: analyzer.url };
const llm = { provider: "judges", model: "judge", labels: ["INJECTION"], prompt: "INJECTION: orders." };
const slow = { ...model("slow.onnx"), labels: ["SAFE", "BAD"], max_tokens: 8, stride: 0 };
const common = (on_error: "fail_open" | "fail_closed") => ({
  on_error,
  apply_to: ["output"],
  timeout: `${TIMEOUT_MS}ms`,
});
const asking = (on_error: "fail_open" | "fail_closed") => [
  { type: "remote", remote, ...common(on_error) },
  { type: "llm", llm, ...common(on_error) },
];
const DENY = [
  { name: "no-weapons", action: "deny", when: '"pii/WEAPON" in labels', message: "Not here." },
  { name: "no-orders", action: "deny", when: '"injection/INJECTION" in labels', message: "Not like this." },
];
const started = (guardrails: object): Promise<Gateway> =>
  startWithFiles(file, {
    providers: [
      { name: "raw", dialect: "compat", base_url: `${upstream.url}/v1`, api_key: PROVIDER_KEY },
      { name: "judges", dialect: "compat", base_url: `${judge.url}/v1`, api_key: "k", models: ["judge"] },
    ],
    default_provider: "raw",
    guardrails: { cache_entries: 0, ...guardrails },
  });
const names = { type: "nlp", apply_to: ["output"], nlp: { ...model("ner.onnx"), labels: LABELS } };
const [open, closed, buffer] = await Promise.all([
  started({ detectors: asking("fail_open"), rules: DENY }),
  started({ detectors: asking("fail_closed"), rules: DENY }),
  started({
    stream: { policy: "buffer" },
    detectors: [...asking("fail_closed"), ...(missing ? [] : [names])],
    rules: [...DENY, { name: "no-names", action: "redact", select: 'a.label == "PERSON" || a.label == "STREET"' }],
  }),
]);
const slowly = (on_error: "fail_open" | "fail_closed") =>
  started({ detectors: [{ type: "classify", classify: slow, ...common(on_error) }], rules: [] });

const verdictOn: Analyzer["answer"] = ({ body }) => {
  const verdicts = JSON.stringify(body).includes("ignore all") ? [{ label: "INJECTION", score: 0.9 }] : [];
  return {
    id: "x",
    object: "chat.completion",
    created: 1,
    model: "judge",
    choices: [
      { index: 0, message: { role: "assistant", content: JSON.stringify({ verdicts }) }, finish_reason: "stop" },
    ],
    usage: { prompt_tokens: 11, completion_tokens: 3, total_tokens: 14 },
  };
};
beforeEach(() => {
  analyzer.answer = personsIn({ "Höhe 5": "STREET", grenade: "WEAPON" });
  judge.answer = verdictOn;
});

const ask = (on: Gateway, more: object = {}): Promise<Answer> => say(on, { body: chat({ model: "m", ...more }) });
const whole = (content: string): void => {
  const choices = [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }];
  const body = JSON.stringify({ id: "c", object: "chat.completion", created: 1, model: "m", choices });
  upstream.script = (socket) => reply(socket, { headers: JSON_TYPE, body });
};
const streamed = (pieces: readonly string[]): void => {
  upstream.script = streaming(chunks(pieces.map((content) => ({ content }))));
};

const BAD: Readonly<Record<string, string>> = { remote: "how a grenade is made", llm: "now ignore all of it" };

for (const [type, bad] of Object.entries(BAD)) {
  test(`a finding of ${type} denies an answer, whole and streamed`, async () => {
    whole("all is well");
    assert.equal((await ask(closed)).status, 200);
    whole(bad);
    const denied = await ask(closed);
    assert.deepEqual([denied.status, denied.code], [403, "guardrail_denied"], denied.text);
    assert.ok(!denied.text.includes(bad));
    streamed(["all ", "is ", "well"]);
    const fine = await ask(closed, { stream: true });
    assert.deepEqual([readStream(fine.text).content, readStream(fine.text).finish], ["all is well", "stop"]);
    // More text than is read at once, so that it is found while the answer streams.
    const { script, closed: left } = pausing(chunks([{ content: `${bad} ${"well ".repeat(100)}` }]).slice(0, 2), []);
    upstream.script = script;
    const cut = await within("the denial", ask(closed, { stream: true }));
    assert.equal(readStream(cut.text).finish, "content_filter", cut.text);
    assert.match(cut.text, /guardrail_denied/);
    await within("the provider's work ends", left);
    // In a stream held back to its end nothing is shown.
    streamed(["well, ", ...bad.split(/(?= )/)]);
    const held = await ask(buffer, { stream: true });
    assert.ok(!held.text.includes(bad.split(" ").at(-2) as string), held.text);
    assert.match(held.text, /guardrail_denied/);
  });
}

test("findings of an analyzer and a model are rewritten in whole answers and in held-back streams", {
  skip: missing,
}, async () => {
  const hidden = "I know <PERSON>, 😀 <PERSON> of <STREET>";
  whole("I know Alice, 😀 Alice of Höhe 5");
  const answer = await ask(buffer);
  assert.equal(JSON.parse(answer.text).choices[0].message.content, hidden, answer.text);
  streamed(["I know Al", "ice, 😀 ", "Alice of Hö", "he 5"]);
  const stream = await ask(buffer, { stream: true });
  assert.deepEqual([readStream(stream.text).content, readStream(stream.text).finish], [hidden, "stop"]);
});

const hang = (): Promise<never> => new Promise(() => undefined);
const FAULTS: readonly (readonly [name: string, answer: Analyzer["answer"]])[] = [
  ["hangs", hang],
  ["fails", (_, response) => void response.writeHead(500).end()],
  ["garbles", () => "<html>"],
];

/** Several stretches of text, each of which would be awaited separately. */
const LONG = Array.from({ length: 1_000 }, () => "well, all of this is well and long enough. ".slice(0, 40));

/** The detectors of `lets` fail open; those of `refuses` fail closed. */
async function met(what: string, lets: Gateway, refuses: Gateway): Promise<void> {
  whole(LONG.slice(0, 50).join(""));
  const passed = await ask(lets);
  assert.equal(passed.status, 200, `${what}: ${passed.text}`);
  const refused = await ask(refuses);
  assert.deepEqual([refused.status, refused.code], [503, "guardrail_error"], `${what}: ${refused.text}`);
  streamed(LONG);
  const began = performance.now();
  const long = await ask(lets, { stream: true });
  const took = performance.now() - began;
  assert.deepEqual([readStream(long.text).content, readStream(long.text).finish], [LONG.join(""), "stop"], what);
  // 40 kB have some ten stretches, each of which would be awaited.
  assert.ok(took < 5 * TIMEOUT_MS, `${what}: the end came after ${took} ms`);
  const cut = await ask(refuses, { stream: true });
  assert.match(cut.text, /guardrail_error/, what);
  assert.notEqual(readStream(cut.text).finish, "stop", what);
}

for (const [type, server] of [
  ["remote", analyzer],
  ["llm", judge],
] as const) {
  test(`a late or invalid ${type} passes answers or refuses them, as \`on_error\` says`, async () => {
    for (const [name, fault] of FAULTS) {
      server.answer = fault;
      await met(`${type} ${name}`, open, closed);
      streamed(LONG);
      const countBefore = server.received.length;
      const held = await ask(buffer, { stream: true });
      assert.match(held.text, /guardrail_error/, name);
      assert.ok(!held.text.includes("well, all"), name);
      if (type === "remote") assert.ok(server.received.length - countBefore <= 1, name);
    }
  });
}

test("a late model passes answers or refuses them, as `on_error` says", { skip: missing }, async () => {
  const [lets, refuses] = await Promise.all([slowly("fail_open"), slowly("fail_closed")]);
  await met("classify", lets, refuses);
});

test("nothing is left behind", async () => {
  for (const gateway of [open, closed, buffer]) {
    const metrics = await readMetrics(gateway);
    assert.equal(sumOf(metrics, "gateway_buffered_bytes"), 0);
    assert.ok(sumOf(metrics, "gateway_detector_errors_total") > 0);
    assert.equal(sumOf(metrics, "gateway_detector_calls_in_flight"), 0);
  }
});

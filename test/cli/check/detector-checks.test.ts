// tier: all
/** `gateway check` calls the dependencies of detectors: analyzers, model servers, and judges. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { writeFiles } from "../../e2e/support/config.ts";
import { runProgram } from "../../e2e/support/gateway.ts";
import { within } from "../../e2e/support/wait.ts";
import { peer } from "../../peers/index.ts";
import { sequenceClassifier } from "../../reference/inference/graphs.ts";
import { wholeWords } from "../../reference/inference/tokenizers.ts";
import { startInferenceServer } from "../../server/detectors/inference/inference-server.ts";
import { type Analyzer, startAnalyzer } from "../../server/detectors/remote/analyzer.ts";

const owner = { after };
const KEY = "the-judges-key-77aa";
const SEALED = "${secret:judges}";

async function check(detectors: readonly object[], providers: readonly object[] = []) {
  const files = await writeFiles(owner, {
    providers,
    guardrails: { detectors, rules: [{ name: "any", action: "annotate" }] },
  });
  const program = runProgram(owner, { args: ["check", "-config", files.nodePath, "-timeout", "20s"], env: {} });
  const { status } = await within("the end of the check", program.ended, 60_000);
  return { status, out: program.stdout() };
}

/** Answers by path, by default with an analysis. */
const pages =
  (answers: Readonly<Record<string, unknown>>): Analyzer["answer"] =>
  ({ path }, response) => {
    const answer = answers[path.split("?")[0] ?? ""];
    if (typeof answer !== "number") return answer ?? [];
    response.writeHead(answer).end();
    return undefined;
  };

test("an analyzer is asked for its health, its entities, and about a text", async () => {
  const [good, partial, ill, other] = await Promise.all([1, 2, 3, 4].map(() => startAnalyzer(owner)));
  assert.ok(good && partial && ill && other);
  good.answer = pages({ "/health": "up", "/supportedentities": ["PERSON", "LOCATION"] });
  partial.answer = pages({ "/health": "up", "/supportedentities": ["PERSON"] });
  ill.answer = pages({ "/health": 500 });
  other.answer = pages({ "/health": 404, "/supportedentities": 404, "/analyze": "<html>" });
  const to = (name: string, endpoint: string, more: object = {}) => ({
    type: "remote",
    name,
    remote: { endpoint, headers: { "x-key": KEY }, language: "de" },
    ...more,
  });
  const { status, out } = await check([
    to("good", good.url, { entities: ["PERSON"] }),
    to("partial", partial.url, { entities: ["PERSON", "LOCATION"] }),
    to("ill", ill.url),
    to("other", other.url),
    to("gone", "http://127.0.0.1:9"),
  ]);
  assert.equal(status, 1, out);
  assert.match(out, /^ok {4}detector good: reads a text, knows 2 types in `de`, answered in \d+ ms$/m);
  assert.match(out, /^note {2}detector partial: reads a text, but does not know LOCATION in `de`, answered/m);
  assert.match(out, /^fail {2}detector ill: its server is not healthy: `\/health` answered 500$/m);
  assert.match(out, /^fail {2}detector other: its server answered what is not JSON$/m);
  assert.match(out, /^fail {2}detector gone: the request to its server failed: nothing listens there$/m);
  assert.deepEqual(
    good.received.map(({ path, headers }) => [path, headers["x-key"]]),
    ["/health", "/supportedentities?language=de", "/analyze"].map((path) => [path, KEY]),
  );
  assert.ok(!out.includes(KEY));
});

const judged = (content: string, promptTokens: number) => ({
  id: "x",
  object: "chat.completion",
  created: 1,
  model: "judge-1",
  choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
  usage: { prompt_tokens: promptTokens, completion_tokens: 3, total_tokens: 14 },
});

test("judges judge a text, and labels and text are proven to reach guards", async () => {
  const [json, guard, safety, deaf] = await Promise.all([1, 2, 3, 4].map(() => startAnalyzer(owner)));
  assert.ok(json && guard && safety && deaf);
  json.answer = ({ path }) => (path.endsWith("/models") ? { data: [] } : judged('{"verdicts":[]}', 9));
  // A server whose template reads everything it receives.
  guard.answer = ({ path, body }) =>
    path.endsWith("/models") ? { data: [] } : judged("safe", JSON.stringify(body).length);
  safety.answer = ({ path, body }) =>
    path.endsWith("/models") ? { data: [] } : judged("User Safety: safe", JSON.stringify(body).length);
  deaf.answer = ({ path }) => (path.endsWith("/models") ? { data: [] } : judged("safe", 9));
  const provider = (name: string, { url }: Analyzer) => ({
    name,
    dialect: "compat",
    base_url: `${url}/v1`,
    api_key: KEY,
  });
  const llm = (name: string, format: string) => ({
    type: "llm",
    name,
    llm: { provider: name, model: "judge", labels: ["BAD"], prompt: "BAD: what is bad.", format },
  });
  const { status, out } = await check(
    [
      llm("json", "json"),
      llm("guard", "guard_codes"),
      llm("safety", "guard_safety"),
      llm("deaf", "guard_codes"),
      { ...llm("deaf", "guard_safety"), name: "deaf-safety" },
    ],
    [provider("json", json), provider("guard", guard), provider("safety", safety), provider("deaf", deaf)],
  );
  assert.equal(status, 1, out);
  assert.match(out, /^ok {4}detector json: `judge` of json judges a text, answered in \d+ ms$/m);
  assert.match(out, /^ok {4}detector guard: `judge` of guard judges a text, which labels and text reach, answered/m);
  assert.match(out, /^ok {4}detector safety: `judge` of safety judges a text, which labels and text reach, answered/m);
  for (const name of ["deaf", "deaf-safety"]) {
    const drops = new RegExp(
      `^fail  detector ${name}: its server drops the labels: it does not pass \`chat_template_kwargs`,
    );
    assert.ok(
      out.split("\n").some((line) => drops.test(line)),
      out,
    );
  }
  const sent = safety.received.flatMap(({ path, body }) =>
    path.endsWith("/models") ? [] : [(body["chat_template_kwargs"] as { custom_taxonomy: string }).custom_taxonomy],
  );
  // Two with its own policy, one with another, and the text itself.
  assert.equal(sent.filter((taxonomy) => taxonomy.startsWith("- PROBE ")).length, 1);
  assert.equal(sent.length, 4);
  assert.ok(!out.includes(KEY));
});

test("a detector whose secret is stored in the cluster is not called with another in its place", async () => {
  const [judge, spare, analyzer] = await Promise.all([1, 2, 3].map(() => startAnalyzer(owner)));
  assert.ok(judge && spare && analyzer);
  const provider = (name: string, { url }: Analyzer, more: object) => ({
    name,
    dialect: "compat",
    base_url: `${url}/v1`,
    ...more,
  });
  const llm = (name: string) => ({
    type: "llm",
    name,
    llm: { provider: name, model: "judge", labels: ["BAD"], prompt: "BAD: what is bad." },
  });
  const { status, out } = await check(
    [
      llm("sealed"),
      llm("failing-over"),
      { type: "remote", name: "analyzer", remote: { endpoint: analyzer.url, headers: { "x-key": SEALED } } },
    ],
    [
      provider("sealed", judge, { api_key: SEALED }),
      provider("failing-over", spare, { api_key: KEY, failover: { to: ["sealed"] } }),
    ],
  );
  assert.equal(status, 0, out);
  for (const name of ["sealed", "failing-over", "analyzer"]) {
    const message = `note  detector ${name}: not tested, since its credential is sealed in the cluster`;
    assert.ok(out.split("\n").includes(message), out);
  }
  const paths = [judge, spare, analyzer].map(({ received }) => received.map(({ path }) => path));
  assert.deepEqual(paths, [[], ["/v1/models"], []]);
});

const runtime = await peer("onnxruntime-node");
const tokenizers = await peer("tokenizers");

test("a model server is ready and serves what the detector reads", {
  skip: runtime.missing || tokenizers.missing,
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), "gateway-check-"));
  after(() => rm(folder, { recursive: true, force: true }));
  const tokenizer = join(folder, "tokenizer.json");
  await writeFile(tokenizer, wholeWords(["good", "morning"]).json);
  await writeFile(join(folder, "m.onnx"), sequenceClassifier(6, 2, 1));
  const models = { m: join(folder, "m.onnx") };
  const server = await startInferenceServer(owner, { runtime: runtime.path, models });
  const busy = await startInferenceServer(owner, { runtime: runtime.path, models });
  busy.isReady = false;
  const to = (name: string, labels: readonly string[], { url } = server, model = "m") => ({
    type: "classify",
    name,
    classify: {
      tokenizer,
      tokenizer_library: dirname(tokenizers.path),
      labels,
      remote: { endpoint: url, model, headers: { "x-key": KEY } },
    },
  });
  const { status, out } = await check([
    to("good", ["SAFE", "BAD"]),
    to("wrong", ["SAFE", "BAD", "WORSE"]),
    to("unknown", ["SAFE", "BAD"], server, "other"),
    to("busy", ["SAFE", "BAD"], busy),
  ]);
  assert.equal(status, 1, out);
  assert.match(out, /^ok {4}detector good: http:\/\/127\.0\.0\.1:\d+ serves `m`, which reads a text, answered in/m);
  assert.match(out, /^fail {2}detector wrong: the graph scores 2 labels, and 3 are named$/m);
  assert.match(
    out,
    /^fail {2}detector unknown: its server answered 404 for the model: it serves no model of that name/m,
  );
  assert.match(out, /^fail {2}detector busy: its server is not ready: it answered 400$/m);
  assert.ok(!out.includes(KEY));
});

/**
 * A hub model from its pin to its verdicts: fetched at the first start, served offline from the cache, and replaced
 * while the previous one serves. Source: design decisions, section 12.
 */
import assert from "node:assert/strict";
import { dirname } from "node:path";
import { after, test } from "node:test";
import { stringify } from "yaml";
import { peer } from "../../peers/index.ts";
import { lookupClassifier } from "../../reference/inference/graphs.ts";
import { wholeWords } from "../../reference/inference/tokenizers.ts";
import { type Hub, openHub } from "../../server/models/support/hub.ts";
import { createOne, led, logged, ready } from "../config/support/nodes.ts";
import { runProgram } from "../support/gateway.ts";
import { freePort } from "../support/ports.ts";
import { simulated } from "../support/simulated.ts";
import { eventually, within } from "../support/wait.ts";

const owner = { after };
const runtime = await peer("onnxruntime-node");
const tokenizers = await peer("tokenizers");
const missing = runtime.missing || tokenizers.missing;

const REPO = "owner/names";
const WORDS = ["alice", "bob", "said", "hello"];
/** Rows of the graph's table, long enough to arrive in pieces. */
const ROWS = 40_000;

const graphThatNames = (name: string): Buffer =>
  Buffer.from(lookupClassifier(Array.from({ length: ROWS }, (_, id) => (WORDS[id - 4] === name ? [0, 9] : [9, 0]))));

const filesOf = (name: string) => ({
  "config.json": Buffer.from('{"id2label":{"0":"O","1":"B-PER"}}\n'),
  "tokenizer.json": Buffer.from(wholeWords(WORDS).json),
  "onnx/model.onnx": graphThatNames(name),
});

/** Sends half of the graph, and one more byte at each step, until it is released. */
function holding(hub: Hub, graph: Buffer) {
  let at = Math.floor(graph.length / 2);
  let answer: Parameters<Hub["fault"]>[1] | undefined;
  hub.fault = ({ host }, response) => {
    if (host !== "content" || answer !== undefined) return false;
    answer = response;
    answer.writeHead(200, { "content-length": graph.length });
    answer.write(graph.subarray(0, at));
    return true;
  };
  return {
    step: (): void => void answer?.write(graph.subarray(at, ++at)),
    release: (): void => void answer?.end(graph.subarray(at)),
  };
}

test("a pinned model is fetched, denies, serves offline, and is replaced at run time", {
  skip: missing,
  timeout: 120_000,
}, async () => {
  const [hub, provider, metricsPort] = await Promise.all([openHub(), simulated(owner), freePort()]);
  after(() => hub.close());
  const pinned = async (): Promise<string> => {
    const args = ["models", "pin", "-endpoint", hub.endpoint, REPO];
    const program = runProgram(owner, { args });
    assert.deepEqual(await within("the pin", program.ended), { status: 0, signal: null }, program.stderr());
    return program.stdout();
  };
  const documentWith = (models: string, version?: number): string =>
    stringify({
      ...(version !== undefined && { version }),
      providers: [{ name: "sim", dialect: "compat", base_url: `${provider.url}/v1`, api_key: "k" }],
      guardrails: {
        detectors: [
          {
            type: "nlp",
            nlp: { ref: "names", library: dirname(dirname(runtime.path)), tokenizer_library: dirname(tokenizers.path) },
            on_error: "fail_closed",
          },
        ],
        rules: [{ name: "no names", action: "deny", when: '"pii/PERSON" in labels' }],
      },
    }) + models;
  hub.commit(REPO, filesOf("alice"));
  const node = await createOne(owner, {
    deployment: documentWith(await pinned()),
    changes: { cache_dir: "models", metrics_listen: `127.0.0.1:${metricsPort}` },
  });
  const readyz = async (): Promise<readonly [number, string]> => {
    const answer = await fetch(`http://127.0.0.1:${metricsPort}/readyz`);
    return [answer.status, await answer.text()];
  };
  const modelNow = async () => (await node.client.call("get_status")).models?.[0];
  const say = async (url: string, content: string): Promise<number> => {
    const body = JSON.stringify({ model: "sim-chat", messages: [{ role: "user", content }] });
    const answer = await fetch(`${url}/v1/chat/completions`, { method: "POST", body });
    await answer.text();
    return answer.status;
  };

  const graph = filesOf("alice")["onnx/model.onnx"];
  const first = holding(hub, graph);
  const program = node.launch();
  await logged(program, "the configuration is waiting for models");
  const line = await eventually("a line of the log that tells how far it is", async () => {
    first.step();
    return program
      .log()
      .find(({ message, ["percent"]: percent }) => message === "a model is being fetched" && Number(percent) >= 50);
  });
  assert.ok(Number(line["percent"]) >= 50 && Number(line["percent"]) < 100, JSON.stringify(line));
  await led(node);
  const underWay = await modelNow();
  assert.deepEqual([underWay?.name, underWay?.state, underWay?.message], ["names", "fetching", null]);
  assert.ok(underWay !== undefined && underWay.bytes >= graph.length / 2 && underWay.bytes < graph.length);
  assert.ok((underWay.total_bytes ?? 0) > graph.length);
  const [unready, reasons] = await readyz();
  assert.deepEqual([unready, /configuration/.test(reasons)], [503, true], reasons);
  assert.ok(!program.log().some(({ message }) => message === "ready"));

  first.release();
  const { url } = await ready(program);
  assert.equal((await readyz())[0], 200);
  assert.equal((await modelNow())?.state, "ready");
  assert.deepEqual([await say(url, "alice said hello"), await say(url, "bob said hello")], [403, 200]);

  await node.stop();
  hub.seen.length = 0;
  hub.fault = (_, answer) => {
    answer.destroy();
    return true;
  };
  const offline = await node.start();
  assert.deepEqual([await say(offline.url, "alice said hello"), await say(offline.url, "bob")], [403, 200]);
  assert.deepEqual(hub.seen, []);

  hub.commit(REPO, filesOf("bob"));
  hub.fault = () => false;
  const models = await pinned();
  const second = holding(hub, filesOf("bob")["onnx/model.onnx"]);
  await node.writeDeployment(documentWith(models, 1));
  const from = offline.log().length;
  offline.signal("SIGHUP");
  await logged(offline, "the configuration is waiting for models", from);
  await eventually("half of it is there", async () => ((await modelNow())?.bytes ?? 0) > 0);
  assert.equal((await modelNow())?.state, "fetching");
  assert.deepEqual([await say(offline.url, "alice said hello"), await say(offline.url, "bob")], [403, 200]);
  assert.equal((await readyz())[0], 200);

  second.release();
  await logged(offline, "configuration applied", from);
  assert.deepEqual([await say(offline.url, "alice said hello"), await say(offline.url, "bob")], [200, 403]);
  assert.equal((await modelNow())?.state, "ready");
});

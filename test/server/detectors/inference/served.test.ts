// tier: all
/**
 * Models on a v2 inference server: findings equal those of the same process, and requests to a server that is slow,
 * down or replaced. Source: specification document 3 (`remote` of `nlp`, `classify`, `embed`); kserve-v2 reference.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { DetectorError } from "../../../../src/server/core/guardrails/index.ts";
import { createSessions } from "../../../../src/server/detectors/inference/index.ts";
import { texts } from "../../../reference/inference/texts.ts";
import {
  answering,
  answerTo,
  at,
  folder,
  fresh,
  here,
  honest,
  served,
  server,
  TEXT,
  withOwn,
} from "./served-setting.ts";
import { build, detect, missing, opened, scannedOf } from "./support.ts";

test("findings equal those of the same graph in this process, in JSON and binary, in any batch", {
  skip: missing,
  timeout: 120_000,
}, async () => {
  const some = texts().filter((_, index) => index % 7 === 2);
  const sessions = createSessions();
  for (const [type, model] of [
    ["nlp", "nlp"],
    ["classify", "classify"],
    ["embed", "embed"],
    ["embed", "pooled"],
  ] as const) {
    const expected = await detect(await opened(here(type, { model: at(model) }), sessions), some);
    assert.ok(expected.flat().length > 10, model);
    for (const offersBinary of [false, true]) {
      for (const mostRows of [1_000, 2]) {
        Object.assign(server, { offersBinary, mostRows });
        const before = server.requests.length;
        const found = await detect(await fresh(served(type, { model })), some);
        assert.deepEqual(found, expected, `${model}, ${offersBinary}, ${mostRows}`);
        const calls = server.requests.slice(before).filter(({ path }) => path.endsWith("/infer"));
        const sent = calls.map(({ headers }) => headers["content-type"]);
        assert.ok(sent.every((one) => one === (offersBinary ? "application/octet-stream" : "application/json")));
        // Refused once, then they are sent one by one.
        const many = calls.filter(({ rows }) => rows > 2).length;
        assert.ok(mostRows > 2 ? many > 1 : many >= 1 && many <= 4, `${model}: ${many} calls with more than 2 rows`);
      }
    }
  }
  assert.deepEqual(server.complaints, []);
});

test("a call matches the published protocol", { skip: missing }, async () => {
  const headers = { "X-Api-Key": "the-key" };
  const endpoint = `${server.url}/prefix/`;
  const detector = await fresh(served("nlp", { model: "näme 1", version: "3", headers, endpoint }, { max_tokens: 64 }));
  const before = server.requests.length;
  await detect(detector, ["Alice"]);
  const calls = server.requests.slice(before);
  const path = "/prefix/v2/models/n%C3%A4me%201/versions/3";
  assert.deepEqual(
    calls.map(({ method, path: asked }) => `${method} ${asked}`).sort(),
    ["GET /prefix/v2", `GET ${path}`, ...[1, 2, 3].map(() => `POST ${path}/infer`)].sort(),
  );
  assert.ok(calls.every((one) => one.headers["x-api-key"] === "the-key"));
  const sent = JSON.parse(String(calls.at(-1)?.body));
  assert.match(sent.id, /^g\d+$/);
  assert.deepEqual(
    sent.inputs.map(({ name, shape, datatype, data }: Record<string, unknown>) => [
      name,
      datatype,
      shape,
      (data as []).length,
    ]),
    ["input_ids", "attention_mask", "token_type_ids"].map((name) => [name, "INT64", [1, 4], 4]),
  );
  assert.deepEqual(sent.outputs, [{ name: "logits" }]);
  assert.deepEqual(server.complaints, []);
});

test("a binary call has its tensors behind the JSON, in order", { skip: missing }, async () => {
  server.offersBinary = true;
  await detect(await fresh(served("classify")), ["Alice"]);
  const { headers, body } = server.requests.at(-1) ?? assert.fail();
  const head = Number(headers["inference-header-content-length"]);
  assert.equal(Number(headers["content-length"]), body.length);
  const sent = JSON.parse(body.subarray(0, head).toString());
  assert.deepEqual(
    sent.inputs.map(({ parameters }: { parameters: object }) => parameters),
    [1, 2, 3].map(() => ({ binary_data_size: 32 })),
  );
  assert.deepEqual(sent.outputs, [{ name: "logits", parameters: { binary_data: true } }]);
  assert.equal(body.length, head + 96);
  // The attention mask.
  assert.deepEqual(
    [0, 1, 2, 3].map((token) => body.readBigInt64LE(head + 32 + 8 * token)),
    [1n, 1n, 1n, 1n],
  );
});

test("a configuration is accepted while its server is down; a text is then a failure until it is back", {
  skip: missing,
}, async () => {
  const config = served("classify", { endpoint: "http://127.0.0.1:9", timeout: "2s" });
  const detector = await fresh(config);
  await assert.rejects(detect(detector, [TEXT]), /failed: nothing listens there/);
  let isGone = true;
  server.meet = (_, response) => {
    if (isGone) response.socket?.destroy();
    return isGone;
  };
  const back = await fresh(served("classify"));
  await assert.rejects(detect(back, [TEXT]), DetectorError);
  isGone = false;
  assert.ok(((await detect(back, [TEXT]))[0] ?? []).length > 0);
});

test("each answer is awaited for `timeout`, and a disconnected request aborts its call", {
  skip: missing,
}, async () => {
  const slow = await fresh(served("classify", { timeout: "150ms" }));
  await detect(slow, [TEXT]);
  server.err = () => undefined;
  await assert.rejects(detect(slow, [TEXT]), (error) => {
    assert.ok(error instanceof DetectorError && error.kind === "timeout");
    return /did not answer within 150ms/.test(error.message);
  });
  const patient = await fresh(served("classify", { timeout: "60s" }));
  server.err = honest.err;
  await detect(patient, [TEXT]);
  server.err = () => undefined;
  const gone = Promise.resolve(patient.detect([scannedOf(TEXT)], [], AbortSignal.timeout(100)));
  await assert.rejects(gone, { name: "TimeoutError" });
  while (server.inFlight.now > 0) await new Promise((resolve) => setImmediate(resolve));
});

test("many requests run over few connections, and one above the queue limit is refused", {
  skip: missing,
}, async () => {
  const detector = await fresh(served("classify", { timeout: "20s" }));
  await detect(detector, [TEXT]);
  const held: (() => void)[] = [];
  server.inFlight.most = 0;
  server.err = () => new Promise((resolve) => held.push(() => resolve(false)));
  const asked = Array.from({ length: 96 }, () => detect(detector, [TEXT]));
  while (server.inFlight.now < 32) await new Promise((resolve) => setImmediate(resolve));
  await assert.rejects(
    detect(detector, [TEXT]),
    (error) => error instanceof DetectorError && error.kind === "overloaded",
  );
  server.err = honest.err;
  for (const release of held) release();
  await Promise.all(asked);
  assert.equal(server.inFlight.most, 32);
  assert.ok(server.connections() <= 64 + 32, `${server.connections()} connections`);
});

test("a call is retried once if its connection ended before any byte of an answer", {
  skip: missing,
}, async () => {
  const detector = await fresh(served("classify"));
  const expected = await detect(detector, [TEXT]);
  let cut = 1;
  server.err = (_, response) => {
    if (cut-- <= 0) return false;
    response.socket?.destroy();
    return undefined;
  };
  assert.deepEqual(await detect(detector, [TEXT]), expected);
});

test("examples are embedded again if the server has another version, and labels are counted again", {
  skip: missing,
}, async () => {
  const embed = await fresh(served("embed"));
  const expected = await detect(embed, [TEXT]);
  const before = server.requests.length;
  await detect(embed, [TEXT]);
  assert.equal(server.requests.length, before + 1);
  server.version = "2";
  assert.deepEqual(await detect(embed, [TEXT]), expected);
  assert.ok(server.requests.length > before + 4);
  // Answers that alternate between versions cannot be combined.
  server.err = (inferred, response) => {
    const { length } = server.requests;
    answering(response, answerTo(inferred, {}, { model_version: String(length % 2) }));
  };
  await assert.rejects(detect(embed, [TEXT]), /now has another model|two versions/);

  const classify = await fresh(served("classify"));
  await detect(classify, [TEXT]);
  server.err = withOwn(({ shape: [one = 0], data }) => ({
    shape: [one, 1],
    data: Array.from(data, Number).slice(0, one),
  }));
  await assert.rejects(detect(classify, [TEXT]), /now has another model|scores 1 labels/);
});

test("a server is not called for an empty text", { skip: missing }, async () => {
  const detector = await fresh(served("nlp"));
  await detect(detector, [TEXT]);
  const before = server.requests.length;
  assert.deepEqual(await detect(detector, ["", " "]), [[], []]);
  assert.equal(server.requests.length, before);
});

test("local errors are reported before any call", { skip: missing }, async () => {
  const wrong: readonly (readonly [object, object, string, RegExp])[] = [
    [{ endpoint: `${server.url}?a=b` }, {}, "classify.remote.endpoint", /must not have a query/],
    [{ headers: { host: "x" } }, {}, "classify.remote.headers.host", /only the gateway sets this header/],
    [{ model: ".." }, {}, "classify.remote.model", /no model has this name/],
    [{}, { tokenizer: join(folder, "none.json") }, "classify.tokenizer", /there is no file/],
    [{}, { labels: undefined }, "classify.labels", /the labels of the model are unknown/],
  ];
  const before = server.requests.length;
  for (const [more, own, path, message] of wrong) {
    const built = build(served("classify", more, own));
    assert.ok(built.kind === "refused");
    assert.deepEqual(
      built.problems.map((one) => one.path.join(".")),
      [path],
    );
    assert.match(built.problems[0]?.message ?? "", message);
  }
  const narrow = build(served("classify", {}, { max_tokens: 8, stride: 7 }));
  assert.ok(narrow.kind === "detector");
  const [problem] = await narrow.prepare(AbortSignal.timeout(60_000));
  assert.equal(problem?.path.join("."), "classify.stride");
  assert.equal(server.requests.length, before);
});

test("a fingerprint discloses no credential, and a new credential is used", {
  skip: missing,
}, async () => {
  const of = (value: string) => build(served("classify", { headers: { authorization: value } }));
  const [one, other] = [of("Bearer one"), of("Bearer two")];
  assert.ok(one.kind === "detector" && other.kind === "detector");
  assert.equal(one.detector.fingerprint, other.detector.fingerprint);
  assert.notEqual(one.session, other.session);
});

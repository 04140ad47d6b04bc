/**
 * Requests to the cloud's surfaces through a running gateway, with a provider that recomputes each signature from the
 * raw request. Source: specification document 3 (`credentials[].cloudsig`); design decisions, section 13; provider
 * catalog reference, 2.1.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { SigningKey } from "../../../src/simulator/index.ts";
import { createOne, logged } from "../config/support/nodes.ts";
import { ONE_PROCESS } from "../support/gateway.ts";
import { readMetrics, sumOf } from "../support/metrics.ts";
import { clientsOf, simulated } from "../support/simulated.ts";

const file = { after };

const SECRET = "wJalrXUtnFEMI/CANARY/bPxRfiCYEXAMPLEKEY";
const TOKEN = "SESSION/CANARY/TOKEN+with/every+kind/of=character==";
const keys = new Map<string, SigningKey>([
  ["AKIDSTATIC", { secret: SECRET }],
  ["ASIATEMPORARY", { secret: SECRET, sessionToken: TOKEN }],
]);
const keyOf = (id: string) => keys.get(id);

/** Clock offset of the third provider, in milliseconds. */
let skewMs = 0;
const runtime = await simulated(file, { requireSignature: { keyOf, service: "bedrock", region: "us-east-1" } });
const mantle = await simulated(file, { requireSignature: { keyOf, service: "bedrock-mantle", region: "eu-west-1" } });
const skewed = await simulated(file, {
  requireSignature: { keyOf, service: "bedrock", now: () => Date.now() + skewMs },
});

const node = await createOne(file, {
  deployment: {
    max_body_bytes: 8 << 20,
    auth: { virtual_keys: true },
    credentials: [
      { name: "static", cloudsig: { access_key_id: "AKIDSTATIC", secret_access_key: "${AWS_SECRET}" } },
      {
        name: "temporary",
        cloudsig: { access_key_id: "ASIATEMPORARY", secret_access_key: "${AWS_SECRET}", session_token: "${AWS_TOKEN}" },
      },
      { name: "wrong", cloudsig: { access_key_id: "AKIDSTATIC", secret_access_key: "another" } },
    ],
    providers: [
      {
        preset: "bedrock",
        base_url: `${runtime.url}/v1`,
        region: "us-east-1",
        credential: "static",
        models: ["sim-*", "openai.gpt-oss*"],
        model_aliases: { "sim-alias": "sim-aliased" },
      },
      {
        preset: "bedrock-anthropic",
        base_url: mantle.url,
        region: "eu-west-1",
        credential: "temporary",
        models: ["claude-*", "sim-claude*"],
      },
      {
        name: "skewed",
        preset: "bedrock",
        base_url: `${skewed.url}/v1`,
        region: "us-east-1",
        credential: "static",
        models: ["late-*"],
      },
      {
        name: "refused",
        preset: "bedrock",
        base_url: `${runtime.url}/v1`,
        region: "us-east-1",
        credential: "wrong",
        models: ["refused-*"],
      },
    ],
  },
});
const gateway = await node.start({ ...ONE_PROCESS, AWS_SECRET: SECRET, AWS_TOKEN: TOKEN });
const { key = "" } = await node.client.call("create_key", { body: { name: "caller" } });
const { openai, anthropic, seen } = clientsOf(gateway.url, key);

const user = (content: string) => [{ role: "user" as const, content }];

test("a request to the cloud's compat surface is signed over the bytes that are sent: whole, streamed, edited, large", async () => {
  const whole = await openai.chat.completions.create({ model: "sim-1", messages: user("hello") });
  assert.ok(whole.choices[0]?.message.content);
  const aliased = await openai.chat.completions.create({ model: "sim-alias", messages: user("hé\u{1F600}") });
  assert.equal(aliased.model, "sim-alias");
  const stream = await openai.chat.completions.create({ model: "sim-1", messages: user("hello"), stream: true });
  let text = "";
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
  assert.ok(text.length > 0);
  const large = await openai.chat.completions.create({ model: "sim-1", messages: user("x".repeat(1 << 20)) });
  assert.ok(large.choices[0]?.message.content);
});

test("ids with a colon or a slash are signed in the form that their path is sent", async () => {
  for (const model of ["openai.gpt-oss-20b-1:0", "openai.gpt-oss/nested:1"]) {
    assert.equal((await openai.models.retrieve(model)).id, model);
  }
  const raw = await fetch(`${gateway.url}/v1/models/openai.gpt-oss-20b-1:0?b=2&a=%20x%2F&c`, {
    headers: { authorization: `Bearer ${key}` },
  });
  assert.equal(raw.status, 200, await raw.text());
});

test("a request to the messages surface is signed with a session token, translated or not", async () => {
  const own = await anthropic.messages.create({ model: "claude-sonnet-4-5", max_tokens: 16, messages: user("hi") });
  assert.equal(own.type, "message");
  const stream = anthropic.messages.stream({ model: "claude-sonnet-4-5", max_tokens: 16, messages: user("hi") });
  assert.equal((await stream.finalMessage()).type, "message");
  const translated = await openai.chat.completions.create({ model: "claude-sonnet-4-5", messages: user("hi") });
  assert.ok(translated.choices[0]?.message.content);
  const listed = await fetch(`${gateway.url}/v1/messages/count_tokens`, {
    method: "POST",
    headers: { "x-api-key": key, "anthropic-version": "2023-06-01", "content-type": "application/json" },
    body: JSON.stringify({ model: "claude-sonnet-4-5", messages: user("hi") }),
  });
  assert.ok(listed.status === 200 || listed.status === 400, `${listed.status} ${await listed.text()}`);
});

test("a client's own signature headers are dropped and do not influence the signature", async () => {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${key}`,
      "x-amz-content-sha256": "UNSIGNED-PAYLOAD",
      "x-amz-date": "20150830T123600Z",
      "x-amz-security-token": "theirs",
      "x-amzn-bedrock-guardrailidentifier": "theirs",
      x_amz_target: "theirs",
    },
    body: JSON.stringify({ model: "sim-1", messages: user("hello") }),
  });
  assert.equal(response.status, 200, await response.text());
  const last = await (await fetch(`${runtime.url}/sim/last`)).text();
  assert.ok(!last.includes("theirs") && !last.includes("UNSIGNED"), last);
});

test("a clock ten minutes off is corrected once from the answer's date, and reported", async () => {
  for (const [ahead, sign] of [
    [600_000, 1],
    [-600_000, -1],
  ] as const) {
    skewMs = ahead;
    const from = gateway.log().length;
    const before = skewed.counts().requests;
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => openai.chat.completions.create({ model: "late-1", messages: user("hi") })),
    );
    assert.equal(answers.length, 8);
    const line = await logged(
      node.program,
      "requests are signed with a corrected time, since the upstream's clock differs from this node's",
      from,
    );
    assert.equal(Math.sign(Number(line["offset_ms"])), sign);
    assert.ok(Math.abs(Math.abs(Number(line["offset_ms"])) - 600_000) < 5_000, JSON.stringify(line));
    assert.ok(skewed.counts().requests - before <= 16);
    const corrected = skewed.counts().requests;
    await openai.chat.completions.create({ model: "late-1", messages: user("hi") });
    assert.equal(skewed.counts().requests - corrected, 1, "what was learnt is kept");
  }
  skewMs = 0;
  await openai.chat.completions.create({ model: "late-1", messages: user("hi") });
  const series = await readMetrics(gateway);
  assert.ok(Math.abs(sumOf(series, "gateway_signing_clock_offset_seconds")) < 5);
  assert.ok(sumOf(series, "gateway_credential_repeats_total", { reason: "clock" }) >= 3);
});

test("a wrong key yields the provider's own 403, sent once, which shows nothing of the key", async () => {
  const before = runtime.counts().requests;
  await assert.rejects(openai.chat.completions.create({ model: "refused-1", messages: user("hi") }), { status: 403 });
  assert.equal(runtime.counts().requests - before, 1);
});

test("no key and no token appears in the gateway's output", async () => {
  const answered = JSON.stringify(seen);
  const metrics = await (await fetch(String(gateway.metricsUrl))).text();
  for (const text of [node.output(), answered, metrics]) {
    for (const canary of [SECRET, TOKEN, "CANARY"]) assert.ok(!text.includes(canary));
  }
});

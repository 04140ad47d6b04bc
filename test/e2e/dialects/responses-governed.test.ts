/**
 * Responses from providers without that API under all governance: model lists, required capabilities, budgets, failover
 * between channels with and without the route, and the neighboring routes.
 */
import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import type OpenAI from "openai";
import { WebSocket } from "ws";
import { defaultClaims } from "../../../src/server/core/dialects/index.ts";
import { mint, PROVIDER_KEY, say, startGoverned } from "../governance/support/governed.ts";
import { idle, readMetrics, sumOf } from "../support/metrics.ts";
import { raisedBy } from "../support/outcome.ts";
import { clientsOf } from "../support/simulated.ts";
import { eventually } from "../support/wait.ts";
import { surface } from "./support/rig.ts";

const CHAT_ONLY = [...defaultClaims("compat")].filter((name) => name !== "responses");
const CHANNELS = ["messages", "chat"] as const;
const MODELS = ["sim-small", "sim-large", "sim-error-mid-stream"];
const QUESTION = "What is the weather in Paris and Rome?";
const BUDGET = 1_000_000;

/** Two providers, of which the first is busy. */
const moving = (model: string, [first, second]: readonly [string, string]): readonly object[] => [
  {
    name: `${model}-0`,
    preset: first,
    api_key: PROVIDER_KEY,
    model_aliases: { [model]: "sim-503" },
    failover: { to: [`${model}-1`], when: ["5xx"] },
  },
  { name: `${model}-1`, preset: second, api_key: PROVIDER_KEY, model_aliases: { [model]: "sim-small" } },
];

const { simulator, node, gateway } = await startGoverned(
  { after },
  {
    deployment: ({ url }) => ({
      catalog_overlays: [
        surface({ name: "native", dialect: "compat", url }),
        surface({ name: "messages", dialect: "messages", url }),
        surface({ name: "chat", dialect: "compat", url, caps: CHAT_ONLY }),
      ],
      default_provider: "chat",
      providers: [
        ...["native", ...CHANNELS].map((preset) => ({
          preset,
          api_key: PROVIDER_KEY,
          model_aliases: Object.fromEntries(MODELS.map((model) => [`${preset}/${model}`, model])),
        })),
        ...moving("from-native", ["native", "messages"]),
        ...moving("to-native", ["messages", "native"]),
      ],
      budgets: [
        { name: "total", cost: { type: "TotalToken" }, limit: BUDGET, shared: true },
        { name: "tight", cost: { type: "TotalToken" }, limit: 40, shared: true },
      ],
      profiles: [
        { name: "counted", budget: "total" },
        { name: "tight", budget: "tight" },
        { name: "listed", allowed_models: ["chat/*"] },
        { name: "needs-route", require_caps: ["responses"] },
      ],
    }),
  },
);
const key = await mint(node, "one");
const { openai } = clientsOf(gateway.url, key);
const of = (channel: string, model = "sim-small"): string => `${channel}/${model}`;

beforeEach(() => fetch(`${simulator.url}/sim/reset`, { method: "POST" }));

interface Seen {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

const seen = async (): Promise<readonly Seen[]> =>
  (await (await fetch(`${simulator.url}/sim/last?n=50`)).json()) as Seen[];

async function used(budget: string): Promise<number> {
  await idle(gateway);
  return eventually("what is reserved is settled", async () => {
    const rows = (await node.client.call("list_budgets")).items.filter((row) => row.budget === budget);
    return rows.some(({ reserved }) => reserved > 0) ? undefined : rows.reduce((sum, row) => sum + row.used, 0);
  });
}

test("the tokens of a response are charged once: whole, streamed, cut by a limit, and failed within the stream", async () => {
  const counted = await mint(node, "counted", { profile: "counted" });
  const client = clientsOf(gateway.url, counted).openai;
  for (const channel of CHANNELS) {
    for (const more of [{}, { max_output_tokens: 16 }]) {
      const request = {
        model: of(channel),
        input: QUESTION,
        ...more,
      } as OpenAI.Responses.ResponseCreateParamsNonStreaming;
      for (const streams of [false, true]) {
        const before = await used("total");
        const { usage } = streams
          ? await client.responses.stream({ ...request, stream: true }).finalResponse()
          : await client.responses.create(request);
        assert.ok(usage !== undefined && usage.total_tokens > 0);
        assert.equal(
          (await used("total")) - before,
          usage.total_tokens,
          `${channel} ${JSON.stringify(more)} ${streams}`,
        );
      }
    }
    const before = await used("total");
    const failing = client.responses.stream({ model: of(channel, "sim-error-mid-stream"), input: QUESTION });
    await assert.rejects(failing.finalResponse());
    // A messages channel reports its input at once; the others have reported nothing when they fail.
    const charged = (await used("total")) - before;
    assert.equal(
      charged > 0,
      channel === "messages",
      `${channel}: what failed is charged what it reported: ${charged}`,
    );
  }
});

test("a streamed response is charged what its provider reports, whatever it was allowed", async () => {
  const counted = await mint(node, "streaming", { profile: "counted" });
  for (const channel of CHANNELS) {
    for (const max_output_tokens of [16, 400]) {
      const before = await used("total");
      const body = { model: of(channel), input: QUESTION, max_output_tokens, stream: true };
      const answer = await say(gateway, { key: counted, path: "/v1/responses", body });
      const reported = Number(/"total_tokens":(\d+)/.exec(answer.text)?.[1]);
      assert.ok(reported > 0, answer.text);
      assert.equal((await used("total")) - before, reported, `${channel} ${max_output_tokens}`);
    }
  }
});

test("a spent budget refuses a response before any provider is asked", async () => {
  const tight = await mint(node, "tight", { profile: "tight" });
  const request = {
    key: tight,
    path: "/v1/responses",
    body: { model: of("messages"), input: QUESTION, max_output_tokens: 16 },
  };
  let answer = await say(gateway, request);
  for (let round = 0; answer.status === 200 && round < 10; round++) answer = await say(gateway, request);
  assert.equal(answer.status, 429);
  const countBefore = (await seen()).length;
  assert.equal((await say(gateway, request)).status, 429);
  assert.equal((await seen()).length, countBefore);
});

test("model lists and required capabilities apply on the route", async () => {
  const listed = clientsOf(gateway.url, await mint(node, "listed", { profile: "listed" })).openai;
  assert.equal((await listed.responses.create({ model: of("chat"), input: QUESTION })).status, "completed");
  const unlisted = await raisedBy(listed.responses.create({ model: of("messages"), input: QUESTION }));
  assert.ok(unlisted.status === 403 || unlisted.status === 404);
  const needing = clientsOf(gateway.url, await mint(node, "needing", { profile: "needs-route" })).openai;
  const refused = await raisedBy(needing.responses.create({ model: of("chat"), input: QUESTION }));
  assert.equal(refused.status, 400);
  assert.match(refused.message, /has responses, which/);
  assert.deepEqual(
    (await seen()).map(({ path }) => path),
    ["/v1/chat/completions"],
  );
});

test("a response fails over between channels with and without the route, and sealed reasoning stays behind", async () => {
  const before = await readMetrics(gateway);
  const request = { input: QUESTION, reasoning: { effort: "low" as const } };
  const moved = await openai.responses.create({ model: "from-native", ...request });
  assert.deepEqual((await seen()).map(({ path }) => path).slice(-1), ["/v1/messages"]);
  const [reasoning] = moved.output;
  assert.ok(reasoning?.type === "reasoning" && reasoning.encrypted_content?.startsWith("gwr1.") === true);
  const input = [
    { role: "user", content: QUESTION },
    ...moved.output,
    { role: "user", content: "And?" },
  ] as OpenAI.Responses.ResponseInput;
  const { data, response } = await openai.responses.create({ ...request, model: "to-native", input }).withResponse();
  assert.equal(data.status, "completed");
  assert.match(response.headers.get("x-gateway-fidelity-losses") ?? "", /thinking_replay/);
  const last = (await seen()).at(-1);
  assert.equal(last?.path, "/v1/responses");
  assert.doesNotMatch(JSON.stringify(last?.body), /gwr1|"type":"reasoning"/);
  const after = await readMetrics(gateway);
  assert.ok(sumOf(after, "gateway_failovers_total") >= sumOf(before, "gateway_failovers_total") + 2);
});

test("a provider's own reasoning returns to it unchanged, and to no other provider", async () => {
  const request = { input: QUESTION, reasoning: { effort: "low" as const } };
  const { output } = await openai.responses.create({ model: of("native"), ...request });
  const input = [
    { role: "user", content: QUESTION },
    ...output,
    { role: "user", content: "And?" },
  ] as OpenAI.Responses.ResponseInput;
  assert.equal((await openai.responses.create({ model: of("native"), input })).status, "completed");
  for (const channel of CHANNELS) {
    const { response } = await openai.responses.create({ model: of(channel), input }).withResponse();
    assert.match(response.headers.get("x-gateway-fidelity-losses") ?? "", /thinking_replay/);
    assert.doesNotMatch(JSON.stringify((await seen()).at(-1)?.body), /gAAAA/);
  }
});

test("routes that need a provider with a responses API are refused with the reason before any provider is asked", async () => {
  for (const [method, path, param, body] of [
    ["POST", "/v1/responses/compact", "compaction", { model: of("chat"), input: QUESTION }],
    ["POST", "/v1/conversations", "stored_responses", {}],
    ["GET", "/v1/conversations/conv_1", "stored_responses", undefined],
    ["GET", "/v1/conversations/conv_1/items", "stored_responses", undefined],
  ] as const) {
    const { status, text } = await say(gateway, { key, method, path, body });
    const { error } = JSON.parse(text) as { readonly error: { readonly code: string; readonly param: string } };
    assert.deepEqual([status, error.code, error.param], [400, "fidelity_loss", param], `${method} ${path}`);
  }
  const upgrade = await refusedUpgrade();
  assert.deepEqual([upgrade.status, upgrade.param], [426, "model"]);
  const counted = await raisedBy(openai.responses.inputTokens.count({ model: of("chat"), input: QUESTION }));
  assert.deepEqual([counted.status, counted.param], [400, "count_tokens"]);
  assert.deepEqual(await seen(), []);
});

/** Returns the refused handshake of a WebSocket at `/v1/responses`. */
async function refusedUpgrade(): Promise<{ readonly status: number; readonly param: string }> {
  const headers = { authorization: `Bearer ${key}` };
  const socket = new WebSocket(`${gateway.url.replace("http", "ws")}/v1/responses`, { headers });
  return new Promise((resolve, reject) => {
    socket.once("open", () => reject(new Error("the handshake was accepted")));
    socket.once("error", reject);
    socket.once("unexpected-response", (_, response) => {
      let text = "";
      response.on("data", (chunk) => (text += chunk));
      response.once("end", () => {
        const { error } = JSON.parse(text) as { readonly error: { readonly param: string } };
        resolve({ status: response.statusCode ?? 0, param: error.param });
      });
    });
  });
}

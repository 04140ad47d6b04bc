/**
 * Defaults of client libraries, through a real gateway to a simulated provider of either dialect: their recorded
 * requests, message threads, the list of models, refusals, and the beginning of a translated stream. There is no
 * default provider.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { readCorpus } from "../clients/corpus.ts";
import { surface, UPSTREAMS } from "./dialects/support/rig.ts";
import { mint, PROVIDER_KEY, startGoverned } from "./governance/support/governed.ts";
import { drain, raisedBy } from "./support/outcome.ts";
import { clientsOf } from "./support/simulated.ts";

const { simulator, node, gateway } = await startGoverned(
  { after },
  {
    deployment: ({ url }) => ({
      catalog_overlays: [
        ...UPSTREAMS.map((dialect) => surface({ name: dialect, dialect, url })),
        surface({ name: "plain", dialect: "messages", url, caps: ["messages", "streaming", "tools", "sampling"] }),
        surface({ name: "bare", dialect: "compat", url, caps: ["chat_completions"] }),
      ],
      providers: [
        { preset: "compat", api_key: PROVIDER_KEY, models: ["exact"], model_aliases: { "to-compat": "sim-small" } },
        {
          preset: "messages",
          api_key: PROVIDER_KEY,
          models: ["sim-*", "secret"],
          model_aliases: { "to-messages": "sim-small" },
        },
        { preset: "plain", api_key: PROVIDER_KEY, model_aliases: { "to-plain": "sim-small" } },
        { preset: "bare", api_key: PROVIDER_KEY, model_aliases: { "to-bare": "sim-small" } },
      ],
      access_rules: [{ name: "no-secret", at: ["llm"], condition: 'model == "secret"', action: "deny" }],
      budgets: [{ name: "all", cost: { type: "TotalToken" }, limit: 100_000_000, window: "week" }],
      profiles: [
        { name: "metered", budget: "all" },
        { name: "narrow", allowed_models: ["to-*"] },
        { name: "strict", require_caps: ["strict_tools"] },
      ],
    }),
  },
);
const [key, metered, narrow, strict] = await Promise.all([
  mint(node, "anybody"),
  mint(node, "metered", { profile: "metered" }),
  mint(node, "narrow", { profile: "narrow" }),
  mint(node, "strict", { profile: "strict" }),
]);
const { openai, anthropic, classic } = clientsOf(gateway.url, key);
const messages = [{ role: "user" as const, content: "What is the weather in Paris?" }];
const TARGETS = ["to-compat", "to-messages"] as const;
const LISTED = ["exact", "to-bare", "to-compat", "to-messages", "to-plain"];

/** Requests that are rightly refused. Continued threads belong to another provider. */
const REFUSED: readonly (readonly [where: RegExp, message: RegExp])[] = [
  [/ thread| tools/, /thread_not_found/],
  [/^(?:ai-sdk-compatible|mastra) structured to-messages/, /`response_format` \(json_object\)/],
];

test("requests with the defaults of client libraries are answered by a provider of either dialect", async () => {
  let answered = 0;
  for (const { library, cases } of readCorpus()) {
    for (const [name, requests] of Object.entries(cases)) {
      for (const { method, path, headers, body } of requests) {
        if (method !== "POST" || path.includes("count_tokens")) continue;
        for (const model of TARGETS) {
          const response = await fetch(gateway.url + path, {
            method,
            headers: { ...headers, "content-type": "application/json", authorization: `Bearer ${key}` },
            body: JSON.stringify({ ...(body as object), model }),
          });
          const text = await response.text();
          const where = `${library} ${name} ${model}`;
          const isExpected = REFUSED.some(([of, message]) => of.test(where) && message.test(text));
          assert.ok(response.status === 200 || isExpected, `${where}: ${response.status} ${text.slice(0, 500)}`);
          if (response.status === 200) answered += 1;
        }
      }
    }
  }
  assert.ok(answered > 300, `${answered} were answered`);
});

const weather = betaTool({
  name: "get_weather",
  description: "Tells the weather.",
  inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  run: () => "It is sunny.",
});

/**
 * Returns the paths that the simulated provider received since the last reset, and whether the body continued a thread.
 */
async function received(): Promise<readonly { path: string; thread: unknown }[]> {
  const requests = (await (await fetch(`${simulator.url}/sim/last?n=50`)).json()) as { path: string; body: object }[];
  return requests.map(({ path, body }) => ({ path, thread: (body as { thread?: unknown }).thread }));
}

for (const [model, by, threads] of [
  // Create, then continue.
  ["to-messages", key, ["create", "continue"]],
  // The budget must see the whole conversation.
  ["to-messages", metered, ["create", "create"]],
  // There is no thread store, and the provider does not receive unknown fields.
  ["to-compat", key, [undefined, undefined]],
  ["to-plain", key, [undefined, undefined]],
] as const) {
  test(`the SDK's tool loop runs over ${model}, whose provider sees threads as ${threads.join(", ")}`, async () => {
    await fetch(`${simulator.url}/sim/reset`, { method: "POST" });
    const client = clientsOf(gateway.url, by).anthropic;
    const message = await client.beta.messages.toolRunner({ model, max_tokens: 500, messages, tools: [weather] });
    assert.equal(message.stop_reason, "end_turn");
    const seen = (await received()).map(({ thread }) => Object(thread)["type"] as unknown);
    assert.deepEqual(seen, threads);
  });
}

test("continuing a thread without a thread store answers 404 in the SDK's error format", async () => {
  const thread = { type: "continue" as const, previous_message_id: "msg_1" };
  const request = { model: "to-compat", max_tokens: 500, messages, thread };
  const error = await anthropic.beta.messages.create(request).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof Error && "errorCode" in error && "status" in error);
  assert.deepEqual(
    [error.constructor.name, error.errorCode, error.status],
    ["ThreadNotFoundError", "thread_not_found", 404],
  );
});

test("without a default provider, exact names and aliases are listed in either format", async () => {
  const { data } = await openai.models.list();
  assert.deepEqual(data.map(({ id }) => id).sort(), LISTED);
  assert.deepEqual(
    data.find(({ id }) => id === "exact"),
    { id: "exact", object: "model", created: 0, owned_by: "compat" },
  );
  for (const client of [anthropic, classic]) {
    const { items } = await drain(client.models.list({ limit: 2 }));
    assert.deepEqual(items.map((item) => String(Object(item)["id"])).sort(), LISTED);
  }
});

test("a single model of a provider without a models route is described by the gateway", async () => {
  const described = { id: "to-bare", object: "model", created: 0, owned_by: "bare" };
  assert.deepEqual(await openai.models.retrieve("to-bare"), described);
  assert.equal((await anthropic.models.retrieve("to-bare")).display_name, "to-bare");
});

test("the list omits models that the caller may not use because of its profile, a rule or a suspension", async () => {
  const idsFor = async (by: string) =>
    (await clientsOf(gateway.url, by).openai.models.list()).data.map(({ id }) => id).sort();
  assert.deepEqual(await idsFor(narrow), ["to-bare", "to-compat", "to-messages", "to-plain"]);
  const params = { kind: "model" as const, name: "to-compat" };
  await node.client.call("put_suspension", { params, body: { reason: "a test" } });
  assert.deepEqual(await idsFor(narrow), ["to-bare", "to-messages", "to-plain"]);
  await node.client.call("delete_suspension", { params });
});

test("a refusal names the field, the model and the remedy", async () => {
  const seeded = await raisedBy(openai.chat.completions.create({ model: "to-messages", messages, seed: 7 }));
  assert.deepEqual([seeded.status, seeded.param], [400, "seed"]);
  assert.match(seeded.message, /`seed` is not supported by to-messages: leave it out, .*`on_fidelity_loss: allow`/);
  const unknown = await raisedBy(openai.chat.completions.create({ model: "gpt-nobody", messages }));
  assert.equal(unknown.status, 404);
  assert.match(unknown.message, /No provider serves the model gpt-nobody/);
  const { openai: limited } = clientsOf(gateway.url, narrow);
  const unlisted = await raisedBy(limited.chat.completions.create({ model: "exact", messages }));
  assert.deepEqual([unlisted.status, unlisted.code], [403, "model_not_allowed"]);
  assert.match(unlisted.message, /The model exact is not among those/);
});

test("a tool that is strict by default is not refused unless the caller's profile requires strictness", async () => {
  const parameters = { type: "object", properties: {}, additionalProperties: false, required: [] };
  const tools = [{ type: "function" as const, function: { name: "now", strict: true, parameters } }];
  const request = { messages, tools, parallel_tool_calls: false };
  const { response } = await openai.chat.completions.create({ model: "to-plain", ...request }).withResponse();
  assert.match(response.headers.get("x-gateway-fidelity-losses") ?? "", /strict_tools/);
  const { openai: demanding } = clientsOf(gateway.url, strict);
  const refused = await raisedBy(demanding.chat.completions.create({ model: "to-plain", ...request }));
  assert.match(refused.message, /strict_tools, which the caller's profile requires/);
  assert.ok(await demanding.chat.completions.create({ model: "to-messages", ...request }));
});

test("the losses header names each omitted field, and nothing that was forwarded", async () => {
  const named = { model: "to-messages", messages: [{ ...messages[0], name: "Ann" }] } as never;
  const translated = await openai.chat.completions.create(named).withResponse();
  assert.equal(translated.response.headers.get("x-gateway-fidelity-losses"), `hint;field="messages[0].name"`);
  const forwarded = await openai.chat.completions.create({ model: "to-bare", messages, store: true }).withResponse();
  assert.equal(forwarded.response.headers.get("x-gateway-fidelity-losses"), null);
});

test("a path that begins with /v1 twice is explained in the client's own error format", async () => {
  const twice = clientsOf(`${gateway.url}/v1`, key);
  const [compat, other] = await Promise.all([
    raisedBy(twice.openai.chat.completions.create({ model: "to-compat", messages })),
    raisedBy(twice.anthropic.messages.create({ model: "to-messages", max_tokens: 9, messages })),
  ]);
  for (const { status, message } of [compat, other]) {
    assert.equal(status, 404);
    assert.match(message, /begins with \/v1 twice/);
  }
  assert.equal(other.type, "not_found_error");
});

test("a translated stream begins with an estimated input count and ends with the provider's count", async () => {
  const request = { model: "to-compat", max_tokens: 500, messages };
  const { usage } = await anthropic.messages.create(request);
  let [first, last] = [0, 0];
  for await (const event of await anthropic.messages.create({ ...request, stream: true })) {
    if (event.type === "message_start") first = event.message.usage.input_tokens;
    if (event.type === "message_delta") last = event.usage.input_tokens ?? -1;
  }
  assert.ok(first > 5 && first < 200, String(first));
  assert.equal(last, usage.input_tokens);
});

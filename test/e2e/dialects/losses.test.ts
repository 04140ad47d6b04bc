/**
 * Capabilities that a provider's channels do not claim: refused by name, forwarded if the operator allows it, counted
 * either way; and the choice among several channels. Source: specification document 3 (`caps`, `on_fidelity_loss`,
 * `require_caps`); design decisions, section 6.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { mint, PROVIDER_KEY, startGoverned } from "../governance/support/governed.ts";
import { type Document, startWithFiles } from "../support/config.ts";
import { idle, sumOf } from "../support/metrics.ts";
import { clientsOf, simulated } from "../support/simulated.ts";
import { tellByAnthropic } from "./support/anthropic.ts";
import { lostBy, type RequestByClient } from "./support/cell.ts";
import { QUESTION_REQUEST } from "./support/features/question.ts";
import { tellByOpenai } from "./support/openai.ts";
import { surface, withChannels } from "./support/rig.ts";
import { CLIENTS, type ClientName } from "./support/sdk-answer.ts";

const file = { after };
const MODEL = "sim-small";
const [compat, messages, third] = await Promise.all([simulated(file), simulated(file), simulated(file)]);

/** Minimum claims for a chat. */
const BARE = { compat: ["chat_completions", "streaming"], messages: ["messages", "streaming"] } as const;
const root = ({ url }: { readonly url: string }) => `${url}/v1`;
const VERIFIED = { tier: "provider_compat", verified_at: "2026-11-01", verified_by: "the test" };

/** Channels of one provider, by the rule of choice that each shows. */
const CHOICES: Readonly<Record<string, readonly Document[]>> = {
  both: [
    { id: "a", dialect: "compat", tier: "provider", base_url: root(compat) },
    { id: "b", dialect: "messages", tier: "provider", base_url: root(messages) },
  ],
  "compat-bare": [
    { id: "a", dialect: "compat", tier: "provider", base_url: root(compat), caps: BARE.compat },
    { id: "b", dialect: "messages", tier: "provider", base_url: root(messages) },
  ],
  "compat-foreign": [
    { id: "a", dialect: "compat", base_url: root(compat), ...VERIFIED },
    { id: "b", dialect: "messages", tier: "provider", base_url: root(messages) },
  ],
  twins: [
    { id: "a", dialect: "compat", tier: "provider", base_url: root(compat) },
    { id: "b", dialect: "compat", tier: "provider", base_url: root(third) },
  ],
};

const gateway = await startWithFiles(file, {
  catalog_overlays: [
    surface({ name: "bare-compat", dialect: "compat", url: compat.url, caps: BARE.compat }),
    surface({ name: "bare-messages", dialect: "messages", url: messages.url, caps: BARE.messages }),
    ...Object.entries(CHOICES).map(([name, channels]) => withChannels(name, compat.url, channels)),
    ...(["compat", "messages"] as const).map((dialect) => ({
      name: `strip-${dialect}-overlay`,
      providers: [
        {
          op: "add",
          name: `strip-${dialect}`,
          schema: { name: dialect },
          base_url: root(dialect === "compat" ? compat : messages),
          remove_request_fields: ["temperature", "seed", "min_p"],
        },
      ],
    })),
  ],
  providers: [
    ...["strip-compat", "strip-messages"].map((preset) => ({ name: preset, preset, models: [`${preset}-*`] })),
    ...["bare-compat", "bare-messages"].flatMap((preset) => [
      { name: preset, preset, model_aliases: { [preset]: MODEL } },
      {
        name: `${preset}-allowing`,
        preset,
        on_fidelity_loss: "allow",
        model_aliases: { [`${preset}-allowing`]: MODEL },
      },
    ]),
    ...Object.keys(CHOICES).map((name) => ({ name, preset: name, model_aliases: { [name]: MODEL } })),
  ],
});
const clients = clientsOf(gateway.url);

const ask = (
  client: ClientName,
  model: string,
  request: RequestByClient,
  form: "unary" | "helper" = "unary",
  by = clients,
) =>
  client === "openai"
    ? tellByOpenai(by.openai, { form, model, params: request.openai })
    : tellByAnthropic(by.anthropic, { form, model, params: request.anthropic });

async function lost(client: ClientName, model: string, request: RequestByClient, by = clients): Promise<string> {
  const outcome = await ask(client, model, request, "unary", by).then(
    () => undefined,
    (error: unknown) => lostBy(error, client),
  );
  assert.ok(outcome !== undefined, "it is refused");
  return outcome;
}

async function counted(provider: string, capability: string): Promise<number> {
  return sumOf(await idle(gateway), "gateway_fidelity_losses_total", { provider, capability });
}

const TEXT_PART = { type: "text" as const, text: "What is shown?" };
const IMAGE = "https://example.com/a.png";
const PARAMETERS = {
  type: "object" as const,
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
const { openai: chat, anthropic: message } = QUESTION_REQUEST;

const TOOLS: RequestByClient = {
  openai: { ...chat, tools: [{ type: "function", function: { name: "get_weather", parameters: PARAMETERS } }] },
  anthropic: { ...message, tools: [{ name: "get_weather", input_schema: PARAMETERS }] },
};

for (const [to, path, fields, losses, sent] of [
  ["compat", "/v1/chat/completions", { temperature: 0.2 }, 'sampling;field="temperature"', undefined],
  ["compat", "/v1/chat/completions", { temperature: 0.2, top_p: 0.3 }, 'sampling;field="temperature"', 0.3],
  ["compat", "/v1/chat/completions", { seed: 7 }, 'seed;field="seed"', undefined],
  ["compat", "/v1/chat/completions", { temperature: 1 }, null, undefined],
  ["compat", "/v1/chat/completions", { top_p: 0.3 }, null, 0.3],
  ["compat", "/v1/messages", { temperature: 0.2 }, 'sampling;field="temperature"', undefined],
  ["compat", "/v1/responses", { temperature: 0.2 }, 'sampling;field="temperature"', undefined],
  ["messages", "/v1/messages", { temperature: 0.2 }, 'sampling;field="temperature"', undefined],
  ["messages", "/v1/messages", { top_p: 0.3 }, null, 0.3],
  ["messages", "/v1/chat/completions", { temperature: 0.2 }, 'sampling;field="temperature"', undefined],
  ["messages", "/v1/chat/completions", { temperature: 1.7 }, "temperature_above_one", undefined],
  ["messages", "/v1/chat/completions", { seed: 7 }, 'seed;field="seed"', undefined],
  ["messages", "/v1/chat/completions", { min_p: 0.1 }, 'unknown_field;field="min_p"', undefined],
  ["messages", "/v1/responses", { temperature: 0.2 }, 'sampling;field="temperature"', undefined],
] as const) {
  test(`an overlay removes fields from ${path} to ${to} and reports the losses: ${JSON.stringify(fields)}`, async () => {
    const simulator = to === "compat" ? compat : messages;
    const turns = [{ role: "user", content: "hello there" }];
    const own = path === "/v1/responses" ? { input: "hello there" } : { messages: turns, max_tokens: 64 };
    const response = await fetch(gateway.url + path, {
      method: "POST",
      headers: { "content-type": "application/json", "anthropic-version": "2023-06-01" },
      body: JSON.stringify({ model: `strip-${to}-1`, ...own, ...fields }),
    });
    assert.equal(response.status, 200, await response.clone().text());
    const result = response.headers.get("x-gateway-fidelity-losses");
    if (losses === null) assert.equal(result, null);
    else assert.ok(result?.includes(losses), String(result));
    const { body } = (await (await fetch(`${simulator.url}/sim/last`)).json()) as { readonly body: Document };
    for (const name of ["temperature", "seed", "min_p"]) assert.ok(!(name in body), name);
    assert.equal(body["top_p"], sent);
  });
}

test("a refusal caused by another field stays a refusal and names the remedy", async () => {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify({
      model: "strip-messages-1",
      messages: [{ role: "user", content: "x" }],
      logit_bias: { 1: 2 },
      seed: 7,
    }),
  });
  const { error } = (await response.json()) as { readonly error: { readonly message: string; readonly param: string } };
  assert.deepEqual([response.status, error.param], [400, "logit_bias"]);
  assert.match(error.message, /`remove_request_fields`/);
  assert.doesNotMatch(error.message, /seed/);
});

/** Features that both clients use and neither bare channel claims. */
const UNCLAIMED: Readonly<Record<string, RequestByClient>> = {
  tools: TOOLS,
  vision: {
    openai: {
      messages: [{ role: "user", content: [TEXT_PART, { type: "image_url", image_url: { url: IMAGE } }] }],
    },
    anthropic: {
      messages: [{ role: "user", content: [TEXT_PART, { type: "image", source: { type: "url", url: IMAGE } }] }],
    },
  },
  json_schema: {
    openai: { ...chat, response_format: { type: "json_schema", json_schema: { name: "it", schema: PARAMETERS } } },
    anthropic: { ...message, output_config: { format: { type: "json_schema", schema: PARAMETERS } } },
  },
  stop: { openai: { ...chat, stop: "x" }, anthropic: { ...message, stop_sequences: ["x"] } },
  thinking: {
    openai: { ...chat, reasoning_effort: "high" },
    anthropic: { ...message, thinking: { type: "enabled", budget_tokens: 1_024 } },
  },
};

for (const provider of ["bare-compat", "bare-messages"]) {
  const simulator = provider === "bare-compat" ? compat : messages;
  for (const client of CLIENTS) {
    test(`a capability that ${provider} does not declare is refused to the ${client} client by name, and forwarded if allowed`, async () => {
      assert.notEqual((await ask(client, provider, QUESTION_REQUEST)).text, "");
      for (const [capability, request] of Object.entries(UNCLAIMED)) {
        const before = { requests: simulator.counts().requests, refused: await counted(provider, capability) };
        assert.equal(await lost(client, provider, request), capability);
        assert.equal(simulator.counts().requests, before.requests, "the provider is not asked");
        const allowing = `${provider}-allowing`;
        const losses = await counted(allowing, capability);
        const answer = await ask(client, allowing, request);
        assert.ok(answer.text !== "" || answer.calls.length > 0, capability);
        assert.equal(await counted(allowing, capability), losses + 1, capability);
        assert.equal(await counted(provider, capability), before.refused, "what is refused is not lost");
      }
    });
  }
}

test("a mere hint is dropped, counted, and named in a header of the answer", async () => {
  const params: RequestByClient["openai"] = { ...chat, store: true, metadata: { a: "b" }, verbosity: "low" };
  const before = await Promise.all(["store", "metadata", "verbosity"].map((it) => counted("bare-messages", it)));
  const { response } = await clients.openai.chat.completions
    .create({ ...params, model: "bare-messages" })
    .withResponse();
  assert.match(response.headers.get("x-gateway-fidelity-losses") ?? "", /verbosity/);
  assert.match(response.headers.get("x-gateway-fidelity-losses") ?? "", /store/);
  const now = await Promise.all(["store", "metadata", "verbosity"].map((it) => counted("bare-messages", it)));
  assert.deepEqual(
    now,
    before.map((count) => count + 1),
  );
});

/** Returns the simulated provider that receives a request. */
async function reaches(client: ClientName, model: string, request: RequestByClient): Promise<string> {
  const named = Object.entries({ compat, messages, third });
  const before = named.map(([, { counts }]) => counts().requests);
  await ask(client, model, request);
  const asked = named.filter(([, { counts }], at) => counts().requests > (before[at] ?? 0)).map(([name]) => name);
  assert.equal(asked.length, 1);
  return String(asked[0]);
}

test("among several channels the one in the client's own dialect is chosen", async () => {
  assert.equal(await reaches("openai", "both", QUESTION_REQUEST), "compat");
  assert.equal(await reaches("anthropic", "both", QUESTION_REQUEST), "messages");
  assert.equal(await reaches("openai", "both", TOOLS), "compat");
});

test("the client's dialect is not chosen if it would lose something that another channel carries", async () => {
  assert.equal(await reaches("openai", "compat-bare", QUESTION_REQUEST), "compat");
  assert.equal(await reaches("openai", "compat-bare", TOOLS), "messages");
  assert.equal(await reaches("anthropic", "compat-bare", TOOLS), "messages");
});

test("the vendor's own surface is chosen before the client's dialect, unless it would lose something", async () => {
  assert.equal(await reaches("openai", "compat-foreign", QUESTION_REQUEST), "messages");
  assert.equal(
    await reaches("openai", "compat-foreign", { ...QUESTION_REQUEST, openai: { ...chat, seed: 7 } }),
    "compat",
  );
});

test("between two equal channels the first is chosen", async () => {
  assert.equal(await reaches("openai", "twins", QUESTION_REQUEST), "compat");
  assert.equal(await reaches("anthropic", "twins", QUESTION_REQUEST), "compat");
});

test("a profile's requirement is not overridden by what the provider allows", async () => {
  const governed = await startGoverned(file, {
    deployment: ({ url }) => ({
      on_fidelity_loss: "allow",
      catalog_overlays: [
        surface({ name: "bare-compat", dialect: "compat", url, caps: BARE.compat }),
        surface({ name: "seeing", dialect: "messages", url }),
      ],
      providers: [
        { preset: "bare-compat", api_key: PROVIDER_KEY, model_aliases: { bare: MODEL } },
        { preset: "seeing", api_key: PROVIDER_KEY, model_aliases: { seeing: MODEL } },
      ],
      profiles: [{ name: "viewers", require_caps: ["vision"] }],
    }),
  });
  const viewer = clientsOf(governed.gateway.url, await mint(governed.node, "viewer", { profile: "viewers" }));
  const anybody = clientsOf(governed.gateway.url, await mint(governed.node, "anybody"));
  for (const client of CLIENTS) {
    // The request uses nothing that would be lost; a channel without vision is enough.
    assert.equal(await lost(client, "bare", QUESTION_REQUEST, viewer), "vision");
    assert.notEqual((await ask(client, "bare", QUESTION_REQUEST, "unary", anybody)).text, "");
    for (const form of ["unary", "helper"] as const) {
      assert.notEqual((await ask(client, "seeing", QUESTION_REQUEST, form, viewer)).text, "");
    }
  }
});

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { type Channel, compiledCatalog, joinPath, lostWithout } from "../../../../src/server/core/catalog/index.ts";
import { defaultClaims, isCapability, ruleOf } from "../../../../src/server/core/dialects/index.ts";

const GOLDEN = new URL("../../../data/catalog-urls.txt", import.meta.url);

/** Every row of the reference table: sections 2.1, 2.2, 2.3, and the two separate rows of section 3. */
const NAMES = `
  openai anthropic azure-openai azure-foundry bedrock bedrock-mantle bedrock-anthropic claude-aws gemini vertex-openai
  mistral cohere xai deepseek moonshot zai zhipu minimax alibaba stepfun xiaomi llama upstage perplexity volcengine
  sarvam inception
  openrouter groq together fireworks deepinfra cerebras sambanova nvidia huggingface github-models vercel novita
  siliconflow nebius baseten friendli chutes inference-net scaleway ovhcloud stackit cloudflare-workers-ai databricks
  snowflake wandb digitalocean vultr lambda hyperbolic nscale featherless gmicloud io-net venice poe nano-gpt synthetic
  requesty helicone morph jina voyage publicai
  vllm sglang ollama ollama-cloud lmstudio llamacpp docker-model-runner
  kimi-coding huawei-maas`;

const SECOND_MESSAGES = `
  deepseek moonshot zai zhipu minimax alibaba xiaomi stepfun openrouter fireworks deepinfra vercel digitalocean gmicloud
  databricks snowflake vllm ollama ollama-cloud lmstudio llamacpp azure-openai bedrock-mantle`;

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

const providers = [...compiledCatalog().values()];
const channels = providers.flatMap((provider) => provider.channels.map((channel) => ({ provider, channel })));

const entry = (channel: Channel): string => (channel.dialect === "compat" ? "/v1/chat/completions" : "/v1/messages");

/** Placeholders are kept, which a URL parser would encode. */
function urlOf(channel: Channel): string {
  const origin = /^https?:\/\/[^/]+/.exec(channel.baseUrl)?.[0] ?? "";
  return origin + joinPath(channel, entry(channel));
}

test("the catalog has every preset of the reference and no other", () => {
  assert.deepEqual([...compiledCatalog().keys()].sort(), [...words(NAMES)].sort());
});

test("the second surfaces are those of the reference and no other", () => {
  const second = (dialect: string) =>
    channels
      .filter(({ channel }) => channel.tier === "provider_compat" && channel.dialect === dialect)
      .map(({ provider }) => provider.name);
  assert.deepEqual(second("messages").sort(), [...words(SECOND_MESSAGES)].sort());
  assert.deepEqual(second("compat").sort(), ["anthropic", "azure-foundry"]);
});

test("every channel is called at the address in the golden file (GATEWAY_REWRITE=1 rewrites it)", () => {
  const lines = channels.map(({ provider, channel }) => `${provider.name} ${channel.id} ${urlOf(channel)}\n`).join("");
  if (process.env["GATEWAY_REWRITE"] === "1") writeFileSync(GOLDEN, lines);
  assert.equal(lines, readFileSync(GOLDEN, "utf8"));
});

test("no address has an empty segment or two versions in a row", () => {
  for (const { channel } of channels) assert.doesNotMatch(urlOf(channel), /[^:]\/\/|\/v1\/v1/);
});

test("the catalog is built once", () => {
  assert.equal(compiledCatalog(), compiledCatalog());
});

for (const provider of providers) {
  const [own, ...others] = provider.channels;

  test(`${provider.name}: the own surface is first, ids are unique, second surfaces have date and source`, () => {
    assert.equal(own?.tier, "provider");
    assert.ok(others.every(({ tier }) => tier === "provider_compat"));
    assert.equal(new Set(provider.channels.map(({ id }) => id)).size, provider.channels.length);
    for (const { verifiedAt, verifiedBy } of others) {
      assert.match(verifiedAt, /^\d{4}-\d{2}(-\d{2})?$/);
      assert.notEqual(verifiedBy, "");
    }
    assert.deepEqual(provider.provenance, ["compiled"]);
  });

  test(`${provider.name}: every claim is in the vocabulary and of its dialect, and needs no removed field`, () => {
    const lost: ReadonlyMap<string, string> = lostWithout(provider.removeRequestFields);
    for (const channel of provider.channels) {
      assert.ok(channel.caps !== undefined && channel.caps.size > 0);
      const claimable: ReadonlySet<string> = defaultClaims(channel.dialect);
      for (const name of channel.caps) {
        assert.ok(isCapability(name) && claimable.has(name), name);
        assert.ok(!lost.has(name), `${name} is claimed, but ${lost.get(name)} is removed`);
      }
      assert.ok([...channel.caps].some((name) => isCapability(name) && ruleOf(name).kind === "route"));
    }
  });
}

const claims = (preset: string, id: string): ReadonlySet<string> =>
  compiledCatalog()
    .get(preset)
    ?.channels.find((channel) => channel.id === id)?.caps ?? new Set();

for (const [preset, id, claimed, missing] of [
  ["openai", "compat", "chat_completions realtime files moderations strict_tools logprobs", "top_k rerank messages"],
  ["anthropic", "messages", "messages count_tokens message_batches files models citations", "chat_completions"],
  ["anthropic", "compat", "chat_completions tools vision", "json_schema strict_tools seed n thinking models"],
  ["bedrock-anthropic", "messages", "messages citations", "server_tools file_refs message_batches count_tokens"],
  ["mistral", "compat", "seed json_schema embeddings", "stream_usage logit_bias"],
  ["groq", "compat", "audio_transcription responses", "penalties logprobs n"],
  ["perplexity", "compat", "json_schema thinking", "tools stop"],
  ["morph", "compat", "streaming", "tools sampling"],
  ["voyage", "compat", "embeddings rerank", "chat_completions models streaming"],
  ["openrouter", "compat", "prompt_caching logprobs", "n"],
  ["ollama", "compat", "tools embeddings completions", "tool_choice logprobs"],
  ["deepseek", "messages", "messages thinking tools", "vision documents server_tools citations top_k count_tokens"],
  ["moonshot", "messages", "messages tools thinking_replay", "vision count_tokens json_schema"],
] as const) {
  test(`${preset}, ${id} channel: claims ${claimed}; does not claim ${missing}`, () => {
    const caps = claims(preset, id);
    assert.deepEqual(
      words(claimed).filter((name) => !caps.has(name)),
      [],
    );
    assert.deepEqual(
      words(missing).filter((name) => caps.has(name)),
      [],
    );
  });
}

test("each messages surface sends its key in the header that the reference names", () => {
  const byHeader = (header: string) =>
    channels
      .filter(({ channel }) => channel.dialect === "messages" && channel.keyHeader === header)
      .map(({ provider }) => provider.name);
  assert.deepEqual(byHeader("x-api-key").sort(), [
    "anthropic",
    "azure-foundry",
    "azure-openai",
    "claude-aws",
    "deepseek",
    "huawei-maas",
  ]);
  assert.deepEqual(byHeader("both").sort(), ["alibaba", "xiaomi"]);
});

test("every compat surface sends a bearer token, except for one resource with a header of its own", () => {
  const others = channels.filter(({ channel }) => channel.dialect === "compat" && channel.keyHeader !== "bearer");
  assert.deepEqual(
    others.map(({ provider, channel }) => [provider.name, channel.keyHeader]),
    [
      ["azure-openai", "api-key"],
      ["azure-foundry", "api-key"],
    ],
  );
});

test("requests are signed for the service that each signing preset names", () => {
  assert.deepEqual(
    providers.filter(({ signingService }) => signingService !== "").map((it) => [it.name, it.signingService]),
    [
      ["bedrock", "bedrock"],
      ["bedrock-mantle", "bedrock-mantle"],
      ["bedrock-anthropic", "bedrock-mantle"],
      ["claude-aws", "aws-external-anthropic"],
    ],
  );
});

test("the token limit is renamed for servers that know only its old name", () => {
  const renaming = providers.filter((it) => it.renameRequestFields.get("max_completion_tokens") === "max_tokens");
  assert.deepEqual(renaming.map(({ name }) => name).sort(), [
    "chutes",
    "mistral",
    "nano-gpt",
    "publicai",
    "sarvam",
    "synthetic",
    "xiaomi",
  ]);
});

test("stream usage is not requested from the server that refuses the option", () => {
  assert.deepEqual(
    providers.filter(({ acceptsStreamUsage }) => !acceptsStreamUsage).map(({ name }) => name),
    ["mistral"],
  );
});

test("only Google's servers sign calls", () => {
  assert.deepEqual(
    providers.filter(({ signsCalls }) => signsCalls).map(({ name }) => name),
    ["gemini", "vertex-openai"],
  );
});

test("a key is optional only for self-hosted servers", () => {
  assert.deepEqual(
    providers.filter(({ keyOptional }) => keyOptional).map(({ name }) => name),
    ["vllm", "sglang", "ollama", "lmstudio", "llamacpp", "docker-model-runner"],
  );
});

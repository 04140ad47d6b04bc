import assert from "node:assert/strict";
import { test } from "node:test";
import {
  compiledCatalog,
  joinPath,
  type ResolveRequest,
  resolveProvider,
} from "../../../../src/server/core/catalog/index.ts";

const ask = (request: Partial<ResolveRequest>) => resolveProvider(compiledCatalog(), { name: "mine", ...request });

function resolved(request: Partial<ResolveRequest>) {
  const outcome = ask(request);
  assert.equal(outcome.kind, "resolved", JSON.stringify(outcome));
  return outcome.provider;
}

const roots = (request: Partial<ResolveRequest>) => resolved(request).channels.map(({ baseUrl }) => baseUrl);

function urlOf(request: Partial<ResolveRequest>, path: string): string {
  const [own] = resolved(request).channels;
  assert.ok(own);
  return new URL(joinPath(own, path), own.baseUrl).href;
}

test("a preset without placeholders resolves as in the catalog", () => {
  assert.deepEqual(resolved({ preset: "deepseek" }), compiledCatalog().get("deepseek"));
});

test("a region fills the placeholder in every channel", () => {
  assert.deepEqual(roots({ preset: "bedrock-mantle", region: "eu-west-1" }), [
    "https://bedrock-mantle.eu-west-1.api.aws/v1",
    "https://bedrock-mantle.eu-west-1.api.aws/anthropic",
  ]);
});

test("a base_url moves the own surface and drops surfaces at other addresses", () => {
  assert.deepEqual(roots({ preset: "deepseek", baseUrl: "https://relay.example/" }), ["https://relay.example"]);
});

test("a base_url replaces region and placeholders alike", () => {
  assert.deepEqual(roots({ preset: "bedrock", baseUrl: "https://vpce.example/openai/v1", region: "eu-west-1" }), [
    "https://vpce.example/openai/v1",
  ]);
  assert.deepEqual(roots({ preset: "azure-openai", baseUrl: "https://me.openai.azure.com/openai/v1" }), [
    "https://me.openai.azure.com/openai/v1",
  ]);
});

test("settings that a base_url does not determine stay as in the preset", () => {
  const { channels, signingService } = resolved({ preset: "bedrock", baseUrl: "https://vpce.example/openai/v1" });
  assert.equal(signingService, "bedrock");
  assert.deepEqual(channels[0]?.caps, compiledCatalog().get("bedrock")?.channels[0]?.caps);
});

for (const [preset, baseUrl, url] of [
  ["vllm", "http://gpu:8000", "http://gpu:8000/v1/chat/completions"],
  ["vllm", "http://gpu:8000/", "http://gpu:8000/v1/chat/completions"],
  ["vllm", "http://gpu:8000/v1", "http://gpu:8000/v1/chat/completions"],
  ["vllm", "http://gpu:8000/team-a", "http://gpu:8000/team-a/chat/completions"],
  ["zai", "https://api.z.ai/api/coding/paas/v4", "https://api.z.ai/api/coding/paas/v4/chat/completions"],
  ["deepseek", "https://relay.example", "https://relay.example/chat/completions"],
  ["databricks", "https://me.example/serving-endpoints", "https://me.example/serving-endpoints/chat/completions"],
  ["databricks", "https://me.example/ai-gateway/mlflow/v1", "https://me.example/ai-gateway/mlflow/v1/chat/completions"],
] as const) {
  test(`preset ${preset} at ${baseUrl} is called at ${url}`, () => {
    assert.equal(urlOf({ preset, baseUrl }, "/v1/chat/completions"), url);
  });
}

for (const baseUrl of ["https://api.anthropic.com", "https://api.anthropic.com/v1", "https://api.anthropic.com/v1/"]) {
  test(`the messages preset at ${baseUrl} is called at /v1/messages`, () => {
    assert.equal(urlOf({ preset: "anthropic", baseUrl }, "/v1/messages"), "https://api.anthropic.com/v1/messages");
  });
}

test("a provider without a preset has one channel with every claim of its dialect", () => {
  const provider = resolved({ dialect: "compat", baseUrl: "http://localhost:9000/v1/" });
  assert.equal(provider.name, "mine");
  assert.deepEqual(provider.provenance, []);
  assert.deepEqual(
    provider.channels.map(({ dialect, baseUrl, caps, tier }) => ({ dialect, baseUrl, caps, tier })),
    [{ dialect: "compat", baseUrl: "http://localhost:9000/v1", caps: undefined, tier: "provider" }],
  );
});

for (const [baseUrl, signsCalls] of [
  ["https://generativelanguage.googleapis.com/v1beta/openai", true],
  ["https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/l/endpoints/openapi", true],
  ["https://googleapis.com.example/v1", false],
  ["http://localhost:9000/generativelanguage.googleapis.com/v1", false],
] as const) {
  test(`without a preset, a server at ${baseUrl} ${signsCalls ? "signs" : "does not sign"} calls`, () => {
    assert.equal(resolved({ dialect: "compat", baseUrl }).signsCalls, signsCalls);
  });
}

for (const [dialect, baseUrl, keyHeader] of [
  ["compat", "https://api.anthropic.com/v1", "bearer"],
  ["messages", "https://api.anthropic.com", "x-api-key"],
  ["messages", "https://API.anthropic.com:443/", "x-api-key"],
  ["messages", "https://api.anthropic.com.example", "both"],
  ["messages", "http://localhost:9000", "both"],
] as const) {
  test(`without a preset, ${dialect} at ${baseUrl} sends its key as ${keyHeader}`, () => {
    assert.equal(resolved({ dialect, baseUrl }).channels[0]?.keyHeader, keyHeader);
  });
}

const REFUSALS: readonly (readonly [what: string, Partial<ResolveRequest>, key: string, message: RegExp])[] = [
  ["a misspelled preset", { preset: "opnai" }, "preset", /no preset "opnai"; did you mean `openai`\?/],
  ["a preset that resembles no known one", { preset: "zzzzzzzzzz" }, "preset", /has \d+, among them openai, anthropic/],
  ["a preset and a dialect", { preset: "openai", dialect: "compat" }, "dialect", /remove `dialect`/],
  ["a regional preset without a region", { preset: "bedrock" }, "region", /needs a `region`, or a `base_url`/],
  ["a region for a preset without one", { preset: "openai", region: "eu" }, "region", /no place for a region/],
  ["a region that would change the host", { preset: "bedrock", region: "x.evil.example/" }, "region", /lower-case/],
  ["a region in capitals", { preset: "bedrock", region: "EU" }, "region", /lower-case/],
  ["an empty region", { preset: "bedrock", region: "" }, "region", /lower-case/],
  ["an endless region", { preset: "bedrock", region: "a".repeat(64) }, "region", /lower-case/],
  ["an unfilled placeholder", { preset: "azure-openai" }, "base_url", /your `\{resource\}` \(https:\/\/\{resource\}/],
  ["a placeholder besides the region", { preset: "vertex-openai", region: "eu" }, "base_url", /`\{project\}`/],
  ["no dialect", { baseUrl: "https://h.example" }, "dialect", /needs a `dialect`/],
  ["no base_url", { dialect: "compat" }, "base_url", /needs a `base_url`/],
  ["a region without a preset", { dialect: "compat", baseUrl: "https://h.example", region: "eu" }, "region", /presets/],
  ["a base_url of another scheme", { dialect: "compat", baseUrl: "ftp://h.example" }, "base_url", /http or https/],
  ["an invalid base_url", { dialect: "compat", baseUrl: "h.example" }, "base_url", /absolute/],
  ["a base_url with a user", { dialect: "compat", baseUrl: "https://a:b@h.example" }, "base_url", /not contain a user/],
  ["a base_url with a query", { dialect: "compat", baseUrl: "https://h.example/?a=b" }, "base_url", /not have a query/],
  ["a base_url with a placeholder", { dialect: "compat", baseUrl: "https://{x}.example" }, "base_url", /placeholder/],
  ["a base_url with a single brace", { dialect: "compat", baseUrl: "https://h.example/{" }, "base_url", /brace/],
  [
    "a base_url with parent segments",
    { dialect: "compat", baseUrl: "https://h.example/a/../b" },
    "base_url",
    /dot segment/,
  ],
  [
    "an endless base_url",
    { dialect: "compat", baseUrl: `https://h.example/${"a".repeat(3000)}` },
    "base_url",
    /longer/,
  ],
];

for (const [what, request, key, message] of REFUSALS) {
  test(`${what} is refused at ${key}`, () => {
    const outcome = ask(request);
    assert.equal(outcome.kind, "refused");
    assert.equal(outcome.key, key);
    assert.match(outcome.message, message);
  });
}

test("a refused base_url is not quoted in the message, since it may contain a credential", () => {
  const outcome = ask({ dialect: "compat", baseUrl: "https://user:hunter2@h.example" });
  assert.ok(outcome.kind === "refused" && !outcome.message.includes("hunter2"));
});

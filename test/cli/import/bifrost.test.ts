/** Bifrost configurations converted to deployment documents. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { importConfiguration } from "../../../src/cli/import/index.ts";
import { ALL, imported } from "./import-fixture.ts";

test("named models keep their names, keys fail over, and addresses get the version that Bifrost adds", () => {
  const { document, notes } = imported(
    "bifrost",
    `{ "providers": {
  "openai": {
    "keys": [
      { "name": "one", "value": "env.ONE", "models": ["gpt-a"], "weight": 0.7 },
      { "name": "two", "value": { "value": "", "env_var": "env.TWO", "from_env": true }, "models": ["gpt-a", "gpt-b"], "weight": 0.3 }
    ],
    "network_config": { "max_retries": 1, "retry_backoff_initial": 500, "retry_backoff_max": 5000, "default_request_timeout_in_seconds": 30 }
  },
  "ours": {
    "keys": [{ "value": "EMPTY", "models": ["qwen"], "aliases": { "old-name": "qwen" } }],
    "network_config": { "base_url": "http://vllm:8000" },
    "custom_provider_config": { "base_provider_type": "openai" }
  }
} }`,
  );
  const waits = { first_byte_timeout: "30s", retry: { attempts: 1, backoff: "500ms", max_backoff: "5s", when: ALL } };
  assert.deepEqual(document, {
    providers: [
      {
        preset: "openai",
        api_key: "${ONE}",
        model_aliases: { "openai/gpt-a": "gpt-a" },
        ...waits,
        failover: { to: ["openai-2"], when: ALL },
      },
      {
        name: "openai-2",
        preset: "openai",
        api_key: "${TWO}",
        model_aliases: { "openai/gpt-b": "gpt-b", "openai/gpt-a": "gpt-a" },
        ...waits,
      },
      {
        name: "ours",
        dialect: "compat",
        base_url: "http://vllm:8000/v1",
        api_key: "${OURS_API_KEY}",
        model_aliases: { "ours/qwen": "qwen", "ours/old-name": "qwen" },
      },
    ],
  });
  assert.deepEqual(notes, ["3 providers.openai.keys", "10 providers.ours.keys[0].value"]);
});

test("a key for all models claims the models of its provider alone, with a note", () => {
  const { document, messages } = imported(
    "bifrost",
    '{ "providers": { "anthropic": { "keys": [{ "value": "env.A", "models": ["*"] }] }, "groq": { "keys": [{ "value": "env.G", "models": ["*"] }] } } }',
  );
  assert.deepEqual(document, {
    providers: [
      { preset: "anthropic", api_key: "${A}", models: ["claude-*"] },
      { preset: "groq", api_key: "${G}" },
    ],
  });
  assert.match(messages, /clients ask for `anthropic\/NAME`/);
  assert.match(messages, /Nothing is routed to this provider until/);
});

test("an empty list of models denies all, unless the file declares the older meaning", () => {
  const providers = { groq: { keys: [{ value: "env.G", models: [] }] } };
  const later = importConfiguration("bifrost", { name: "source", text: JSON.stringify({ providers }) }, new Map());
  assert.ok(later.kind === "imported" && later.providers === 0);
  assert.match(later.notes[0]?.message ?? "", /add `"version": 1` and import again/);
  const before = imported("bifrost", JSON.stringify({ version: 1, providers }));
  assert.deepEqual(before.document, { providers: [{ preset: "groq", api_key: "${G}" }] });
});

test("virtual keys become profiles, token limits budgets, and a key without providers may request nothing", () => {
  const { document, notes } = imported(
    "bifrost",
    `{ "client": { "enforce_auth_on_inference": true, "max_request_body_size_mb": 1 },
  "providers": { "mistral": { "keys": [{ "value": "env.M", "models": ["m"] }] } },
  "governance": {
    "rate_limits": [{ "id": "r", "token_max_limit": 5000, "token_reset_duration": "1h" }],
    "virtual_keys": [
      { "id": "1", "name": "team", "value": "sk-bf-literal", "rate_limit_id": "r", "provider_configs": [{ "provider": "mistral", "allowed_models": ["m"] }] },
      { "id": "2", "name": "nobody" },
      { "id": "3", "name": "everything", "allow_all_providers": true }
    ],
    "routing_rules": [{ "name": "x", "cel_expression": "model == 'smart'", "targets": [{ "provider": "mistral", "model": "m", "weight": 1 }] }]
  } }`,
  );
  const denied = { name: "no models", condition: "true", action: "deny", message: "This key may ask for no model." };
  assert.deepEqual(document, {
    auth: { virtual_keys: true },
    max_body_bytes: 1024 * 1024,
    providers: [{ preset: "mistral", api_key: "${M}", model_aliases: { "mistral/m": "m", smart: "m" } }],
    budgets: [{ name: "team", limit: 5000, window: "hour" }],
    profiles: [
      { name: "team", budget: "team", allowed_models: ["mistral/m"] },
      { name: "nobody", access_rules: [denied] },
      { name: "everything" },
    ],
  });
  assert.doesNotMatch(JSON.stringify(document), /literal/);
  assert.ok(notes.includes("7 governance.virtual_keys[1].name"));
});

test("Azure, AWS and HTTP servers are imported", () => {
  const { document } = imported(
    "bifrost",
    `{ "providers": {
  "azure": { "keys": [{ "value": "env.AZ", "models": ["gpt-a"], "azure_key_config": { "endpoint": "https://one.openai.azure.com", "deployments": { "gpt-a": "mine" } } }] },
  "bedrock": { "keys": [{ "models": ["anthropic.claude-x", "amazon.nova"], "bedrock_key_config": { "region": "us-east-1", "access_key": "env.I", "secret_key": "env.S" } }] },
  "vertex": { "keys": [{ "models": ["g"] }] }
}, "mcp": { "client_configs": [{ "name": "wiki", "connection_type": "http", "connection_string": "https://wiki.example.com/mcp" }, { "name": "local", "connection_type": "stdio" }] } }`,
  );
  assert.deepEqual(document, {
    credentials: [{ name: "bedrock-anthropic", cloudsig: { access_key_id: "${I}", secret_access_key: "${S}" } }],
    providers: [
      {
        preset: "azure-openai",
        base_url: "https://one.openai.azure.com/openai/v1",
        api_key: "${AZ}",
        model_aliases: { "azure/gpt-a": "mine" },
      },
      {
        preset: "bedrock-anthropic",
        region: "us-east-1",
        credential: "bedrock-anthropic",
        model_aliases: { "bedrock/anthropic.claude-x": "anthropic.claude-x" },
      },
    ],
    mcp: [{ name: "wiki", url: "https://wiki.example.com/mcp" }],
  });
});

test("an invalid variable for a credential is reported", () => {
  const { notes } = imported(
    "bifrost",
    '{ "providers": { "openai": { "keys": [{ "value": { "env_var": "env.NOT ONE" }, "models": ["gpt-a"] }] } } }',
  );
  assert.deepEqual(notes, ["1 providers.openai.keys[0].value.env_var"]);
});

test("parts of an imported rule without a counterpart are reported, and nothing else of it", () => {
  const { document, notes } = imported(
    "bifrost",
    `{ "providers": { "mistral": { "keys": [{ "value": "env.M", "models": ["m"] }] } }, "governance": {
    "routing_rules": [{ "name": "x", "priority": 1, "cel_expression": "model == 'smart'",
      "targets": [{ "provider": "mistral", "model": "m", "key_id": "1" }],
      "fallbacks": ["anthropic/claude"],
      "chain_rule": true }] } }`,
  );
  assert.deepEqual(document["providers"], [
    { preset: "mistral", api_key: "${M}", model_aliases: { "mistral/m": "m", smart: "m" } },
  ]);
  assert.deepEqual(notes, [
    "3 governance.routing_rules[0].targets[0].key_id",
    "4 governance.routing_rules[0].fallbacks",
    "5 governance.routing_rules[0].chain_rule",
  ]);
});

test("a key may request only what it serves alone: its models get routes or are reported", () => {
  const { document, notes } = imported(
    "bifrost",
    `{ "client": { "enforce_auth_on_inference": true }, "providers": {
  "openai": { "keys": [{ "value": "env.O", "models": ["*"] }] },
  "mistral": { "keys": [{ "value": "env.M", "models": ["m"] }] },
  "vertex": { "keys": [{ "models": ["*"] }] }
}, "governance": { "virtual_keys": [
  { "name": "one", "provider_configs": [{ "provider": "openai", "allowed_models": ["gpt-4o"] }] },
  { "name": "two", "provider_configs": [
    { "provider": "mistral", "allowed_models": ["m", "gone"] },
    { "provider": "vertex", "allowed_models": ["g"] },
    { "provider": "nowhere", "allowed_models": ["*"] }] },
  { "name": "three", "provider_configs": [{ "provider": "openai", "allowed_models": ["*"] }] }
] } }`,
  );
  const { providers, profiles } = document as {
    readonly providers: readonly { readonly models?: readonly string[]; readonly model_aliases?: object }[];
    readonly profiles: readonly { readonly name: string; readonly allowed_models?: readonly string[] }[];
  };
  assert.deepEqual(
    profiles.map(({ name, allowed_models }) => [name, allowed_models?.slice(0, 2)]),
    [
      ["one", ["openai/gpt-4o", "gpt-4o"]],
      ["two", ["mistral/m"]],
      ["three", ["openai/gpt-4o", "gpt-*"]],
    ],
  );
  const claims = providers.flatMap(({ models = [], model_aliases = {} }) => [...models, ...Object.keys(model_aliases)]);
  for (const { allowed_models = [] } of profiles) {
    for (const name of allowed_models) {
      const isServed = claims.some((it) => it === name || (it.endsWith("*") && name.startsWith(it.slice(0, -1))));
      assert.ok(isServed, `${name} is served by one of ${claims}`);
    }
  }
  for (const note of [
    "8 governance.virtual_keys[1].provider_configs[0].allowed_models",
    "9 governance.virtual_keys[1].provider_configs[1].provider",
    "10 governance.virtual_keys[1].provider_configs[2].provider",
  ])
    assert.ok(notes.includes(note), `${note} of ${notes}`);
});

for (const [what, network, retry] of [
  ["no repetition", { max_retries: 0, retry_backoff_initial: 500 }, undefined],
  ["a pause alone", { max_retries: 2, retry_backoff_initial: 500 }, { attempts: 2, backoff: "500ms" }],
  [
    "a longest pause of the same length",
    { max_retries: 2, retry_backoff_initial: 500, retry_backoff_max: 500 },
    { attempts: 2, backoff: "500ms", max_backoff: "500ms" },
  ],
  [
    "a longest pause that is shorter than the first",
    { max_retries: 2, retry_backoff_initial: 5_000, retry_backoff_max: 500 },
    { attempts: 2, backoff: "5s" },
  ],
  ["a longest pause alone", { max_retries: 2, retry_backoff_max: 2_000 }, { attempts: 2, max_backoff: "2s" }],
  ["more repetitions than there may be", { max_retries: 9 }, { attempts: 5 }],
] as const) {
  test(`retries with ${what} are converted to the gateway's limits`, () => {
    const providers = { groq: { keys: [{ value: "env.G", models: ["*"] }], network_config: network } };
    const { document } = imported("bifrost", JSON.stringify({ providers }));
    const { providers: found } = document as { readonly providers: readonly { readonly retry?: { when?: unknown } }[] };
    const { when: _, ...own } = found[0]?.retry ?? {};
    assert.deepEqual(own, retry ?? {});
  });
}

test("a server with `http_url` and a plugin that requires keys are read from older files", () => {
  const { document, messages } = imported(
    "bifrost",
    `{
  "providers": { "openai": { "keys": [{ "value": "env.K", "models": ["gpt-4o"] }] } },
  "mcp": { "client_configs": [{ "name": "wiki", "connection_type": "http", "http_url": "http://localhost:8080/mcp" }] },
  "plugins": [
    { "name": "governance", "enabled": true, "config": { "is_vk_mandatory": true } },
    { "name": "telemetry", "enabled": true }
  ]
}
`,
  );
  assert.deepEqual(document["mcp"], [{ name: "wiki", url: "http://localhost:8080/mcp" }]);
  assert.deepEqual(document["auth"], { virtual_keys: true });
  assert.match(messages, /^left out: guardrails belong under `guardrails`/m);
  const off = imported(
    "bifrost",
    '{ "providers": { "openai": { "keys": [{ "value": "env.K", "models": ["gpt-4o"] }] } }, "plugins": [{ "name": "governance", "enabled": false, "config": { "is_vk_mandatory": true } }] }',
  );
  assert.equal(off.document["auth"], undefined);
});
